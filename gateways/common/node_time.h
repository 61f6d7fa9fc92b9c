// SPDX-License-Identifier: Apache-2.0
// The time of a gateway. On an audio cable a node has a clock of its own, which runs faster than
// this machine's or stands still, and whatever waits for stations has to wait by that clock. The
// node tells it in its answers to `status`. With any other node, and without one that answers, a
// gateway lives by the steady clock of this machine.
#pragma once

#include <optional>
#include <string_view>

#include "s5066d/base/time.h"

namespace s5066::gateways {

/// A node's clock, as in one answer of s5066d to `status`.
struct NodeTime {
  Duration up{};          // since the node began
  bool lockstep = false;  // the clock is the audio cable's
};
/// Empty if the answer does not tell.
std::optional<NodeTime> node_time_of(std::string_view status_json);

/// Ties a gateway's time to that of its node. Every `machine` is a time of the steady clock of this
/// machine and never less than the one before. The gateway's time never goes back: it stands still
/// until a node that was restarted, or that was behind, has come as far again.
class NodeTimeFollower {
 public:
  explicit NodeTimeFollower(Duration machine) : since_(machine) {}

  /// The node has answered.
  void on_reading(Duration machine, const NodeTime& node);
  /// The node did not answer: the gateway's time goes on with this machine's, so that nothing waits
  /// for ever for a node that has ended.
  void on_silence(Duration machine);

  /// The time of the gateway, Instant{} at the start.
  Instant now(Duration machine) const;
  /// The time moves by readings only.
  bool follows() const { return reading_.has_value() && !silent_; }
  /// When now() will be `at`; empty while only a reading can tell.
  std::optional<Duration> machine_time_of(Instant at) const;

 private:
  struct Reading {
    Duration up{};
    Instant at{};  // the gateway's time then
  };

  Instant base_{};
  Duration since_{};                // of `base_`, on this machine's clock
  std::optional<Reading> reading_;  // the last one, of a node in lockstep
  bool silent_ = false;             // since that reading
};

}  // namespace s5066::gateways
