// How loud samples are, and what an operator has to be told about it before it costs a link.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace s5066::modem {

/// Full scale is 1. Powers in dB are those of a full-scale square wave and less.
class LevelMeter {
 public:
  enum class Verdict : std::uint8_t {
    good,
    silent,    // nothing but zeros: no cable, muted, the wrong input
    too_low,   // the sound card's own noise may be louder
    clipping,  // full scale was reached, so loud signals come distorted
  };
  struct Reading {
    std::uint64_t samples = 0;
    std::uint64_t clipped = 0;
    std::uint64_t not_numbers = 0;  // counted and otherwise left out
    double peak = 0;
    double power = 0;  // without the mean
    double mean = 0;   // a constant voltage

    Verdict verdict() const;
  };

  /// A sample of that magnitude is counted as clipped: 16 bits reach 0.99997, and filters behind a
  /// converter take a little off.
  static constexpr float kClipped = 0.998F;
  /// Below it reception has less than 40 dB over what 16 bits resolve.
  static constexpr double kTooLowDb = -60;
  /// More than this share of the samples must be clipped before it matters.
  static constexpr double kClippedShare = 1e-5;

  void process(std::span<const float> samples);
  /// Of what came since the last call.
  Reading take();

 private:
  Reading sums_;
  double sum_ = 0;
  double squares_ = 0;
};

/// 10 log10, and -200 for nothing.
double power_db(double power);
std::string_view to_string(LevelMeter::Verdict verdict);

}  // namespace s5066::modem
