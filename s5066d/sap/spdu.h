// SPDX-License-Identifier: Apache-2.0
// S_PDUs exchanged between two subnetwork interface sublayers (A.3.1): U_PDUs and their delivery
// confirmations, and the five of the hard link protocol. Fields keep the values received.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "s5066d/base/bytes.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"

namespace s5066::sap {

/// TIME TO DIE as DATA S_PDUs carry it (A.3.1.1(15) to (18)).
struct TimeToDie {
  std::uint8_t day = 0;              // day of the year modulo 16, 1 January being 1
  std::uint16_t half_of_second = 0;  // GMT second of the day without its last bit
  friend bool operator==(const TimeToDie&, const TimeToDie&) = default;
};

/// Largest number of days ahead. Beyond it the day field may mean two dates around New Year,
/// because 365 and 366 modulo 16 jump to 1.
inline constexpr int kTimeToDieDaysMax = 11;

/// Returns nothing if the date is too far ahead of `now` to be unambiguous.
std::optional<TimeToDie> encode_time_to_die(UtcSeconds now, UtcSeconds time_to_die);
/// Returns nothing if no date from yesterday to kTimeToDieDaysMax ahead fits; the S_PDU must then
/// not be discarded by its date.
std::optional<UtcSeconds> decode_time_to_die(UtcSeconds now, TimeToDie field);

struct DataSpdu {             // type 0
  std::uint8_t priority = 0;  // 4 bits
  SapId source_sap;
  SapId destination_sap;
  bool client_confirm_required = false;
  std::optional<TimeToDie> time_to_die;
  Bytes updu;
  friend bool operator==(const DataSpdu&, const DataSpdu&) = default;
};

/// The SAPs are those of the DATA S_PDU, not swapped: SOURCE SAP is the client to be told.
struct DeliveryConfirm {  // type 1
  SapId source_sap;
  SapId destination_sap;
  Bytes updu_part;  // first octets of the U_PDU
  friend bool operator==(const DeliveryConfirm&, const DeliveryConfirm&) = default;
};

struct DeliveryFail {       // type 2
  std::uint8_t reason = 1;  // 4 bits; 1: destination SAP not bound
  SapId source_sap;
  SapId destination_sap;
  Bytes updu_part;
  friend bool operator==(const DeliveryFail&, const DeliveryFail&) = default;
};

/// HARD LINK ESTABLISHMENT REQUEST. The rank of the requesting client is not carried (A.3.1.4).
struct HardLinkRequest {       // type 3
  std::uint8_t link_type = 0;  // 2 bits; 3 is undefined
  std::uint8_t priority = 0;   // 2 bits
  SapId requesting_sap;
  SapId remote_sap;  // used for link type 2 only
  friend bool operator==(const HardLinkRequest&, const HardLinkRequest&) = default;
};

/// HARD LINK ESTABLISHMENT CONFIRM (A.3.1.5).
struct HardLinkConfirm {  // type 4
  friend bool operator==(const HardLinkConfirm&, const HardLinkConfirm&) = default;
};

/// Reason for refusing a hard link over the air (A.3.1.6); other values are unassigned or reserved.
enum class HardLinkRefusal : std::uint8_t {
  remote_busy = 1,
  higher_priority_existing = 2,
  remote_not_responding = 3,
  destination_sap_not_bound = 4,
};
/// HARD LINK ESTABLISHMENT REJECTED (A.3.1.6).
struct HardLinkRefused {                                  // type 5
  HardLinkRefusal reason = HardLinkRefusal::remote_busy;  // 4 bits
  friend bool operator==(const HardLinkRefused&, const HardLinkRefused&) = default;
};

/// Reason for ending a hard link over the air (A.3.1.7); other values are unassigned or reserved.
enum class HardLinkEnd : std::uint8_t {
  client_request = 1,
  higher_priority_requested = 2,
  destination_sap_unbound = 4,
};
/// HARD LINK TERMINATE (A.3.1.7).
struct HardLinkTerminate {                           // type 6
  HardLinkEnd reason = HardLinkEnd::client_request;  // 4 bits
  friend bool operator==(const HardLinkTerminate&, const HardLinkTerminate&) = default;
};

/// HARD LINK TERMINATE CONFIRM (A.3.1.8).
struct HardLinkTerminateConfirm {  // type 7
  friend bool operator==(const HardLinkTerminateConfirm&,
                         const HardLinkTerminateConfirm&) = default;
};

/// S_PDUs in the order of their type numbers.
using Spdu = std::variant<DataSpdu, DeliveryConfirm, DeliveryFail, HardLinkRequest, HardLinkConfirm,
                          HardLinkRefused, HardLinkTerminate, HardLinkTerminateConfirm>;

/// Longest S_PCI in front of a U_PDU.
inline constexpr std::size_t kSpciOctetsMax = 5;

Bytes encode(const Spdu& spdu);

/// Decodes any input safely; `unsupported` means a type above 7. NOT USED bits and octets after
/// types 3 to 7 are ignored.
Result<Spdu> decode(ByteSpan octets);

}  // namespace s5066::sap
