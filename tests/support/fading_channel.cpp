// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fading_channel.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "modem/channel/watterson.h"
#include "s5066d/base/assert.h"

namespace s5066::sim {
namespace {

constexpr Duration kStep = std::chrono::milliseconds(50);
constexpr double kWanderSeconds = 300;
/// A longer delay between the paths makes rates above 1200 bit/s fail because of the echo, whatever
/// the noise.
constexpr double kDelayMaxMs = 5;
constexpr double kPreambleSeconds = 0.3;

/// The bit error rate is 10^-5 at `needs_db` in white noise and ten times as high for each 1 /
/// kSlope dB less. Errors come in events of about eight bits.
struct Curve {
  std::uint32_t rate_bps;
  double needs_db;
  double averaging;  // b, as a multiple of the ratio needed
};
constexpr std::array kCurves = {
    Curve{75, -10, 0.9},   Curve{150, -6, 0.9},     Curve{300, -3, 0.9},   Curve{600, 0.2, 0.9},
    Curve{1200, 3.8, 0.9}, Curve{2400, 8.3, 0.6},   Curve{3200, 6, 0.5},   Curve{4800, 10.8, 0.5},
    Curve{6400, 13, 0.35}, Curve{8000, 15.6, 0.35}, Curve{9600, 18.2, 0.3}};
/// The modes of 110D with which adaptation may go on beside 110A and STANAG 4539.
constexpr std::array kCurves110d = {
    Curve{75, -9.3, 0.9},  Curve{150, -5.5, 0.9}, Curve{300, -4.3, 0.9}, Curve{600, -2.5, 0.9},
    Curve{1200, 0.8, 0.8}, Curve{1600, 2.5, 0.6}, Curve{2400, 3.4, 0.6}};
constexpr double kSlope = 1.3;  // decades of the bit error rate per dB

const Curve& curve_of(const modem::Mode& mode) {
  if (mode.waveform == modem::Waveform::ms110d) {
    const auto own = std::find_if(kCurves110d.begin(), kCurves110d.end(),
                                  [&](const Curve& c) { return c.rate_bps >= mode.rate_bps; });
    if (own != kCurves110d.end()) return *own;
  }
  const auto found = std::find_if(kCurves.begin(), kCurves.end(),
                                  [&](const Curve& c) { return c.rate_bps >= mode.rate_bps; });
  return found == kCurves.end() ? kCurves.back() : *found;
}

double db(double ratio) {
  return 10 * std::log10(ratio);
}
double ratio_of(double decibels) {
  return std::pow(10, decibels / 10);
}

}  // namespace

FadingChannel::FadingChannel(const std::vector<FadingPart>& parts, double wander_db, Rng rng) {
  constexpr double kRate = 20;  // samples per second
  static_assert(kStep * static_cast<int>(kRate) == std::chrono::seconds(1));
  double wander = wander_db * rng.gaussian();
  const double keep = std::exp(-1 / (kWanderSeconds * kRate));
  for (const FadingPart& part : parts) {
    modem::channel::FadingGain first(part.spread_hz, kRate, rng.fork());
    modem::channel::FadingGain second(part.spread_hz, kRate, rng.fork());
    for (auto n = part.lasting / kStep; n > 0; --n) {
      wander = keep * wander + std::sqrt(1 - keep * keep) * wander_db * rng.gaussian();
      const double power = (std::norm(first.next()) + std::norm(second.next())) / 2;
      samples_.push_back({static_cast<float>(power * ratio_of(part.snr_db + wander)),
                          part.delay_ms > kDelayMaxMs});
    }
  }
  S5066_ASSERT(!samples_.empty());
}

const FadingChannel::Sample& FadingChannel::at(Instant when) const {
  const auto index = static_cast<std::uint64_t>(when.time_since_epoch() / kStep);
  return samples_[index % samples_.size()];
}

double FadingChannel::snr_db(Instant from, Instant to) const {
  double sum = 0;
  int n = 0;
  for (Instant t = from; t < to || n == 0; t += kStep, ++n) sum += at(t).ratio;
  return db(sum / n);
}

// The thresholds are fitted to measurements: one preamble in six of STANAG 4539 was missed on a
// fading channel of 9 dB, and one in two of 110A with the short interleaver at -5 dB in white
// noise. 110D at 75 bit/s was heard at -9 dB.
bool FadingChannel::found(const modem::Mode& mode, Instant begin) const {
  const bool is_110a = mode.waveform == modem::Waveform::ms110a;
  const double seconds =
      is_110a && mode.interleaver == modem::Interleaver::long_ ? 4.8 : kPreambleSeconds;
  const bool is_110d = mode.waveform == modem::Waveform::ms110d;
  const double needed = is_110a ? (seconds > 1 ? -10 : -5) : is_110d ? -9 : 3;
  return snr_db(begin, begin + from_seconds(seconds)) >= needed + needs_more_db;
}

double FadingChannel::bit_errors(const modem::Mode& mode, Instant from, Instant to) const {
  const Curve& curve = curve_of(mode);
  const double b = curve.averaging * ratio_of(curve.needs_db);
  double sum = 0;
  int n = 0;
  bool wide = false;
  for (Instant t = from; t < to || n == 0; t += kStep, ++n) {
    sum += std::exp(-at(t).ratio / b);
    wide = wide || at(t).wide;
  }
  const double effective = db(-b * std::log(std::max(sum / n, 1e-300)));
  const double missing = curve.needs_db + needs_more_db - effective;
  const double errors = std::pow(10, std::clamp(-5 + kSlope * missing, -12.0, -0.3));
  return wide && mode.rate_bps > 1200 ? std::max(errors, 0.02) : errors;
}

}  // namespace s5066::sim
