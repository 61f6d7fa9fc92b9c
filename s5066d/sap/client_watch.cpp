// SPDX-License-Identifier: Apache-2.0
#include "s5066d/sap/client_watch.h"

#include <algorithm>

#include "s5066d/base/assert.h"
#include "s5066d/base/deadline_table.h"

namespace s5066::sap {
namespace {

/// Shortest interval of S_KEEP_ALIVE to the same peer (A.2.1.17(3)).
constexpr Duration kKeepAliveSpacing = seconds(120);
/// Latest answer to S_KEEP_ALIVE (A.2.1.17(2)).
constexpr Duration kKeepAliveAnswerMax = seconds(10);

}  // namespace

ClientWatch::ClientWatch(const Config& config, Instant now)
    : invalid_(config.invalid_primitives_max, config.invalid_primitives_window),
      expedited_(config.expedited_requests_max, config.expedited_requests_window),
      unbound_idle_timeout_(config.unbound_idle_timeout),
      probe_interval_(config.keep_alive_interval),
      probe_answer_wait_(config.keep_alive_answer_wait),
      heard_at_(now),
      unbound_since_(now) {
  S5066_ASSERT(probe_interval_ == Duration::zero() || probe_interval_ >= kKeepAliveSpacing);
}

// STANDARD: taken literally, 120 s between keep-alives would forbid an answer to a client that
// answers our probe late or probes right after it. Here an answered probe does not count against an
// answer.
bool ClientWatch::on_keep_alive(Instant now, Duration held) {
  on_heard(now);
  if (probe_answer_until_) {
    probe_answer_until_.reset();
    last_was_answered_probe_ = true;
    return false;
  }
  if (held > kKeepAliveAnswerMax) return false;
  const bool spaced = !keep_alive_sent_at_ || now - *keep_alive_sent_at_ >= kKeepAliveSpacing;
  if (!spaced && !last_was_answered_probe_) return false;
  keep_alive_sent_at_ = now;
  last_was_answered_probe_ = false;
  return true;
}

void ClientWatch::on_bound(Instant now) {
  heard_at_ = now;
  unbound_since_.reset();
}

void ClientWatch::on_unbound(Instant now) {
  unbound_since_ = now;
  probe_answer_until_.reset();
  paused_ = false;
}

// Primitives that came meanwhile are still to be read, perhaps with the answer to a probe.
void ClientWatch::on_resumed(Instant now) {
  paused_ = false;
  heard_at_ = now;
  if (probe_answer_until_) probe_answer_until_ = now + probe_answer_wait_;
}

ClientWatch::Verdict ClientWatch::on_deadline(Instant now) {
  const auto due = next_deadline();
  if (!due || now < *due) return Verdict::fine;
  if (unbound_since_ || probe_answer_until_) return Verdict::inactive;
  keep_alive_sent_at_ = now;
  last_was_answered_probe_ = false;
  probe_answer_until_ = now + probe_answer_wait_;
  return Verdict::send_keep_alive;
}

std::optional<Instant> ClientWatch::next_deadline() const {
  if (unbound_since_) return *unbound_since_ + unbound_idle_timeout_;
  if (paused_) return std::nullopt;
  if (probe_answer_until_) return probe_answer_until_;
  if (probe_interval_ == Duration::zero()) return std::nullopt;
  Instant probe_at = heard_at_ + probe_interval_;
  if (keep_alive_sent_at_) probe_at = std::max(probe_at, *keep_alive_sent_at_ + kKeepAliveSpacing);
  return probe_at;
}

}  // namespace s5066::sap
