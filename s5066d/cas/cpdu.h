// SPDX-License-Identifier: Apache-2.0
// C_PDUs exchanged between two channel access sublayers (B.3.1): one octet of C_PCI with TYPE in
// its high half, and after that of a DATA C_PDU exactly one S_PDU.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"

namespace s5066::cas {

/// Nonexclusive links carry soft link sessions, Exclusive ones hard links (B.3(5), B.3(6)).
enum class LinkType : std::uint8_t { nonexclusive = 0, exclusive = 1 };

/// Reason for refusing a PHYSICAL LINK REQUEST (B.3.1.4). Other values are passed on unchanged.
enum class RejectReason : std::uint8_t {
  unknown = 0,
  broadcast_only_node = 1,
  higher_priority_pending = 2,
  supporting_exclusive_link = 3,
};

/// Reason for a PHYSICAL LINK BREAK (B.3.1.5). Other values are passed on unchanged.
enum class BreakReason : std::uint8_t {
  unknown = 0,
  higher_layer_request = 1,
  switching_to_broadcast = 2,
  higher_priority_pending = 3,
  no_more_data = 4,
};

struct DataCpdu {  // type 0
  Bytes spdu;
  friend bool operator==(const DataCpdu&, const DataCpdu&) = default;
};
struct PhysicalLinkRequest {  // type 1
  LinkType type = LinkType::nonexclusive;
  friend bool operator==(const PhysicalLinkRequest&, const PhysicalLinkRequest&) = default;
};
struct PhysicalLinkAccepted {  // type 2
  friend bool operator==(const PhysicalLinkAccepted&, const PhysicalLinkAccepted&) = default;
};
struct PhysicalLinkRejected {  // type 3
  RejectReason reason = RejectReason::unknown;
  friend bool operator==(const PhysicalLinkRejected&, const PhysicalLinkRejected&) = default;
};
struct PhysicalLinkBreak {  // type 4
  BreakReason reason = BreakReason::unknown;
  friend bool operator==(const PhysicalLinkBreak&, const PhysicalLinkBreak&) = default;
};
struct PhysicalLinkBreakConfirm {  // type 5
  friend bool operator==(const PhysicalLinkBreakConfirm&,
                         const PhysicalLinkBreakConfirm&) = default;
};

/// C_PDUs in the order of their type numbers.
using Cpdu = std::variant<DataCpdu, PhysicalLinkRequest, PhysicalLinkAccepted, PhysicalLinkRejected,
                          PhysicalLinkBreak, PhysicalLinkBreakConfirm>;

std::uint8_t type_of(const Cpdu& cpdu);

Bytes encode(const Cpdu& cpdu);

/// Decodes any input safely. NOT USED bits and octets after a control C_PDU are ignored.
Result<Cpdu> decode(ByteSpan octets);

// Nearly all C_PDUs are DATA C_PDUs. These functions add the octet of C_PCI to an S_PDU and remove
// it, without a copy in a Cpdu.
bool is_data_cpdu(ByteSpan octets);
Bytes data_cpdu(Bytes spdu);
/// Requires is_data_cpdu().
Bytes take_spdu(Bytes cpdu);

std::string_view to_string(RejectReason reason);
std::string_view to_string(BreakReason reason);

}  // namespace s5066::cas
