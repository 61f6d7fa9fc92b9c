// SPDX-License-Identifier: Apache-2.0
#include "modem/dsp/downconverter.h"

#include <cmath>
#include <numbers>

#include "s5066d/base/assert.h"

namespace s5066::modem::dsp {
namespace {
constexpr double kSampleRate = 9600;
constexpr double kCarrierTurns = 3.0 / 16;  // cycles of the carrier in one sample
/// The cutoff is above the signal (1620 Hz and offset) and below the mirror image of its lower
/// edge.
constexpr double kCutoffHz = 1850;
}  // namespace

Downconverter::Downconverter() : line_(kTaps - 1, 0.0F) {
  line_.reserve(kTaps - 1 + kPortion);
  using std::numbers::pi;
  std::array<double, kTaps> taps{};
  double sum = 0;
  for (std::size_t k = 0; k < kTaps; ++k) {
    const double t = static_cast<double>(k) - kDelay;
    const double x = 2 * kCutoffHz / kSampleRate * t;
    const double sinc = t == 0 ? 1 : std::sin(pi * x) / (pi * x);
    const double window = 0.54 + 0.46 * std::cos(2 * pi * t / (kTaps - 1));
    taps[k] = sinc * window;
    sum += taps[k];
  }
  double energy = 0;
  for (std::size_t k = 0; k < kTaps; ++k) {
    taps[k] /= sum;
    energy += taps[k] * taps[k];
    // The newest sample meets tap 0, which is stored last.
    const double angle = 2 * pi * kCarrierTurns * static_cast<double>(k);
    real_taps_[kTaps - 1 - k] = static_cast<float>(2 * taps[k] * std::cos(angle));
    imag_taps_[kTaps - 1 - k] = static_cast<float>(2 * taps[k] * std::sin(angle));
  }
  noise_share_ = static_cast<float>(energy * kDecimation);
  for (std::size_t i = 0; i < kCarrierPeriod; ++i) {
    const double angle = -2 * pi * kCarrierTurns * static_cast<double>(i);
    turn_[i] = {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
  }
}

void Downconverter::restart() {
  line_.assign(kTaps - 1, 0.0F);
  phase_ = 0;
}

void Downconverter::process(std::span<const float> in, std::vector<Complex>& out) {
  S5066_ASSERT(in.size() % kDecimation == 0);
  line_.insert(line_.end(), in.begin(), in.end());
  for (std::size_t at = 0; at < in.size(); at += kDecimation) {
    const float* const x = line_.data() + at + 1;  // ends with the second of the two new samples
    float re = 0;
    float im = 0;
    for (std::size_t k = 0; k < kTaps; ++k) {
      re += real_taps_[k] * x[k];
      im += imag_taps_[k] * x[k];
    }
    phase_ = (phase_ + kDecimation) % kCarrierPeriod;
    out.push_back(mul({re, im}, turn_[(phase_ + kCarrierPeriod - 1) % kCarrierPeriod]));
  }
  line_.erase(line_.begin(), line_.end() - (kTaps - 1));
}

}  // namespace s5066::modem::dsp
