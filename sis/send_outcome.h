// How a request of a SIS client ended, for the completion handler of Client::async_send().
#pragma once

#include <optional>
#include <string>

#include "s5066d/base/result.h"
#include "sis/client_events.h"
#include "sis/primitives.h"

namespace s5066::sis {

struct SendOutcome {
  enum class End : std::uint8_t {
    confirmed,   // delivered, as far as the requested confirmation says
    sent,        // handed to the server; without a confirmation this is all that can be known
    rejected,    // not known to be delivered: `reason`, and `reach` for how far it came
    unresolved,  // nobody knows; see event::Unresolved
    refused,     // never accepted by the client: `error`
  };

  End end = End::refused;
  std::optional<RequestId> id;         // of what was accepted
  std::optional<RejectReason> reason;  // of `rejected`
  std::optional<event::Reach> reach;   // of `rejected`
  std::optional<Error> error;          // of `refused`

  /// As good as was asked for.
  bool ok() const { return end == End::confirmed || end == End::sent; }
};

/// rejected: time to live expired
std::string to_string(const SendOutcome& outcome);

/// What the event says of the end of a request; nothing for any other event.
std::optional<SendOutcome> outcome_of(const Event& event);

}  // namespace s5066::sis
