// SPDX-License-Identifier: Apache-2.0
// Watches one SIS connection: how many invalid primitives and expedited requests it may still send,
// when it was last heard, and the keep-alive rules (A.2.1.5, A.2.1.10(4), A.2.1.17).
#pragma once

#include <optional>

#include "s5066d/base/time.h"
#include "s5066d/sap/config.h"
#include "s5066d/sap/rate_limit.h"

namespace s5066::sap {

class ClientWatch {
 public:
  enum class Verdict : std::uint8_t {
    fine,
    send_keep_alive,  // our own probe is due
    inactive,         // the client did not answer the probe, or was unbound for too long
  };

  ClientWatch(const Config& config, Instant now);

  /// Call for a valid primitive. Only S_KEEP_ALIVE answers a probe.
  void on_heard(Instant now) { heard_at_ = now; }
  /// Returns false if this one exceeds the limit.
  [[nodiscard]] bool on_invalid(Instant now) { return invalid_.admit(now); }
  [[nodiscard]] bool on_expedited_request(Instant now) { return expedited_.admit(now); }
  /// Returns true if an S_KEEP_ALIVE of our own must answer. The primitive has waited here for at
  /// least `held`.
  [[nodiscard]] bool on_keep_alive(Instant now, Duration held = {});
  /// Call when no U_PDU of the client is taken. Its other primitives may wait behind one, so that
  /// no probe is sent and no answer is waited for.
  void on_paused() { paused_ = true; }
  void on_resumed(Instant now);
  void on_bound(Instant now);
  void on_unbound(Instant now);

  Verdict on_deadline(Instant now);
  std::optional<Instant> next_deadline() const;

 private:
  RateLimit invalid_;
  RateLimit expedited_;
  Duration unbound_idle_timeout_;
  Duration probe_interval_;
  Duration probe_answer_wait_;

  Instant heard_at_;
  std::optional<Instant> unbound_since_;
  std::optional<Instant> keep_alive_sent_at_;
  bool last_was_answered_probe_ = false;
  std::optional<Instant> probe_answer_until_;
  bool paused_ = false;
};

}  // namespace s5066::sap
