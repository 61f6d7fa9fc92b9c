// SPDX-License-Identifier: Apache-2.0
#include "modem/audio/level_meter.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace s5066::modem {

LevelMeter::Verdict LevelMeter::Reading::verdict() const {
  if (static_cast<double>(clipped) > kClippedShare * static_cast<double>(samples)) {
    return Verdict::clipping;
  }
  if (peak == 0) return Verdict::silent;
  return power_db(power) < kTooLowDb ? Verdict::too_low : Verdict::good;
}

void LevelMeter::process(std::span<const float> samples) {
  for (const float sample : samples) {
    if (!std::isfinite(sample)) {
      ++sums_.not_numbers;
      continue;
    }
    const auto value = static_cast<double>(sample);
    ++sums_.samples;
    if (std::abs(sample) >= kClipped) ++sums_.clipped;
    sums_.peak = std::max(sums_.peak, std::abs(value));
    sum_ += value;
    squares_ += value * value;
  }
}

LevelMeter::Reading LevelMeter::take() {
  Reading reading = std::exchange(sums_, {});
  const double sum = std::exchange(sum_, 0);
  const double squares = std::exchange(squares_, 0);
  if (reading.samples == 0) return reading;
  const auto count = static_cast<double>(reading.samples);
  reading.mean = sum / count;
  reading.power = std::max(0.0, squares / count - reading.mean * reading.mean);
  return reading;
}

double power_db(double power) {
  return power > 1e-20 ? 10 * std::log10(power) : -200;
}

std::string_view to_string(LevelMeter::Verdict verdict) {
  switch (verdict) {
    case LevelMeter::Verdict::good:
      return "good";
    case LevelMeter::Verdict::silent:
      return "silent";
    case LevelMeter::Verdict::too_low:
      return "too low";
    case LevelMeter::Verdict::clipping:
      return "clipping";
  }
  return "unknown";
}

}  // namespace s5066::modem
