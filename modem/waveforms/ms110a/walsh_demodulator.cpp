#include "modem/waveforms/ms110a/walsh_demodulator.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "modem/dsp/least_squares.h"
#include "modem/waveforms/ms110a/symbols.h"
#include "s5066d/base/assert.h"

namespace s5066::modem::ms110a {
namespace {

using dsp::Complex;
using dsp::mul;
using dsp::mul_conj;

constexpr int kReach = 56;  // half-symbol samples: 11.7 ms either way
constexpr std::size_t kDelays = 2 * kReach + 1;
constexpr std::int64_t kFrameSamples = 2 * kTribitsPerChannelSymbol;
constexpr std::size_t kWindow = kFrameSamples + 2 * kReach;  // of a frame and all delays
constexpr double kFrameSeconds = static_cast<double>(kTribitsPerChannelSymbol) / kSymbolRate;
constexpr std::size_t kTapsMax = 40;
constexpr float kTapSignificant = 0.03F;  // of the strongest
constexpr float kTapNoiseFactor = 4;      // standard deviations of a tap's measured power
constexpr float kTiny = 1e-20F;
constexpr float kNoiseMinShare = 1e-5F;  // of the signal

/// Without an interleaver: frames received together.
constexpr std::size_t kFramesAtOnce = 15;
constexpr unsigned kPassesMax = 5;
constexpr float kSure = 6;
/// Neighbouring taps at half-symbol steps hear the same path. How much each counts when only its
/// power is used; when its phase is, the part of the band that noise fills tells.
constexpr float kSquareScale = 0.5F;
constexpr std::array kDopplersHz = {0.3, 0.7, 1.5, 3.0, 6.0, 12.0, 25.0, 50.0};

constexpr double kCarrierGain = 0.3;
/// What is done about a movement that is seen over a block: in the drift, and at once. A long block
/// sees two samples of it where clocks differ by 100 ppm, and the next one cannot wait for more.
struct ClockGains {
  double drift;
  double moved;
};
constexpr ClockGains kLongBlockGains = {0.8, 1.2};
constexpr ClockGains kShortBlockGains = {0.3, 0.5};
constexpr std::size_t kLongBlockFrames = 360;
constexpr std::size_t kMovedMax = 4;  // half-symbol samples
constexpr float kPowerGain = 0.1F;

/// The signal is lost when this much more speaks against it than for it, in nats.
constexpr float kHeardMax = 30;
constexpr float kHeardStepUp = 0.5F;
constexpr float kHeardStepDown = 0.25F;

constexpr std::int64_t kSameBurst = 64;

float log_sum(const std::array<float, 4>& x) {
  const float top = *std::max_element(x.begin(), x.end());
  float sum = 0;
  for (const float value : x) sum += std::exp(value - top);
  return top + std::log(sum);
}

// Correlations of one run of 32 symbols at consecutive delays.
void correlate(const std::array<std::uint8_t, 8>& pattern, std::span<const std::uint8_t> scrambler,
               std::size_t scrambler_at, std::span<const Complex> samples, std::span<Complex> out) {
  std::array<Complex, kTribitsPerChannelSymbol> chips;
  for (std::size_t i = 0; i < chips.size(); ++i) {
    chips[i] = point(static_cast<std::uint8_t>(pattern[i % pattern.size()] +
                                               scrambler[(scrambler_at + i) % scrambler.size()]));
  }
  for (std::size_t k = 0; k < out.size(); ++k) {
    Complex sum;
    for (std::size_t i = 0; i < chips.size(); ++i) sum += mul_conj(chips[i], samples[k + 2 * i]);
    out[k] = sum;
  }
}

std::vector<std::uint8_t> preamble_channel_symbols(const Parameters& p) {
  std::vector<std::uint8_t> out;
  for (unsigned count = p.segments; count-- > 0;) {
    out.insert(out.end(), kSegmentOpening.begin(), kSegmentOpening.end());
    const auto c = count_symbols(count);
    out.insert(out.end(), {p.d1, p.d2, c[0], c[1], c[2], 0});
  }
  return out;
}

}  // namespace

WalshDemodulator::WalshDemodulator(const PreambleReading& reading, float noise_share)
    : reading_(reading),
      p_(parameters(reading.mode)),
      noise_share_(noise_share),
      block_frames_(p_.interleaved ? p_.frames_per_block : kFramesAtOnce),
      origin_(reading.data_start),
      offset_hz_(reading.offset_hz),
      carrier_at_(reading.data_start),
      first_path_start_(static_cast<double>(reading.data_start)),
      heard_(kHeardMax),
      last_heard_(reading.data_start),
      decoder_(p_),
      llr_(2 * block_frames_),
      extrinsic_(llr_.size()) {}

bool WalshDemodulator::lost() const {
  return heard_ <= -kHeardMax;
}
bool WalshDemodulator::healthy() const {
  return heard_ > 0;
}
bool WalshDemodulator::covers(const PreambleReading& reading) const {
  return reading.mode.waveform == Waveform::ms110a &&
         std::abs(reading.data_start - reading_.data_start) < kSameBurst;
}

std::optional<Demodulator::Output> WalshDemodulator::advance(const SampleHistory& history) {
  if (!learned_) {
    if (history.end() < reading_.data_start + kReach) return std::nullopt;
    learn_channel(history);
    learned_ = true;
  }
  while (history.end() >= origin_ + kFrameSamples + kReach) {
    receive_frame(history);
    judge_frame();
    if (++frame_ < block_frames_) continue;
    frame_ = 0;
    auto output = end_block();
    if (!output.bytes.empty() || output.symbols_in_all) return output;
  }
  return std::nullopt;
}

void WalshDemodulator::rotate(std::span<const Complex> samples, std::int64_t first,
                              std::vector<Complex>& out) const {
  const double turns = offset_hz_ / kHalfSymbolRate;
  const double start =
      std::remainder(carrier_turn_ + turns * static_cast<double>(first - carrier_at_), 1.0);
  std::complex<double> turn = std::polar(1.0, -2 * std::numbers::pi * start);
  const std::complex<double> step = std::polar(1.0, -2 * std::numbers::pi * turns);
  out.resize(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    out[i] = mul(samples[i], Complex(turn));
    turn = {turn.real() * step.real() - turn.imag() * step.imag(),
            turn.real() * step.imag() + turn.imag() * step.real()};
  }
}

// --- Learning ------------------------------------------------------------------------------------

void WalshDemodulator::learn_channel(const SampleHistory& history) {
  const auto sent = static_cast<std::int64_t>(p_.segments * kChannelSymbolsPerSegment);
  const std::int64_t held = (reading_.data_start - kReach - history.begin()) / kFrameSamples;
  const auto count = static_cast<unsigned>(std::min(sent, held));
  S5066_ASSERT(count > 0);
  const std::int64_t first = reading_.data_start - kFrameSamples * count;
  std::vector<Complex> sequence;
  std::vector<float> profile;
  for (unsigned i = 0; i < 2; ++i) {
    profile = delay_profile(history, first, count, sequence);
    if (i > 0) break;
    // Neighbouring symbols tell the rest of the offset.
    Complex sum;
    for (unsigned n = 0; n + 1 < count; ++n) {
      for (std::size_t k = 0; k < kDelays; ++k) {
        const float weight = std::max(profile[k], 0.0F);
        sum += weight * mul_conj(sequence[n * kDelays + k], sequence[(n + 1) * kDelays + k]);
      }
    }
    if (std::norm(sum) > 0) {
      offset_hz_ += std::arg(sum) / (2 * std::numbers::pi * kFrameSeconds);
    }
  }
  choose_taps(profile, count);
  // The taps' way through the preamble gives the Doppler spread and where they are now.
  const std::size_t block = block_frames_;
  block_frames_ = count;
  measured_.assign(count * taps_.size(), {});
  for (unsigned n = 0; n < count; ++n) {
    for (std::size_t k = 0; k < taps_.size(); ++k) {
      const auto at = static_cast<std::size_t>(taps_[k].delay + kReach);
      measured_[n * taps_.size() + k].value = sequence[n * kDelays + at];
    }
  }
  choose_doppler();
  advance_taps();
  block_frames_ = block;
  correlations_.resize(block_frames_ * kPatterns * taps_.size());
  measured_.resize(block_frames_ * taps_.size());
  mean_.resize(measured_.size());
  variance_.resize(measured_.size());
}

// Mean power at each delay beyond the noise, over channel symbols that are known; their
// correlations go to `sequence`.
std::vector<float> WalshDemodulator::delay_profile(const SampleHistory& history, std::int64_t first,
                                                   unsigned count, std::vector<Complex>& sequence) {
  const auto known = preamble_channel_symbols(p_);
  std::vector<float> profile(kDelays, 0.0F);
  sequence.resize(count * kDelays);
  std::array<Complex, kDelays> wrong;
  double noise = 0;
  for (unsigned n = 0; n < count; ++n) {
    const std::int64_t from = first + kFrameSamples * n - kReach;
    rotate(history.window(from, kWindow), from, rotated_);
    const std::uint8_t symbol = known[known.size() - count + n];
    const auto right = std::span(sequence).subspan(n * kDelays, kDelays);
    correlate(kChannelSymbolPattern[symbol], kSyncScrambler, 0, rotated_, right);
    correlate(kChannelSymbolPattern[symbol ^ 1U], kSyncScrambler, 0, rotated_, wrong);
    for (std::size_t k = 0; k < kDelays; ++k) {
      profile[k] += std::norm(right[k]) / static_cast<float>(count);
      noise += std::norm(wrong[k]);
    }
  }
  noise_ = static_cast<float>(noise / (count * kDelays)) + kTiny;
  for (float& power : profile) power -= noise_;
  return profile;
}

void WalshDemodulator::choose_taps(const std::vector<float>& profile, unsigned count) {
  const float peak = *std::max_element(profile.begin(), profile.end());
  const float error = noise_ / std::sqrt(static_cast<float>(count));
  const float threshold = std::max(kTapSignificant * peak, kTapNoiseFactor * error);
  taps_.clear();
  for (std::size_t k = 0; k < kDelays; ++k) {
    // A neighbour may grow as clocks drift.
    const float left = k > 0 ? profile[k - 1] : 0;
    const float right = k + 1 < kDelays ? profile[k + 1] : 0;
    const float power = std::max({profile[k], 0.1F * left, 0.1F * right});
    if (std::max({profile[k], left, right}) < std::min(threshold, peak)) continue;
    taps_.push_back({.delay = static_cast<int>(k) - kReach,
                     .power = std::max(power, 0.02F * peak) + kTiny,
                     .mean = {},
                     .variance = 0});
  }
  if (taps_.size() > kTapsMax) {
    std::nth_element(taps_.begin(), taps_.begin() + kTapsMax, taps_.end(),
                     [](const Tap& a, const Tap& b) { return a.power > b.power; });
    taps_.resize(kTapsMax);
    std::sort(taps_.begin(), taps_.end(),
              [](const Tap& a, const Tap& b) { return a.delay < b.delay; });
  }
  first_path_start_ = static_cast<double>(reading_.data_start) +
                      static_cast<double>(dsp::first_path(profile)) - kReach;
  for (Tap& tap : taps_) tap.variance = tap.power;
}

// --- Frames --------------------------------------------------------------------------------------

void WalshDemodulator::receive_frame(const SampleHistory& history) {
  const std::int64_t from = origin_ - kReach;
  rotate(history.window(from, kWindow), from, rotated_);
  const std::size_t scrambler_at = std::size_t{frame_in_cycle_} * kTribitsPerChannelSymbol;
  for (unsigned bits = 0; bits < kPatterns; ++bits) {
    const auto& pattern = walsh_pattern(p_, frame_in_cycle_, bits);
    Complex* const out = &correlations_[(frame_ * kPatterns + bits) * taps_.size()];
    for (std::size_t k = 0; k < taps_.size(); ++k) {
      correlate(pattern, data_scrambler(), scrambler_at,
                std::span<const Complex>(rotated_).subspan(
                    static_cast<std::size_t>(taps_[k].delay + kReach)),
                std::span(out + k, 1));
    }
  }
  origin_ += kFrameSamples;
  drifted_ += drift_;
  if (std::abs(drifted_) > 0.5) {
    const auto whole = static_cast<std::int64_t>(std::round(drifted_));
    origin_ += whole;
    drifted_ -= static_cast<double>(whole);
  }
  frame_in_cycle_ = (frame_in_cycle_ + 1) % p_.frames_per_cycle;
}

// Does a pattern explain this frame better than noise alone? Noise is measured in the frame itself,
// so that a change of level makes no difference.
void WalshDemodulator::judge_frame() {
  std::array<float, kPatterns> energy{};
  for (std::size_t v = 0; v < kPatterns; ++v) {
    for (std::size_t k = 0; k < taps_.size(); ++k)
      energy[v] += std::norm(correlations(frame_, v)[k]);
  }
  const float strongest = *std::max_element(energy.begin(), energy.end());
  float noise = -strongest;
  for (const float value : energy) noise += value;
  noise = noise / static_cast<float>((kPatterns - 1) * taps_.size()) + kTiny;
  noise = std::max(noise, kNoiseMinShare * taps_.front().power);
  std::array<float, kPatterns> weight{};
  for (std::size_t v = 0; v < kPatterns; ++v) {
    for (std::size_t k = 0; k < taps_.size(); ++k) {
      const float ratio = taps_[k].power / (noise_ + kTiny);
      weight[v] +=
          kSquareScale *
          (std::norm(correlations(frame_, v)[k]) / noise * ratio / (1 + ratio) - std::log1p(ratio));
    }
  }
  const float evidence = log_sum(weight) - std::log(static_cast<float>(kPatterns));
  heard_ += std::clamp(evidence, -kHeardStepDown, kHeardStepUp);
  heard_ = std::clamp(heard_, -kHeardMax, kHeardMax);
  if (evidence > 0) last_heard_ = origin_;
}

Demodulator::Output WalshDemodulator::end_block() {
  forget_means();
  demap(false, kSquareScale);
  float sure = p_.interleaved ? decoder_.feed_back(llr_, extrinsic_) : 0;
  const unsigned passes = p_.interleaved ? kPassesMax : 2;
  for (unsigned pass = 0; pass < passes; ++pass) {
    measure_taps(p_.interleaved);
    noise_ = measured_noise();
    if (pass < 2) choose_doppler();
    predict_taps();
    if (sure >= kSure) break;
    demap(p_.interleaved, noise_share_);
    if (p_.interleaved) sure = decoder_.feed_back(llr_, extrinsic_);
  }
  advance_taps();
  if (healthy() && sure > 0) {
    follow_carrier();
    follow_clock();
  }

  auto block = decoder_.take(llr_);
  Output output{.bytes = std::move(block.bytes),
                .first_bit = block.first_bit,
                .symbols_in_all = {},
                .soft_quality = quality(),
                .channel = channel()};
  if (block.blocks_in_all) output.symbols_in_all = *block.blocks_in_all * p_.block_symbols();
  return output;
}

// Share of signal in a set of symbols: of what the taps heard, half is of the other phase.
float WalshDemodulator::quality() const {
  double signal = 0;
  for (const Measurement& m : measured_) {
    signal += static_cast<double>(std::norm(m.value) - noise_ / m.sureness);
  }
  signal = std::max(0.5 * signal / static_cast<double>(block_frames_), 0.0);
  return static_cast<float>(signal / (signal + static_cast<double>(noise_)));
}

ChannelEstimate WalshDemodulator::channel() const {
  std::vector<float> profile(kDelays);
  double signal = 0;
  for (const Tap& tap : taps_) {
    profile[static_cast<std::size_t>(tap.delay + kReach)] = tap.power;
    signal += static_cast<double>(tap.power);
  }
  // Correlations of 32 symbols; half of the steps play a part in a sample.
  constexpr double kGain = 2.0 * kTribitsPerChannelSymbol * kTribitsPerChannelSymbol;
  const double noise = static_cast<double>(noise_) / kTribitsPerChannelSymbol /
                       static_cast<double>(noise_share_) * 3000 / kHalfSymbolRate;
  return {.snr_db = static_cast<float>(10 * std::log10(signal / kGain / noise)),
          .offset_hz = static_cast<float>(offset_hz_),
          .multipath_ms = static_cast<float>(static_cast<double>(dsp::profile_spread(profile)) *
                                             1000 / kHalfSymbolRate),
          .doppler_hz = static_cast<float>(doppler_hz_)};
}

// --- Taps ----------------------------------------------------------------------------------------

void WalshDemodulator::forget_means() {
  for (std::size_t n = 0; n < block_frames_; ++n) {
    for (std::size_t k = 0; k < taps_.size(); ++k) {
      mean_[n * taps_.size() + k] = 0;
      variance_[n * taps_.size() + k] = taps_[k].power;
    }
  }
}

// How much better each pattern explains a frame than noise does.
std::array<float, WalshDemodulator::kPatterns> WalshDemodulator::metrics(std::size_t frame,
                                                                         float scale) const {
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

// Log-likelihood ratios of the two bits of each frame, without what the code says about the bit.
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

// What the frames say about the taps, as far as their patterns are known.
void WalshDemodulator::measure_taps(bool with_code) {
  for (std::size_t n = 0; n < block_frames_; ++n) {
    std::array<float, kPatterns> weight{};
    for (unsigned bits = 0; bits < kPatterns; ++bits) {
      const float first = llr_[2 * n] + (with_code ? extrinsic_[2 * n] : 0);
      const float second = llr_[2 * n + 1] + (with_code ? extrinsic_[2 * n + 1] : 0);
      weight[bits] = (bits & 2 ? -0.5F : 0.5F) * first + (bits & 1 ? -0.5F : 0.5F) * second;
    }
    const float all = log_sum(weight);
    float sureness = 0;
    for (float& value : weight) {
      value = std::exp(value - all);
      sureness += value * value;
    }
    for (std::size_t k = 0; k < taps_.size(); ++k) {
      Complex sum;
      for (std::size_t v = 0; v < kPatterns; ++v) sum += weight[v] * correlations(n, v)[k];
      measured_[n * taps_.size() + k] = {sum / sureness, sureness};
    }
  }
}

// The patterns that were not sent show the noise.
float WalshDemodulator::measured_noise() const {
  double sum = 0;
  double count = 0;
  double power = 0;
  for (std::size_t n = 0; n < block_frames_; ++n) {
    for (std::size_t k = 0; k < taps_.size(); ++k) {
      const Measurement& m = measured_[n * taps_.size() + k];
      double all = 0;
      for (std::size_t v = 0; v < kPatterns; ++v) all += std::norm(correlations(n, v)[k]);
      // With a sure pattern three are left; an unsure frame counts less.
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

// The spread that makes the measurements most likely.
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

// Each frame's taps as the frames before and behind it foretell them: a filter forward, one
// backward, and both together without what the long-term mean said twice.
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

// The taps at the end of these frames begin the next ones.
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

// What neighbouring frames say about the rest of the offset.
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

// When clocks differ, every path moves. How far is seen from where this block's powers fit best
// over those of the taps, each path by its amplitude, so that fading plays no part.
void WalshDemodulator::follow_clock() {
  std::array<float, kDelays> heard{};
  std::array<float, kDelays + 2 * kMovedMax> expected{};
  for (std::size_t k = 0; k < taps_.size(); ++k) {
    Tap& tap = taps_[k];
    float sum = 0;
    for (std::size_t n = 0; n < block_frames_; ++n) {
      const Measurement& m = measured_[n * taps_.size() + k];
      sum += std::norm(m.value) - noise_ / m.sureness;
    }
    sum = std::max(sum / static_cast<float>(block_frames_), 0.0F);
    const auto at = static_cast<std::size_t>(tap.delay + kReach);
    heard[at] = std::sqrt(sum);
    expected[at + kMovedMax] = std::sqrt(tap.power);
    tap.power += kPowerGain * (std::max(sum, 0.05F * tap.power) - tap.power);
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
  const ClockGains gains = block_frames_ >= kLongBlockFrames ? kLongBlockGains : kShortBlockGains;
  drift_ += gains.drift * moved / static_cast<double>(block_frames_);
  drifted_ += gains.moved * moved;
}

}  // namespace s5066::modem::ms110a
