// Where another clock stands, told by readings that come late or in time, never early. So the
// earliest of late shows it, and forgetting slowly follows a clock that is slower than ours.
#pragma once

#include <chrono>
#include <optional>

#include "s5066d/base/time.h"

namespace s5066 {

class ClockFollower {
 public:
  struct Config {
    double drift_max = 1e-3;  // more than any clock of a sound card is off
    /// Behind by more than this in every reading of so long, the clock stood still meanwhile. One
    /// that is late because somebody was busy catches up sooner.
    Duration loss_min = std::chrono::milliseconds(100);
    Duration loss_window = std::chrono::seconds(3);
  };

  explicit ClockFollower(const Config& config) : config_(config) {}

  /// Theirs stood at `theirs` when ours was at `ours`, or a while before. Returns for how long it
  /// stood still once that is certain, else 0; then whoever can sets it forward by as much, and
  /// whoever cannot calls fall_back().
  Duration on_reading(Duration ours, Duration theirs);
  void fall_back(Duration lost) { ahead_ -= lost; }
  /// Of the configuration, from now on.
  void set_loss_window(Duration window) { config_.loss_window = window; }

  bool known() const { return set_at_.has_value(); }
  /// Their clock, of ours.
  Duration ahead() const { return ahead_; }

 private:
  struct Late {
    Duration ours{};  // since
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
