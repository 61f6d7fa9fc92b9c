// SPDX-License-Identifier: Apache-2.0
// Tells an operator while the modem runs that a level will cost a link. Messages are limited in
// number. Time is the count of samples.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "modem/audio/level_meter.h"
#include "s5066d/base/time.h"

namespace s5066::modem {

class LevelWatch {
 public:
  struct Config {
    unsigned rate_hz = 48000;
    Duration window = std::chrono::seconds(10);  // each verdict is for this time
    /// A message is not repeated within this time, even if others came between.
    Duration repeat = std::chrono::minutes(10);
    /// A good level is reported after this many good windows in a row.
    unsigned good_windows = 6;
  };
  struct Notice {
    LevelMeter::Verdict verdict = LevelMeter::Verdict::good;
    std::string text;
  };

  explicit LevelWatch(const Config& config);

  /// `samples` are those received while the modem did not transmit.
  void process(std::span<const float> samples);
  /// Returns the message that is due, once.
  std::optional<Notice> take_notice();
  /// Returns the reading of the last whole window; nothing before there is one.
  const std::optional<LevelMeter::Reading>& reading() const { return reading_; }
  /// Returns the number since the beginning.
  std::uint64_t clipped() const { return clipped_; }

 private:
  void judge();

  static constexpr std::size_t kVerdicts = 4;

  Config config_;
  std::uint64_t window_samples_;
  std::uint64_t repeat_samples_;
  LevelMeter meter_;
  std::uint64_t heard_ = 0;  // samples, including those that are NaN
  std::uint64_t in_window_ = 0;
  std::uint64_t clipped_ = 0;
  std::optional<LevelMeter::Reading> reading_;
  std::optional<Notice> notice_;
  std::optional<std::uint64_t> reported_at_[kVerdicts];
  bool reported_bad_ = false;  // a bad level was reported and no good one since
  unsigned good_ = 0;          // good windows in a row
};

}  // namespace s5066::modem
