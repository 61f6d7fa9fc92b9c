// What a SIS client tells its application: the state of the binding, what arrived, and how every
// accepted request ended. Each ends in exactly one of Confirmed, Rejected, Sent or Unresolved.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <variant>

#include "s5066d/base/result.h"
#include "sis/primitives.h"

namespace s5066::sis {

/// One accepted request_unidata(); unique within a client.
struct RequestId {
  std::uint64_t value = 0;
  friend auto operator<=>(const RequestId&, const RequestId&) = default;
};

namespace event {

/// Requests are taken from here on, with U_PDUs up to this size.
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

/// No connection, or no longer. The client connects again by itself.
struct Lost {
  Error why;
};

/// The subnetwork asks to send no more, or allows it again (A.2.1.14). Requests are held meanwhile.
struct FlowOff {};
struct FlowOn {};

/// A U_PDU from another node (A.2.1.9).
struct Indication {
  UnidataIndication unidata;
};

/// Delivered, as far as the requested confirmation says (A.2.1.7).
struct Confirmed {
  RequestId id;
};

/// Not delivered (A.2.1.8).
struct Rejected {
  RequestId id;
  RejectReason reason{};
};

/// Handed to the server; without a confirmation this is all that can be known.
struct Sent {
  RequestId id;
};

/// Nobody knows: the binding ended first, or no answer came in time. Sending it again may deliver
/// it twice, not sending it again may lose it; that is for the application to decide.
struct Unresolved {
  RequestId id;
};

}  // namespace event

using Event = std::variant<event::Bound, event::BindRejected, event::Unbound, event::Lost,
                           event::FlowOff, event::FlowOn, event::Indication, event::Confirmed,
                           event::Rejected, event::Sent, event::Unresolved>;

/// rejected request=3 reason="time to live expired"
std::string to_string(const Event& event);

}  // namespace s5066::sis
