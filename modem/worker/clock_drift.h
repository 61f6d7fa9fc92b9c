// SPDX-License-Identifier: Apache-2.0
// Measures how far a device's sample clock deviates from the clock of this machine. A block may
// come late but never early, so the earliest one of a window of some seconds shows the sample
// clock.
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
    std::size_t windows_min = 4;   // windows before there is a result
    std::size_t windows_max = 60;  // earlier ones are dropped
  };

  explicit ClockDrift(const Config& config) : config_(config) {}

  /// A block has come; the sample clock is now at `samples`.
  void on_block(Duration monotonic, Duration samples);
  /// The sample clock has jumped.
  void reset();
  /// Returns the deviation in parts in a million, above 0 when the device is faster. It is computed
  /// from complete windows.
  std::optional<double> ppm() const;

 private:
  struct Point {
    Duration at{};
    Duration ahead{};  // sample clock relative to ours
  };

  Config config_;
  std::deque<Point> windows_;
  std::optional<Point> earliest_;  // earliest point in the present window
  Duration ends_at_{};
};

}  // namespace s5066::modem
