// SPDX-License-Identifier: Apache-2.0
// Decides when this station has to send its call sign in Morse code, as the rules of many radio
// services ask for.
//
// An identification is due when the station has transmitted since the last one and `interval` has
// passed since that. So it follows the first transmission, comes once in each interval while the
// station transmits, and once after the last transmission. It takes a turn of its own like data, so
// it begins over no other station, and it never takes the place of an answer that a peer waits for.
#pragma once

#include <optional>
#include <string>

#include "s5066d/base/time.h"

namespace s5066::dts {

class Identification {
 public:
  struct Config {
    std::string text;     // empty: the station does not identify itself
    Duration interval{};  // time between two identifications; 0: there are none
  };

  explicit Identification(Config config) : config_(std::move(config)) {}

  const std::string& text() const { return config_.text; }
  /// A transmission of data has ended.
  void on_transmitted(Instant now);
  /// An identification has ended; one that was cut off is due again.
  void on_identified(Instant now, bool whole);
  bool due(Instant now) const { return due_at_ && now >= *due_at_; }
  /// Returns when one becomes due.
  std::optional<Instant> due_at() const { return due_at_; }

 private:
  /// Wait before the next attempt after one that was cut off or refused.
  static constexpr Duration kAgainAfter = std::chrono::seconds(10);

  Config config_;
  std::optional<Instant> last_;
  std::optional<Instant> due_at_;
};

}  // namespace s5066::dts
