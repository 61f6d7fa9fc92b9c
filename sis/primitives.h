// SPDX-License-Identifier: Apache-2.0
// S_PRIMITIVEs as values (Annex A.2.1 defines their meaning, A.2.2 their layout). Fields keep the
// values received, legal or not: the server decides what to refuse and how.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "s5066d/base/bytes.h"
#include "s5066d/base/ids.h"

namespace s5066::sis {

/// Default TCP port (F.16).
inline constexpr std::uint16_t kDefaultPort = 5066;
/// Largest U_PDU that a general node accepts from a client (A.2.1.3).
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
  std::uint8_t retransmissions = 0;  // 4 bits, non-ARQ: sent 1 + this many times
  friend bool operator==(const DeliveryMode&, const DeliveryMode&) = default;
};

// --- Binding -------------------------------------------------------------------------------------

struct BindRequest {  // type 1, to the server
  SapId sap{};
  std::uint8_t rank = 0;  // 4 bits
  DeliveryMode service{};
  friend bool operator==(const BindRequest&, const BindRequest&) = default;
};

struct UnbindRequest {  // type 2, to the server
  friend bool operator==(const UnbindRequest&, const UnbindRequest&) = default;
};

struct BindAccepted {  // type 3, to the client
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

struct BindRejected {  // type 4, to the client
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

struct UnbindIndication {  // type 5, to the client
  UnbindReason reason = UnbindReason::preempted;
  friend bool operator==(const UnbindIndication&, const UnbindIndication&) = default;
};

// --- Hard links ----------------------------------------------------------------------------------

/// LINK TYPE (A.1.1.2, A.2.2.28.4): the capacity that the link reserves for its owner. 3 is
/// undefined.
enum class HardLinkType : std::uint8_t {
  link_reservation = 0,   // the physical link only, all clients share it
  partial_bandwidth = 1,  // all capacity, for the owner and any client at the other node
  full_bandwidth = 2,     // all capacity, for the owner and one named client
};

/// The arguments that all hard-link primitives except type 7 share.
struct HardLink {
  HardLinkType type = HardLinkType::link_reservation;  // 2 bits
  std::uint8_t priority = 0;                           // 2 bits
  SapId remote_sap{};                                  // valid with full_bandwidth only
  Address remote{};
  friend bool operator==(const HardLink&, const HardLink&) = default;
};

struct HardLinkEstablish {  // type 6, to the server
  HardLink link{};
  friend bool operator==(const HardLinkEstablish&, const HardLinkEstablish&) = default;
};

struct HardLinkTerminate {  // type 7, to the server
  Address remote{};
  friend bool operator==(const HardLinkTerminate&, const HardLinkTerminate&) = default;
};

struct HardLinkEstablished {  // type 8, to the client
  std::uint8_t status = 1;    // of the remote node: 0 is an error, anything else is good
  HardLink link{};
  friend bool operator==(const HardLinkEstablished&, const HardLinkEstablished&) = default;
};

enum class HardLinkRejectReason : std::uint8_t {
  remote_busy = 1,
  higher_priority_existing = 2,
  remote_not_responding = 3,
  destination_sap_not_bound = 4,
  type_0_exists = 5,
};

struct HardLinkRejected {  // type 9, to the client
  HardLinkRejectReason reason = HardLinkRejectReason::remote_busy;
  HardLink link{};
  friend bool operator==(const HardLinkRejected&, const HardLinkRejected&) = default;
};

enum class HardLinkEndReason : std::uint8_t {
  by_remote = 1,
  higher_priority_requested = 2,
  remote_not_responding = 3,
  destination_sap_unbound = 4,
  physical_link_broken = 5,
};

struct HardLinkTerminated {  // type 10, to the client
  HardLinkEndReason reason = HardLinkEndReason::by_remote;
  HardLink link{};
  friend bool operator==(const HardLinkTerminated&, const HardLinkTerminated&) = default;
};

struct HardLinkIndication {  // type 11, to the client
  std::uint8_t status = 1;   // as in type 8
  HardLink link{};           // the remote side is the caller
  friend bool operator==(const HardLinkIndication&, const HardLinkIndication&) = default;
};

struct HardLinkAccept {  // type 12, to the server
  HardLink link{};       // as indicated
  friend bool operator==(const HardLinkAccept&, const HardLinkAccept&) = default;
};

struct HardLinkReject {     // type 13, to the server
  std::uint8_t reason = 0;  // the standard gives no numbers
  HardLink link{};          // as indicated
  friend bool operator==(const HardLinkReject&, const HardLinkReject&) = default;
};

// --- The subnetwork's state ----------------------------------------------------------------------

enum class NodeStatus : std::uint8_t {
  off = 0,
  on = 1,
  receive_only = 2,
  half_duplex = 3,
  full_duplex = 4,
  transmit_only = 5,
};

enum class AvailabilityReason : std::uint8_t {
  unspecified = 0,
  emcon = 1,
  higher_priority_link = 2,
};

struct SubnetAvailability {  // type 14, to the client
  NodeStatus status = NodeStatus::off;
  AvailabilityReason reason = AvailabilityReason::unspecified;
  friend bool operator==(const SubnetAvailability&, const SubnetAvailability&) = default;
};

struct DataFlowOn {  // type 15, to the client
  friend bool operator==(const DataFlowOn&, const DataFlowOn&) = default;
};

struct DataFlowOff {  // type 16, to the client
  friend bool operator==(const DataFlowOff&, const DataFlowOff&) = default;
};

struct KeepAlive {  // type 17, both ways
  friend bool operator==(const KeepAlive&, const KeepAlive&) = default;
};

/// The standard leaves the contents of both to the node.
struct ManagementRequest {  // type 18, to the server
  std::uint8_t message_type = 0;
  Bytes body{};
  friend bool operator==(const ManagementRequest&, const ManagementRequest&) = default;
};

struct ManagementIndication {  // type 19, to the client
  std::uint8_t message_type = 0;
  Bytes body{};
  friend bool operator==(const ManagementIndication&, const ManagementIndication&) = default;
};

// --- Data ----------------------------------------------------------------------------------------

struct UnidataRequest {       // type 20, to the server
  std::uint8_t priority = 0;  // 4 bits, larger first
  SapId destination_sap{};
  Address destination{};
  DeliveryMode delivery{};
  std::uint32_t time_to_live = 0;  // 20 bits, units of 2 s; 0 means the node's default
  Bytes updu{};
  friend bool operator==(const UnidataRequest&, const UnidataRequest&) = default;
};

// STANDARD: A.2.1.9 does not say where the pointers of errored and missing blocks count from. We
// count from the first octet of the U_PDU, as C.3.10 counts segments.
struct UnidataIndication {  // type 21, to the client
  std::uint8_t priority = 0;
  SapId destination_sap{};
  Address destination{};  // as the sender used it: own address or a group
  TransmissionMode mode = TransmissionMode::arq;
  SapId source_sap{};
  Address source{};
  Bytes updu{};
  std::vector<OctetRange> errored{};  // of the U_PDU; with nonarq_with_errors only
  std::vector<OctetRange> missing{};  // of the U_PDU, as above
  friend bool operator==(const UnidataIndication&, const UnidataIndication&) = default;
};

struct UnidataRequestConfirm {  // type 22, to the client
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

struct UnidataRequestRejected {                     // type 23, to the client
  RejectReason reason = RejectReason::ttl_expired;  // 4 bits
  SapId destination_sap{};
  Address destination{};
  Bytes updu_part{};
  friend bool operator==(const UnidataRequestRejected&, const UnidataRequestRejected&) = default;
};

// Types 24 to 27 are the same primitives for expedited data, which has no priority.

struct ExpeditedUnidataRequest {  // type 24, to the server
  SapId destination_sap{};
  Address destination{};
  DeliveryMode delivery{};
  std::uint32_t time_to_live = 0;  // as in type 20
  Bytes updu{};
  friend bool operator==(const ExpeditedUnidataRequest&, const ExpeditedUnidataRequest&) = default;
};

struct ExpeditedUnidataIndication {  // type 25, to the client
  SapId destination_sap{};
  Address destination{};
  TransmissionMode mode = TransmissionMode::arq;
  SapId source_sap{};
  Address source{};
  std::vector<OctetRange> errored{};  // as in type 21
  std::vector<OctetRange> missing{};
  Bytes updu{};
  friend bool operator==(const ExpeditedUnidataIndication&,
                         const ExpeditedUnidataIndication&) = default;
};

struct ExpeditedUnidataRequestConfirm {  // type 26, to the client
  SapId destination_sap{};
  Address destination{};
  Bytes updu_part{};
  friend bool operator==(const ExpeditedUnidataRequestConfirm&,
                         const ExpeditedUnidataRequestConfirm&) = default;
};

struct ExpeditedUnidataRequestRejected {  // type 27, to the client
  RejectReason reason = RejectReason::ttl_expired;
  SapId destination_sap{};
  Address destination{};
  Bytes updu_part{};
  friend bool operator==(const ExpeditedUnidataRequestRejected&,
                         const ExpeditedUnidataRequestRejected&) = default;
};

/// Primitives in the order of their type numbers, from 1.
using Primitive =
    std::variant<BindRequest, UnbindRequest, BindAccepted, BindRejected, UnbindIndication,
                 HardLinkEstablish, HardLinkTerminate, HardLinkEstablished, HardLinkRejected,
                 HardLinkTerminated, HardLinkIndication, HardLinkAccept, HardLinkReject,
                 SubnetAvailability, DataFlowOn, DataFlowOff, KeepAlive, ManagementRequest,
                 ManagementIndication, UnidataRequest, UnidataIndication, UnidataRequestConfirm,
                 UnidataRequestRejected, ExpeditedUnidataRequest, ExpeditedUnidataIndication,
                 ExpeditedUnidataRequestConfirm, ExpeditedUnidataRequestRejected>;

}  // namespace s5066::sis
