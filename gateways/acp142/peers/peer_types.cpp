// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/peers/peer_types.h"

#include <algorithm>

namespace s5066::acp142 {

std::string_view to_string(PeerNews::Kind kind) {
  // Names of log events; a test looks for each in docs/operate/log_events.md.
  static constexpr std::string_view kNames[] = {"peer_unknown", "peer_unreadable", "peer_given_up"};
  return kNames[static_cast<std::size_t>(kind)];
}

SmtpClientCore::Done done_with(const Mail& mail, RecipientOutcome::Kind kind,
                               const std::string& status, const std::string& text) {
  SmtpClientCore::Done done;
  done.outcomes.assign(mail.envelope.recipients.size(), {kind, status, text, 0});
  return done;
}

bool is_no_answer(sis::RejectReason reason) {
  return reason == sis::RejectReason::ttl_expired ||
         reason == sis::RejectReason::destination_not_responding;
}

bool is_of_station(sis::RejectReason reason) {
  return is_no_answer(reason) || reason == sis::RejectReason::destination_sap_not_bound;
}

std::uint8_t sis_priority(std::uint8_t p_mul_priority) {
  return static_cast<std::uint8_t>(8 - std::min<std::uint8_t>(p_mul_priority, 8));
}

}  // namespace s5066::acp142
