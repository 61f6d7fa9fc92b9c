// Tells an operator of a level that will cost a link, while the modem runs, and not too often. Time
// is the count of samples.
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
    Duration window = std::chrono::seconds(10);  // that one verdict is of
    /// The same is not said again for so long, whatever was between.
    Duration repeat = std::chrono::minutes(10);
    /// Good windows on end before it is said that the level is good again.
    unsigned good_windows = 6;
  };
  struct Notice {
    LevelMeter::Verdict verdict = LevelMeter::Verdict::good;
    std::string text;
  };

  explicit LevelWatch(const Config& config);

  /// What was received while we did not transmit.
  void process(std::span<const float> samples);
  /// What is to be said now; once.
  std::optional<Notice> take_notice();
  /// Of the last whole window; none before there is one.
  const std::optional<LevelMeter::Reading>& reading() const { return reading_; }
  /// Since the beginning.
  std::uint64_t clipped() const { return clipped_; }

 private:
  void judge();

  static constexpr std::size_t kVerdicts = 4;

  Config config_;
  std::uint64_t window_samples_;
  std::uint64_t repeat_samples_;
  LevelMeter meter_;
  std::uint64_t heard_ = 0;  // samples, those that were no numbers too
  std::uint64_t in_window_ = 0;
  std::uint64_t clipped_ = 0;
  std::optional<LevelMeter::Reading> reading_;
  std::optional<Notice> notice_;
  std::optional<std::uint64_t> told_at_[kVerdicts];
  bool told_bad_ = false;  // and nothing good since
  unsigned good_ = 0;      // windows on end
};

}  // namespace s5066::modem
