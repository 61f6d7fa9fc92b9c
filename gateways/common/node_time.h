// SPDX-License-Identifier: Apache-2.0
// The time of a gateway. On an audio cable a node has its own clock, which runs faster than the
// clock of this machine or stands still, so every wait for a station has to use that clock. The
// node reports it in its answer to `status`. With any other node, and while no node answers, a
// gateway uses the steady clock of this machine.
#pragma once

#include <optional>

#include "s5066d/base/time.h"

namespace s5066::gateways {

/// The clock and mode of a node, from one answer of s5066d to `status`.
struct NodeTime {
  Duration up{};          // time since the node began
  bool lockstep = false;  // the node's clock is that of the audio cable
  double rate_bps = 0;    // rate of the mode in which the node sends first; 0: not told
};

/// Ties a gateway's time to that of its node. Every `machine` is a time of the steady clock of this
/// machine and never less than the one before. The gateway's time never goes back: it stands still
/// until a node that was restarted, or that was behind, has come as far again.
class NodeTimeFollower {
 public:
  explicit NodeTimeFollower(Duration machine) : since_(machine) {}

  /// Call when the node has answered.
  void on_reading(Duration machine, const NodeTime& node);
  /// Call when the node did not answer. The gateway's time then goes on with the clock of this
  /// machine, so that nothing waits for ever for a node that has ended.
  void on_silence(Duration machine);

  /// Returns the time of the gateway, which is Instant{} at the start.
  Instant now(Duration machine) const;
  /// True if only readings move the time.
  bool follows() const { return reading_.has_value() && !silent_; }
  /// Returns when now() will be `at`; empty while the time moves by readings only.
  std::optional<Duration> machine_time_of(Instant at) const;

 private:
  struct Reading {
    Duration up{};
    Instant at{};  // time of the gateway at the reading
  };

  Instant base_{};
  Duration since_{};                // time of `base_` on this machine's clock
  std::optional<Reading> reading_;  // the last reading, if the node is in lockstep
  bool silent_ = false;             // the node did not answer after that reading
};

}  // namespace s5066::gateways
