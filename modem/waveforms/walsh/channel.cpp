// The functions that follow the paths of the channel.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "modem/waveforms/walsh/constants.h"
#include "modem/waveforms/walsh/demodulator.h"

namespace s5066::modem::walsh {
namespace {

using dsp::Complex;
using dsp::mul_conj;

constexpr std::array kDopplersHz = {0.3, 0.7, 1.5, 3.0, 6.0, 12.0, 25.0, 50.0};
constexpr double kCarrierGain = 0.3;
/// These are the shares of the measured movement in a block that correct the drift and the
/// position, and the share of a block's power in that of a tap. A long block has a movement of two
/// samples when clocks differ by 100 ppm, and the next one cannot wait for more. Without an
/// interleaver a block has so few sets that a single one says little.
struct ClockGains {
  double drift;
  double moved;
  float power;
};
constexpr ClockGains kLongBlockGains = {.drift = 0.8, .moved = 1.2, .power = 0.1F};
constexpr ClockGains kShortBlockGains = {.drift = 0.3, .moved = 0.5, .power = 0.1F};
constexpr ClockGains kFewSetsGains = {.drift = 0.03, .moved = 0.2, .power = 0.01F};
constexpr std::size_t kLongBlockFrames = 360;
constexpr std::size_t kFewSets = 20;
constexpr std::size_t kMovedMax = 4;  // half-symbol samples

}  // namespace

void WalshDemodulator::forget_means() {
  for (std::size_t n = 0; n < block_frames_; ++n) {
    for (std::size_t k = 0; k < taps_.size(); ++k) {
      mean_[n * taps_.size() + k] = 0;
      variance_[n * taps_.size() + k] = taps_[k].power;
    }
  }
}

// Returns how much better each pattern explains a frame than noise does.
std::array<float, kPatterns> WalshDemodulator::metrics(std::size_t frame, float scale) const {
  std::array<float, kPatterns> out{};
  const float per_noise = 1 / noise_;
  for (std::size_t k = 0; k < taps_.size(); ++k) {
    const Complex h = mean_[frame * taps_.size() + k];
    const float per_all = 1 / (noise_ + variance_[frame * taps_.size() + k]);
    for (std::size_t v = 0; v < kPatterns; ++v) {
      const Complex c = correlations(frame, v)[k];
      out[v] += std::norm(c) * per_noise - std::norm(c - h) * per_all;
    }
  }
  for (float& value : out) value *= scale;
  return out;
}

// Computes the log-likelihood ratios of the two bits of each frame, without the information of the
// code about the bit.
void WalshDemodulator::demap(bool with_code, float scale) {
  for (std::size_t n = 0; n < block_frames_; ++n) {
    auto weight = metrics(n, scale);
    const float first = with_code ? extrinsic_[2 * n] : 0;
    const float second = with_code ? extrinsic_[2 * n + 1] : 0;
    for (unsigned bits = 0; bits < kPatterns; ++bits) {
      weight[bits] += (bits & 2 ? -0.5F : 0.5F) * first + (bits & 1 ? -0.5F : 0.5F) * second;
    }
    const auto log_add = [](float a, float b) {
      return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
    };
    llr_[2 * n] = log_add(weight[0], weight[1]) - log_add(weight[2], weight[3]) - first;
    llr_[2 * n + 1] = log_add(weight[0], weight[2]) - log_add(weight[1], weight[3]) - second;
  }
}

WalshDemodulator::Belief WalshDemodulator::belief(std::size_t frame, bool with_code) const {
  Belief belief;
  auto& weight = belief.patterns;
  for (unsigned bits = 0; bits < kPatterns; ++bits) {
    const float first = llr_[2 * frame] + (with_code ? extrinsic_[2 * frame] : 0);
    const float second = llr_[2 * frame + 1] + (with_code ? extrinsic_[2 * frame + 1] : 0);
    weight[bits] = (bits & 2 ? -0.5F : 0.5F) * first + (bits & 1 ? -0.5F : 0.5F) * second;
  }
  const float all = log_sum(weight);
  for (float& value : weight) {
    value = std::exp(value - all);
    belief.sureness += value * value;
  }
  return belief;
}

// Measures the taps from the frames, as far as their patterns are known.
void WalshDemodulator::measure_taps(bool with_code) {
  for (std::size_t n = 0; n < block_frames_; ++n) {
    const auto [weight, sureness] = belief(n, with_code);
    for (std::size_t k = 0; k < taps_.size(); ++k) {
      Complex sum;
      for (std::size_t v = 0; v < kPatterns; ++v) sum += weight[v] * correlations(n, v)[k];
      measured_[n * taps_.size() + k] = {sum / sureness, sureness};
    }
  }
}

// Measures the noise by the patterns that were not sent.
float WalshDemodulator::measured_noise() const {
  double sum = 0;
  double count = 0;
  double power = 0;
  for (std::size_t n = 0; n < block_frames_; ++n) {
    for (std::size_t k = 0; k < taps_.size(); ++k) {
      const Measurement& m = measured_[n * taps_.size() + k];
      double all = 0;
      for (std::size_t v = 0; v < kPatterns; ++v) all += std::norm(correlations(n, v)[k]);
      // Three patterns are left when one is certain; an uncertain frame counts less.
      const double sure = static_cast<double>(m.sureness);
      sum += sure * (all - static_cast<double>(std::norm(m.value)));
      count += sure * (kPatterns - 1);
      power += static_cast<double>(std::norm(m.value));
    }
  }
  const double noise = sum / std::max(count, 1.0);
  const double least = static_cast<double>(kNoiseMinShare) * power /
                       static_cast<double>(block_frames_ * taps_.size());
  return static_cast<float>(std::max(noise, least)) + kTiny;
}

float WalshDemodulator::memory() const {
  return static_cast<float>(std::pow(0.9, kFrameSeconds * doppler_hz_ / 0.146));
}

// Chooses the spread with the highest likelihood of the measurements.
void WalshDemodulator::choose_doppler() {
  double best = -1e300;
  double chosen = doppler_hz_;
  for (const double candidate : kDopplersHz) {
    doppler_hz_ = candidate;
    const float a = memory();
    double likelihood = 0;
    for (std::size_t k = 0; k < taps_.size(); ++k) {
      const float power = taps_[k].power;
      Complex h = taps_[k].mean;
      float p = taps_[k].variance;
      for (std::size_t n = 0; n < block_frames_; ++n) {
        const Measurement& m = measured_[n * taps_.size() + k];
        h *= a;
        p = a * a * p + (1 - a * a) * power;
        const float spread = p + noise_ / m.sureness;
        const Complex error = m.value - h;
        likelihood -= static_cast<double>(std::log(spread) + std::norm(error) / spread);
        h += p / spread * error;
        p -= p * p / spread;
      }
    }
    if (likelihood <= best) continue;
    best = likelihood;
    chosen = candidate;
  }
  doppler_hz_ = chosen;
}

// Predicts each frame's taps from the frames before and behind it: by a filter forwards, one
// backwards, and both together with the long-term mean counted once.
void WalshDemodulator::predict_taps() {
  const float a = memory();
  mean_.resize(block_frames_ * taps_.size());
  variance_.resize(mean_.size());
  for (std::size_t k = 0; k < taps_.size(); ++k) {
    const float power = taps_[k].power;
    Complex h = taps_[k].mean;
    float p = taps_[k].variance;
    const auto step = [&](const Measurement& m) {
      const float gain = p / (p + noise_ / m.sureness);
      h += gain * (m.value - h);
      p -= gain * p;
    };
    for (std::size_t n = 0; n < block_frames_; ++n) {
      h *= a;
      p = a * a * p + (1 - a * a) * power;
      mean_[n * taps_.size() + k] = h;
      variance_[n * taps_.size() + k] = p;
      step(measured_[n * taps_.size() + k]);
    }
    h = 0;
    p = power;
    for (std::size_t n = block_frames_; n-- > 0;) {
      Complex& mean = mean_[n * taps_.size() + k];
      float& variance = variance_[n * taps_.size() + k];
      const float precision = std::max(1 / variance + 1 / p - 1 / power, 1 / power);
      mean = (mean / variance + h / p) / precision;
      variance = 1 / precision;
      step(measured_[n * taps_.size() + k]);
      h *= a;
      p = a * a * p + (1 - a * a) * power;
    }
  }
}

// The taps at the end of these frames are those at the beginning of the next ones.
void WalshDemodulator::advance_taps() {
  const float a = memory();
  for (std::size_t k = 0; k < taps_.size(); ++k) {
    Tap& tap = taps_[k];
    for (std::size_t n = 0; n < block_frames_; ++n) {
      const Measurement& m = measured_[n * taps_.size() + k];
      tap.mean *= a;
      tap.variance = a * a * tap.variance + (1 - a * a) * tap.power;
      const float gain = tap.variance / (tap.variance + noise_ / m.sureness);
      tap.mean += gain * (m.value - tap.mean);
      tap.variance -= gain * tap.variance;
    }
  }
}

// Corrects the offset by the turn between neighbouring frames.
void WalshDemodulator::follow_carrier() {
  Complex turn;
  for (std::size_t k = 0; k < taps_.size(); ++k) {
    for (std::size_t n = 1; n < block_frames_; ++n) {
      turn += mul_conj(measured_[(n - 1) * taps_.size() + k].value,
                       measured_[n * taps_.size() + k].value);
    }
  }
  carrier_turn_ = std::remainder(
      carrier_turn_ + offset_hz_ / kHalfSymbolRate * static_cast<double>(origin_ - carrier_at_),
      1.0);
  carrier_at_ = origin_;
  if (std::norm(turn) > 0) {
    offset_hz_ += kCarrierGain * std::arg(turn) / (2 * std::numbers::pi * kFrameSeconds);
  }
}

// Returns the mean power over the block without the share of noise.
float WalshDemodulator::heard_power(std::size_t tap) const {
  float sum = 0;
  for (std::size_t n = 0; n < block_frames_; ++n) {
    const Measurement& m = measured_[n * taps_.size() + tap];
    sum += std::norm(m.value) - noise_ / m.sureness;
  }
  return sum / static_cast<float>(block_frames_);
}

// When clocks differ, every path moves. The movement is the shift at which this block's amplitudes
// fit those of the taps best. Each path is weighted by its amplitude, so that fading has no
// influence.
void WalshDemodulator::follow_clock() {
  const ClockGains gains = block_frames_ >= kLongBlockFrames ? kLongBlockGains
                           : block_frames_ > kFewSets        ? kShortBlockGains
                                                             : kFewSetsGains;
  std::array<float, kDelays> heard{};
  std::array<float, kDelays + 2 * kMovedMax> expected{};
  for (std::size_t k = 0; k < taps_.size(); ++k) {
    Tap& tap = taps_[k];
    const float sum = std::max(heard_power(k), 0.0F);
    const auto at = static_cast<std::size_t>(tap.delay + kReach);
    heard[at] = std::sqrt(sum);
    expected[at + kMovedMax] = std::sqrt(tap.power);
    tap.power += gains.power * (std::max(sum, 0.05F * tap.power) - tap.power);
  }
  std::array<double, 2 * kMovedMax + 1> fit{};
  for (std::size_t s = 0; s < fit.size(); ++s) {
    for (std::size_t k = 0; k < kDelays; ++k) fit[s] += heard[k] * expected[k + s];
  }
  // fit[0] is large when the paths have moved by kMovedMax steps later.
  const auto top = static_cast<std::size_t>(std::max_element(fit.begin(), fit.end()) - fit.begin());
  double moved = static_cast<double>(kMovedMax) - static_cast<double>(top);
  if (top > 0 && top + 1 < fit.size()) {
    const double bend = fit[top - 1] - 2 * fit[top] + fit[top + 1];
    if (bend < 0) moved += std::clamp(0.5 * (fit[top + 1] - fit[top - 1]) / bend, -0.5, 0.5);
  }
  drift_ += gains.drift * moved / static_cast<double>(block_frames_);
  drifted_ += gains.moved * moved;
}

}  // namespace s5066::modem::walsh
