// SPDX-License-Identifier: Apache-2.0
// The values that pass between the P_MUL core and a bearer. A bearer takes one PDU at a time, when
// it is ready for one, so that priorities hold up to the last moment; it keeps order.
#pragma once

#include <cstdint>
#include <variant>

#include "gateways/p_mul/message_port.h"
#include "s5066d/base/time.h"

namespace s5066::p_mul {

/// Tells the use of a PDU. Over UDP it selects the port. Over STANAG 5066 the PDU type alone tells
/// it.
enum class Use : std::uint8_t {
  data,          // Address, Data, Parity, Discard
  ack,           // Ack
  group_control  // Request, Reject, Release, Announce
};

/// IPv4 address of a multicast group for one message.
struct MulticastAddress {
  std::uint32_t value = 0;
  friend auto operator<=>(const MulticastAddress&, const MulticastAddress&) = default;
};

using Target = std::variant<NodeId, GroupId, MulticastAddress>;

struct OutgoingPdu {
  Target target;
  Use use = Use::data;
  std::uint8_t priority = 0;
  Duration lifetime{};    // the bearer drops the PDU if it is not sent within this time
  bool reliable = false;  // true: the PDU goes to one node, by ARQ if the bearer has it
  Bytes octets;
};

}  // namespace s5066::p_mul
