// SPDX-License-Identifier: Apache-2.0
#include "modem/audio/level_watch.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

namespace s5066::modem {
namespace {

std::uint64_t samples_of(Duration duration, unsigned rate_hz) {
  return static_cast<std::uint64_t>(to_seconds(duration) * rate_hz);
}

std::string text_of(const LevelMeter::Reading& reading) {
  std::array<char, 128> text{};
  switch (reading.verdict()) {
    case LevelMeter::Verdict::good:
      std::snprintf(text.data(), text.size(), "received sound is good again: %.1f dB of full scale",
                    power_db(reading.power));
      break;
    case LevelMeter::Verdict::silent:
      return "received sound is silent: check cable, input and mute";
    case LevelMeter::Verdict::too_low:
      std::snprintf(text.data(), text.size(),
                    "received sound is too low: %.1f dB of full scale, raise the input's level",
                    power_db(reading.power));
      break;
    case LevelMeter::Verdict::clipping:
      std::snprintf(text.data(), text.size(),
                    "received sound clips: %llu of %llu samples, lower the input's level",
                    static_cast<unsigned long long>(reading.clipped),
                    static_cast<unsigned long long>(reading.samples));
      break;
  }
  return text.data();
}

}  // namespace

LevelWatch::LevelWatch(const Config& config)
    : config_(config),
      window_samples_(std::max<std::uint64_t>(1, samples_of(config.window, config.rate_hz))),
      repeat_samples_(samples_of(config.repeat, config.rate_hz)) {}

void LevelWatch::process(std::span<const float> samples) {
  while (!samples.empty()) {
    const auto count = static_cast<std::size_t>(
        std::min<std::uint64_t>(samples.size(), window_samples_ - in_window_));
    meter_.process(samples.first(count));
    samples = samples.subspan(count);
    in_window_ += count;
    heard_ += count;
    if (in_window_ == window_samples_) judge();
  }
}

void LevelWatch::judge() {
  in_window_ = 0;
  reading_ = meter_.take();
  clipped_ += reading_->clipped;
  const LevelMeter::Verdict verdict = reading_->verdict();
  const bool good = verdict == LevelMeter::Verdict::good;
  good_ = good ? good_ + 1 : 0;
  if (good) {
    if (!reported_bad_ || good_ < config_.good_windows) return;
  } else {
    auto& reported_at = reported_at_[static_cast<std::size_t>(verdict)];
    if (reported_at && heard_ - *reported_at < repeat_samples_) return;
    reported_at = heard_;
  }
  reported_bad_ = !good;
  notice_ = Notice{.verdict = verdict, .text = text_of(*reading_)};
}

std::optional<LevelWatch::Notice> LevelWatch::take_notice() {
  return std::exchange(notice_, std::nullopt);
}

}  // namespace s5066::modem
