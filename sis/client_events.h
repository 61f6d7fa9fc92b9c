// SPDX-License-Identifier: Apache-2.0
// Events that a SIS client reports to its application: the state of the binding, received data, the
// results of its hard links, and the end of every accepted request. Each request for data or
// management ends in exactly one of Confirmed, Rejected, Sent or Unresolved.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <variant>

#include "s5066d/base/result.h"
#include "sis/primitives.h"

namespace s5066::sis {

/// One accepted request for data or management; unique within a client.
struct RequestId {
  std::uint64_t value = 0;
  friend auto operator<=>(const RequestId&, const RequestId&) = default;
};

namespace event {

/// Requests are accepted from here on, with U_PDUs up to this size.
struct Bound {
  std::uint16_t mtu = 0;
};

/// The server refused the bind (A.2.1.4). The client asks again by itself.
struct BindRejected {
  BindRejectReason reason{};
};

/// The server ended the binding (A.2.1.5). The client binds again by itself.
struct Unbound {
  UnbindReason reason{};
};

/// There is no connection, or no longer. The client connects again by itself.
struct Lost {
  Error why;
};

/// The subnetwork asks to send no more, or allows it again (A.2.1.14). Requests are held meanwhile.
struct FlowOff {};
struct FlowOn {};

/// A U_PDU from another node (A.2.1.9). The errored and missing ranges lie within it.
struct Indication {
  UnidataIndication unidata;
};
/// A U_PDU that was sent as expedited data (A.2.1.13).
struct ExpeditedIndication {
  ExpeditedUnidataIndication unidata;
};

/// The U_PDU was delivered, as far as the requested confirmation says (A.2.1.7).
struct Confirmed {
  RequestId id;
};

/// How far a rejected U_PDU came, as far as the reason tells. SIS has no field for it.
enum class Reach : std::uint8_t {
  /// Larger than the MTU, or no transmission mode: it never left our node.
  never_left,
  /// The other node had it and reports that no client took it.
  refused_there,
  /// It may never have left, have been on the air, or have been delivered without our node learning
  /// of it. To send it again may deliver it twice.
  unknown,
};
Reach reach_of(RejectReason reason);

/// The U_PDU is not known to be delivered (A.2.1.8).
struct Rejected {
  RequestId id;
  RejectReason reason{};
  Reach reach() const { return reach_of(reason); }
};

/// The request is on its way to the server; without a confirmation nothing more can be known.
struct Sent {
  RequestId id;
};

/// The result is unknown: the binding ended first, or no answer came in time. Sending the U_PDU
/// again may deliver it twice, and not sending it again may lose it; the application decides.
struct Unresolved {
  RequestId id;
};

/// The requested hard link is up, and this client owns it (A.2.1.20).
struct HardLinkEstablished {
  std::uint8_t status = 0;  // of the remote node; 0 is an error
  HardLink link;
};

/// The requested hard link does not come up (A.2.1.21).
struct HardLinkRejected {
  HardLinkRejectReason reason{};
  HardLink link;
};

/// A hard link that was up, or an offer of one, has ended, and this client did not end it
/// (A.2.1.22).
struct HardLinkTerminated {
  HardLinkEndReason reason{};
  HardLink link;
};

/// A client of another node requests the whole link for the two of us (A.2.1.23). Accept or reject
/// it soon, because the server waits only for a limited time, and does not report when that is
/// over.
struct HardLinkOffered {
  HardLink link;  // the remote side is the caller
};

/// A requested, offered or active hard link has ended, because the binding ended or because the
/// server never answered. The client does not request it again.
struct HardLinkLost {
  HardLink link;
};

/// State of the node (A.2.1.26).
struct Availability {
  NodeStatus status{};
  AvailabilityReason reason{};
};

/// A message of the node about itself (A.2.1.16).
struct Management {
  std::uint8_t message_type = 0;
  Bytes body;
};

}  // namespace event

using Event =
    std::variant<event::Bound, event::BindRejected, event::Unbound, event::Lost, event::FlowOff,
                 event::FlowOn, event::Indication, event::ExpeditedIndication, event::Confirmed,
                 event::Rejected, event::Sent, event::Unresolved, event::HardLinkEstablished,
                 event::HardLinkRejected, event::HardLinkTerminated, event::HardLinkOffered,
                 event::HardLinkLost, event::Availability, event::Management>;

/// Returns text like: rejected request=3 reason="time to live expired"
std::string to_string(const Event& event);

}  // namespace s5066::sis
