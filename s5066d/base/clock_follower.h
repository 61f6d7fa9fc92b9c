// SPDX-License-Identifier: Apache-2.0
// Estimates another clock from readings that arrive in time or late, never early. The reading with
// the least delay is the best one. The estimate decays slowly, so that it follows a clock that is
// slower than ours.
#pragma once

#include <chrono>
#include <optional>

#include "s5066d/base/time.h"

namespace s5066 {

class ClockFollower {
 public:
  struct Config {
    double drift_max = 1e-3;  // more than the error of any sound card clock
    /// If the clock is behind by more than `loss_min` in every reading of `loss_window`, it stood
    /// still meanwhile. A reading that is late because a process was busy catches up sooner.
    Duration loss_min = std::chrono::milliseconds(100);
    Duration loss_window = std::chrono::seconds(3);
  };

  explicit ClockFollower(const Config& config) : config_(config) {}

  /// Takes a reading: the other clock was at `theirs` when ours was at `ours`, or somewhat earlier.
  /// Returns for how long the other clock stood still once that is certain, else 0. A caller that
  /// can set the clock then sets it forward by that time; any other calls fall_back().
  Duration on_reading(Duration ours, Duration theirs);
  void fall_back(Duration lost) { ahead_ -= lost; }
  /// Replaces the configured window from now on.
  void set_loss_window(Duration window) { config_.loss_window = window; }

  bool known() const { return set_at_.has_value(); }
  /// Returns how far the other clock is ahead of ours.
  Duration ahead() const { return ahead_; }

 private:
  struct Late {
    Duration ours{};  // time since which it has been late
    Duration theirs{};
    Duration read_at{};
    Duration least{};
  };

  Config config_;
  std::optional<Duration> set_at_;
  Duration ahead_{};
  std::optional<Late> late_;
};

}  // namespace s5066
