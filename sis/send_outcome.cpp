// SPDX-License-Identifier: Apache-2.0
#include "sis/send_outcome.h"

#include "sis/text.h"

namespace s5066::sis {

std::string to_string(const SendOutcome& outcome) {
  switch (outcome.end) {
    case SendOutcome::End::confirmed:
      return "confirmed";
    case SendOutcome::End::sent:
      return "sent";
    case SendOutcome::End::rejected:
      return "rejected: " + std::string(outcome.reason ? to_string(*outcome.reason) : "unknown");
    case SendOutcome::End::unresolved:
      return "unresolved";
    case SendOutcome::End::refused:
      return "refused: " + (outcome.error ? to_string(*outcome.error) : "unknown");
  }
  return "unknown";
}

std::optional<SendOutcome> outcome_of(const Event& event) {
  using End = SendOutcome::End;
  if (const auto* e = std::get_if<event::Confirmed>(&event)) {
    return SendOutcome{.end = End::confirmed, .id = e->id};
  }
  if (const auto* e = std::get_if<event::Sent>(&event)) {
    return SendOutcome{.end = End::sent, .id = e->id};
  }
  if (const auto* e = std::get_if<event::Rejected>(&event)) {
    return SendOutcome{.end = End::rejected, .id = e->id, .reason = e->reason, .reach = e->reach()};
  }
  if (const auto* e = std::get_if<event::Unresolved>(&event)) {
    return SendOutcome{.end = End::unresolved, .id = e->id};
  }
  return std::nullopt;
}

}  // namespace s5066::sis
