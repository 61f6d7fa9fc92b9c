// SPDX-License-Identifier: Apache-2.0
// The end of a request of a SIS client, for the completion handler of Client::async_send().
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
    unresolved,  // the result is unknown; see event::Unresolved
    refused,     // never accepted by the client: `error`
  };

  End end = End::refused;
  std::optional<RequestId> id;         // of the accepted request
  std::optional<RejectReason> reason;  // of `rejected`
  std::optional<event::Reach> reach;   // of `rejected`
  std::optional<Error> error;          // of `refused`

  /// True if the request ended as well as it asked for.
  bool ok() const { return end == End::confirmed || end == End::sent; }
};

/// Returns text like: rejected: time to live expired
std::string to_string(const SendOutcome& outcome);

/// Returns the end of a request that the event reports; nothing for any other event.
std::optional<SendOutcome> outcome_of(const Event& event);

}  // namespace s5066::sis
