// How far a device's sample clock is from the clock of this machine. Blocks come late or in time,
// never early; so of those of some seconds the earliest shows where the sample clock is.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "s5066d/base/time.h"

namespace s5066::modem {

class ClockDrift {
 public:
  struct Config {
    Duration window = std::chrono::seconds(30);
    std::size_t windows_min = 4;   // before anything is said
    std::size_t windows_max = 60;  // those before are forgotten
  };

  explicit ClockDrift(const Config& config) : config_(config) {}

  /// A block has come, with which the sample clock is at `samples`.
  void on_block(Duration monotonic, Duration samples);
  /// The sample clock has jumped.
  void reset();
  /// Parts in a million; above 0 where the device is faster. Read off the windows that are over.
  std::optional<double> ppm() const;

 private:
  struct Point {
    Duration at{};
    Duration ahead{};  // sample clock, of ours
  };

  Config config_;
  std::deque<Point> windows_;
  std::optional<Point> earliest_;  // of the present window
  Duration ends_at_{};
};

}  // namespace s5066::modem
