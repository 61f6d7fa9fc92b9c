// S_PRIMITIVEs as values (Annex A.2.1 says what they mean, A.2.2 how they are laid out). Fields
// keep what was on the wire, legal or not: the server decides what to refuse and how.
#pragma once

#include <cstdint>
#include <variant>

#include "s5066d/base/bytes.h"
#include "s5066d/base/ids.h"

namespace s5066::sis {

/// Default TCP port (F.16).
inline constexpr std::uint16_t kDefaultPort = 5066;
/// Largest U_PDU a general node takes from a client (A.2.1.3).
inline constexpr std::uint16_t kMtu = 2048;
/// Largest TIME TO LIVE, in units of 2 s: 15 days.
inline constexpr std::uint32_t kTimeToLiveMax = 648000;

enum class TransmissionMode : std::uint8_t {
  unspecified = 0,  // in a request: use the service type of the bind
  arq = 1,
  nonarq = 2,
  nonarq_with_errors = 3,
};

enum class Confirmation : std::uint8_t { none = 0, node = 1, client = 2, undefined = 3 };

/// SERVICE TYPE of a bind and DELIVERY MODE of a request (A.2.2.28.2).
struct DeliveryMode {
  TransmissionMode mode = TransmissionMode::unspecified;  // 4 bits
  Confirmation confirmation = Confirmation::none;         // 2 bits
  bool as_they_arrive = false;                            // false: in order
  bool extended = false;                                  // must be false
  std::uint8_t retransmissions = 0;                       // 4 bits, non-ARQ: sent 1 + this often
  friend bool operator==(const DeliveryMode&, const DeliveryMode&) = default;
};

// --- Client to server ----------------------------------------------------------------------------

struct BindRequest {  // type 1
  SapId sap{};
  std::uint8_t rank = 0;  // 4 bits
  DeliveryMode service{};
  friend bool operator==(const BindRequest&, const BindRequest&) = default;
};

struct UnbindRequest {  // type 2
  friend bool operator==(const UnbindRequest&, const UnbindRequest&) = default;
};

struct UnidataRequest {       // type 20
  std::uint8_t priority = 0;  // 4 bits, larger first
  SapId destination_sap{};
  Address destination{};
  DeliveryMode delivery{};
  std::uint32_t time_to_live = 0;  // 20 bits, units of 2 s; 0 means the node's default
  Bytes updu{};
  friend bool operator==(const UnidataRequest&, const UnidataRequest&) = default;
};

// --- Server to client ----------------------------------------------------------------------------

struct BindAccepted {  // type 3
  SapId sap{};
  std::uint16_t mtu = kMtu;
  friend bool operator==(const BindAccepted&, const BindAccepted&) = default;
};

enum class BindRejectReason : std::uint8_t {
  not_enough_resources = 1,
  invalid_sap = 2,
  sap_already_allocated = 3,
  arq_unsupportable_in_broadcast = 4,
};

struct BindRejected {  // type 4
  BindRejectReason reason = BindRejectReason::not_enough_resources;
  friend bool operator==(const BindRejected&, const BindRejected&) = default;
};

enum class UnbindReason : std::uint8_t {
  preempted = 1,
  inactivity = 2,
  too_many_invalid_primitives = 3,
  too_many_expedited_requests = 4,
  arq_unsupportable_in_broadcast = 5,
};

struct UnbindIndication {  // type 5
  UnbindReason reason = UnbindReason::preempted;
  friend bool operator==(const UnbindIndication&, const UnbindIndication&) = default;
};

struct DataFlowOn {  // type 15
  friend bool operator==(const DataFlowOn&, const DataFlowOn&) = default;
};

struct DataFlowOff {  // type 16
  friend bool operator==(const DataFlowOff&, const DataFlowOff&) = default;
};

/// Errored and missing blocks (type 21 in mode 3) are not part of it yet: a primitive in that mode
/// is refused by the decoder as unsupported.
struct UnidataIndication {  // type 21
  std::uint8_t priority = 0;
  SapId destination_sap{};
  Address destination{};  // as the sender used it: own address or a group
  TransmissionMode mode = TransmissionMode::arq;
  SapId source_sap{};
  Address source{};
  Bytes updu{};
  friend bool operator==(const UnidataIndication&, const UnidataIndication&) = default;
};

struct UnidataRequestConfirm {  // type 22
  SapId destination_sap{};
  Address destination{};
  Bytes updu_part{};  // the first octets of the U_PDU
  friend bool operator==(const UnidataRequestConfirm&, const UnidataRequestConfirm&) = default;
};

enum class RejectReason : std::uint8_t {
  ttl_expired = 1,
  destination_sap_not_bound = 2,
  destination_not_responding = 3,
  larger_than_mtu = 4,
  mode_not_specified = 5,
};

struct UnidataRequestRejected {                     // type 23
  RejectReason reason = RejectReason::ttl_expired;  // 4 bits
  SapId destination_sap{};
  Address destination{};
  Bytes updu_part{};
  friend bool operator==(const UnidataRequestRejected&, const UnidataRequestRejected&) = default;
};

// --- Both ways -----------------------------------------------------------------------------------

struct KeepAlive {  // type 17
  friend bool operator==(const KeepAlive&, const KeepAlive&) = default;
};

using Primitive = std::variant<BindRequest, UnbindRequest, BindAccepted, BindRejected,
                               UnbindIndication, DataFlowOn, DataFlowOff, KeepAlive, UnidataRequest,
                               UnidataIndication, UnidataRequestConfirm, UnidataRequestRejected>;

}  // namespace s5066::sis
