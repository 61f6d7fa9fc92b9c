// SPDX-License-Identifier: Apache-2.0
// Measures the level of samples, and judges what an operator must change before it costs a link.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace s5066::modem {

/// Full scale is 1. Powers in dB are relative to a full-scale square wave.
class LevelMeter {
 public:
  enum class Verdict : std::uint8_t {
    good,
    silent,    // only zeros arrive: no cable, muted, or the wrong input
    too_low,   // the sound card's own noise may be stronger
    clipping,  // full scale was reached, so strong signals are distorted
  };
  struct Reading {
    std::uint64_t samples = 0;
    std::uint64_t clipped = 0;
    std::uint64_t not_numbers = 0;  // counted and otherwise ignored
    double peak = 0;
    double power = 0;  // power without the mean
    double mean = 0;   // a constant voltage

    Verdict verdict() const;
  };

  /// A sample of this magnitude counts as clipped, because 16 bits reach 0.99997 and filters behind
  /// a converter reduce that a little.
  static constexpr float kClipped = 0.998F;
  /// A lower level leaves less than 40 dB above the resolution of 16 bits.
  static constexpr double kTooLowDb = -60;
  /// Clipping matters when more than this share of the samples is clipped.
  static constexpr double kClippedShare = 1e-5;

  void process(std::span<const float> samples);
  /// Returns the reading of the samples since the last call.
  Reading take();

 private:
  Reading sums_;
  double sum_ = 0;
  double squares_ = 0;
};

/// Returns 10 log10 of the power, and -200 for a power of 0.
double power_db(double power);
std::string_view to_string(LevelMeter::Verdict verdict);

}  // namespace s5066::modem
