#include "modem/waveforms/walsh/demodulator.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "modem/api/airtime.h"
#include "modem/dsp/least_squares.h"
#include "modem/dsp/path_motion.h"
#include "modem/waveforms/framed/constellation.h"
#include "modem/waveforms/walsh/constants.h"
#include "s5066d/base/assert.h"

namespace s5066::modem::walsh {
namespace {

using dsp::Complex;
using dsp::mul;
using dsp::mul_conj;

constexpr std::int64_t kFrameSamples = 2 * kSetSymbols;
constexpr std::size_t kWindow = kFrameSamples + 2 * kReach;  // samples of a frame and all delays
constexpr std::size_t kTapsMax = 40;
/// At most this many sets at the end of the preamble are used, about as many as the history holds.
constexpr std::size_t kPreambleSetsMax = 256;
/// The clocks are compared over a preamble of at least this many sets, in this many parts of it.
constexpr unsigned kClockSetsMin = 150;
constexpr unsigned kClockParts = 16;
/// A preamble may be this many samples longer or shorter because the clocks differ.
constexpr std::int64_t kClockMargin = 10;
constexpr float kTapSignificant = 0.03F;  // relative to the strongest tap
constexpr float kTapNoiseFactor = 4;      // standard deviations of a tap's measured power

constexpr unsigned kPassesMax = 5;
/// Paths are searched this often in a block, each time with the last result of the decoder.
constexpr unsigned kSearches = 2;
/// Neighbouring taps at half-symbol steps receive the same path. This is the weight of each when
/// only its power is used. When its phase is used, the weight is the part of the band that noise
/// fills.
constexpr float kSquareScale = 0.5F;

/// The signal is lost when the evidence against it exceeds that for it by this much, in nats.
constexpr float kHeardMax = 30;
constexpr float kHeardStepUp = 0.5F;
constexpr float kHeardStepDown = 0.25F;

/// One set counts this much in the decision whether the signal goes on behind its possible end.
constexpr float kEvidenceUp = 3;
constexpr float kEvidenceDown = 1.5F;

/// A block may be noise alone when the mean evidence of a set against a signal is this large. For
/// noise it is 0.15 and more; for a signal through two paths that fade at 1 Hz, at -7 dB, it is
/// mostly at most 0.04.
constexpr float kSpeaksAgainst = -0.07F;
/// The surplus of noise is then at most kSurplusOfNoise. Each surplus above that gives
/// kQualityOfSurplus times as much quality.
constexpr float kSurplusOfNoise = 0.1F;
constexpr float kQualityOfSurplus = 5;

/// At least this share of the power without a pattern counts as noise.
constexpr double kNoiseOfHeardMin = 0.03;

constexpr std::int64_t kSameBurst = 64;

// Correlates with a set that begins at consecutive delays, from the first sample on.
void correlate(const Set& set, std::span<const Complex> samples, std::span<Complex> out) {
  const auto phases = framed::constellation_of_phases();
  for (std::size_t k = 0; k < out.size(); ++k) {
    Complex sum;
    for (std::size_t i = 0; i < set.size(); ++i) {
      sum += mul_conj(phases[set[i]], samples[k + 2 * i]);
    }
    out[k] = sum;
  }
}

}  // namespace

WalshDemodulator::WalshDemodulator(const PreambleReading& reading, InMemory<Signal> signal,
                                   float noise_share, BurstMemory& memory)
    : reading_(reading),
      signal_(std::move(signal)),
      noise_share_(noise_share),
      block_frames_(signal_->block_sets()),
      origin_(reading.data_start),
      offset_hz_(reading.offset_hz),
      carrier_at_(reading.data_start),
      first_path_start_(static_cast<double>(reading.data_start)),
      heard_(kHeardMax),
      last_heard_(reading.data_start),
      end_(reading.mode, {.frames_per_block = data_symbols(reading.mode, 1) / kSetSymbols,
                          .frames_at_once = block_frames_}),
      taps_(&memory),
      correlations_(&memory),
      measured_(&memory),
      mean_(&memory),
      variance_(&memory),
      llr_(2 * block_frames_, &memory),
      extrinsic_(llr_.size(), &memory),
      rotated_(kWindow, &memory),
      profile_(kDelays, &memory),
      sequence_(&memory),
      everywhere_(&memory) {
  const std::size_t sets = std::min<std::size_t>(signal_->preamble_sets(), kPreambleSetsMax);
  taps_.reserve(kDelays);
  correlations_.reserve(block_frames_ * kPatterns * kTapsMax);
  measured_.reserve(std::max(block_frames_, sets) * kTapsMax);
  mean_.reserve(measured_.capacity());
  variance_.reserve(measured_.capacity());
  sequence_.reserve(sets * kDelays);
  if (signal_->short_preamble()) everywhere_.resize(block_frames_ * kPatterns * kDelays);
}

bool WalshDemodulator::lost() const {
  return heard_ <= -kHeardMax;
}
bool WalshDemodulator::healthy() const {
  return heard_ > 0;
}
bool WalshDemodulator::covers(const PreambleReading& reading) const {
  return reading.mode.waveform == reading_.mode.waveform &&
         std::abs(reading.data_start - reading_.data_start) < kSameBurst;
}

std::optional<Demodulator::Output> WalshDemodulator::advance(const SampleHistory& history) {
  if (!learned_) {
    if (history.end() < reading_.data_start + kReach) return std::nullopt;
    learn_channel(history);
    learned_ = true;
  }
  if (signal_->message().more()) return more();
  while (!end_.over() && history.end() >= origin_ + kFrameSamples + kReach) {
    receive_frame(history);
    judge_frame();
    end_.look(signal_->message());
    if (++frame_ < block_frames_ || end_.over()) continue;
    frame_ = 0;
    auto output = end_block();
    if (!output.bytes.empty()) return output;
  }
  return std::nullopt;
}

void WalshDemodulator::rotate(std::span<const Complex> samples, std::int64_t first) {
  const double turns = offset_hz_ / kHalfSymbolRate;
  const double start =
      std::remainder(carrier_turn_ + turns * static_cast<double>(first - carrier_at_), 1.0);
  std::complex<double> turn = std::polar(1.0, -2 * std::numbers::pi * start);
  const std::complex<double> step = std::polar(1.0, -2 * std::numbers::pi * turns);
  S5066_ASSERT(samples.size() == rotated_.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    rotated_[i] = mul(samples[i], Complex(turn));
    turn = {turn.real() * step.real() - turn.imag() * step.imag(),
            turn.real() * step.imag() + turn.imag() * step.real()};
  }
}

// --- Learning ------------------------------------------------------------------------------------

void WalshDemodulator::learn_channel(const SampleHistory& history) {
  const auto sent = static_cast<std::int64_t>(signal_->preamble_sets());
  const std::int64_t held =
      (reading_.data_start - kReach - kClockMargin - history.begin()) / kFrameSamples;
  const auto count =
      static_cast<unsigned>(std::min({sent, held, static_cast<std::int64_t>(kPreambleSetsMax)}));
  S5066_ASSERT(count > 0);
  for (unsigned i = 0; i < 2; ++i) {
    delay_profile(history, count);
    if (i > 0) break;
    if (count >= kClockSetsMin) measure_clock(count);
    // The turn between neighbouring symbols gives the rest of the offset.
    Complex sum;
    for (unsigned n = 0; n + 1 < count; ++n) {
      for (std::size_t k = 0; k < kDelays; ++k) {
        const float weight = std::max(profile_[k], 0.0F);
        sum += weight * mul_conj(sequence_[n * kDelays + k], sequence_[(n + 1) * kDelays + k]);
      }
    }
    if (std::norm(sum) > 0) {
      offset_hz_ += std::arg(sum) / (2 * std::numbers::pi * kFrameSeconds);
    }
  }
  choose_taps(profile_, static_cast<float>(count));
  profile_sets_ = static_cast<float>(count);
  // The course of the taps through the preamble gives the Doppler spread and their present values.
  const std::size_t block = block_frames_;
  block_frames_ = count;
  measured_.assign(count * taps_.size(), {});
  for (unsigned n = 0; n < count; ++n) {
    for (std::size_t k = 0; k < taps_.size(); ++k) {
      const auto at = static_cast<std::size_t>(taps_[k].delay + kReach);
      measured_[n * taps_.size() + k].value = sequence_[n * kDelays + at];
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

// Measures the mean power at each delay above the noise, over known channel symbols. Their
// correlations are stored in sequence_.
void WalshDemodulator::delay_profile(const SampleHistory& history, unsigned count) {
  const unsigned before = signal_->preamble_sets() - count;
  profile_.assign(kDelays, 0.0F);
  sequence_.resize(count * kDelays);
  std::array<Complex, kDelays> wrong;
  double noise = 0;
  for (unsigned n = 0; n < count; ++n) {
    const double before_data = (kFrameSamples + drift_) * (count - n);
    const std::int64_t from = reading_.data_start - std::llround(before_data) - kReach;
    rotate(history.window(from, kWindow), from);
    const auto right = std::span(sequence_).subspan(n * kDelays, kDelays);
    correlate(signal_->preamble_set(before + n, false), rotated_, right);
    correlate(signal_->preamble_set(before + n, true), rotated_, wrong);
    for (std::size_t k = 0; k < kDelays; ++k) {
      profile_[k] += std::norm(right[k]) / static_cast<float>(count);
      noise += std::norm(wrong[k]);
    }
  }
  noise_ = static_cast<float>(noise / (count * kDelays)) + kTiny;
  for (float& power : profile_) power -= noise_;
}

// When the clocks of the two stations differ, every path moves through the preamble.
void WalshDemodulator::measure_clock(unsigned count) {
  const unsigned sets = count / kClockParts;
  std::array<float, kClockParts * kDelays> amplitudes{};
  for (std::size_t part = 0; part < kClockParts; ++part) {
    for (std::size_t k = 0; k < kDelays; ++k) {
      float power = 0;
      for (std::size_t n = part * sets; n < (part + 1) * sets; ++n) {
        power += std::norm(sequence_[n * kDelays + k]) - noise_;
      }
      amplitudes[part * kDelays + k] = std::sqrt(std::max(power, 0.0F));
    }
  }
  const double whole_max = dsp::PaceLoop::kDriftMax * static_cast<double>(kFrameSamples * count);
  drift_ = dsp::moved_by_row(amplitudes, kDelays, whole_max) / sets;
}

void WalshDemodulator::choose_taps(std::span<const float> profile, float count) {
  const float peak = *std::max_element(profile.begin(), profile.end());
  const float error = noise_ / std::sqrt(count);
  const float threshold = std::max(kTapSignificant * peak, kTapNoiseFactor * error);
  taps_.clear();
  for (std::size_t k = 0; k < kDelays; ++k) {
    // The power of a neighbour may move here when clocks drift.
    const float left = k > 0 ? profile[k - 1] : 0;
    const float right = k + 1 < kDelays ? profile[k + 1] : 0;
    const float power = std::max({profile[k], 0.1F * left, 0.1F * right});
    if (std::max({profile[k], left, right}) < std::min(threshold, peak)) continue;
    taps_.push_back({.delay = static_cast<int>(k) - kReach,
                     .power = std::max({power, 0.02F * peak, 0.0F}) + kTiny,
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
  rotate(history.window(from, kWindow), from);
  for (unsigned bits = 0; bits < kPatterns; ++bits) {
    const Set set = signal_->set(frames_, bits);
    Complex* const out = &correlations_[(frame_ * kPatterns + bits) * taps_.size()];
    for (std::size_t k = 0; k < taps_.size(); ++k) {
      correlate(set,
                std::span<const Complex>(rotated_).subspan(
                    static_cast<std::size_t>(taps_[k].delay + kReach)),
                std::span(out + k, 1));
    }
    if (!everywhere_.empty()) {
      correlate(set, rotated_,
                std::span(everywhere_).subspan((frame_ * kPatterns + bits) * kDelays, kDelays));
    }
  }
  origin_ += kFrameSamples;
  drifted_ += drift_;
  if (std::abs(drifted_) > 0.5) {
    const auto whole = static_cast<std::int64_t>(std::round(drifted_));
    origin_ += whole;
    drifted_ -= static_cast<double>(whole);
  }
  ++frames_;
}

// Decides whether a pattern explains this frame better than noise alone. The noise is measured in
// the frame itself, so that a change of level has no influence.
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
  end_.note_frame(std::clamp(evidence, -kEvidenceDown, kEvidenceUp));
  const float step = std::clamp(evidence, -kHeardStepDown, kHeardStepUp);
  heard_in_block_ += step;
  heard_ += step;
  heard_ = std::clamp(heard_, -kHeardMax, kHeardMax);
  if (evidence > 0) last_heard_ = origin_;
}

Demodulator::Output WalshDemodulator::end_block() {
  forget_means();
  demap(false, kSquareScale);
  const bool interleaved = signal_->interleaved();
  bool sure = interleaved && signal_->feed_back(llr_, extrinsic_);
  for (unsigned i = 0; i < kSearches && !everywhere_.empty(); ++i) {
    find_paths();
    forget_means();
    demap(false, kSquareScale);
    sure = signal_->feed_back(llr_, extrinsic_);
  }
  const unsigned passes = interleaved ? kPassesMax : 2;
  for (unsigned pass = 0; pass < passes; ++pass) {
    measure_taps(interleaved);
    noise_ = measured_noise();
    if (pass < 2) choose_doppler();
    predict_taps();
    demap(interleaved, noise_share_);
    if (sure) break;
    if (interleaved) sure = signal_->feed_back(llr_, extrinsic_);
  }
  advance_taps();
  if (!everywhere_.empty()) remember_paths();
  if (healthy() && interleaved) follow_carrier();
  if (healthy()) follow_clock();

  const auto block = signal_->take(llr_);
  end_.look(signal_->message());
  // The paths are followed by decisions, which fit the noise from which they were made. There are
  // no probes to check them.
  const float heard = std::exchange(heard_in_block_, 0.0F) / static_cast<float>(block_frames_);
  const float told = heard > kSpeaksAgainst
                         ? 1
                         : std::max(0.0F, kQualityOfSurplus * (block.surplus - kSurplusOfNoise));
  newest_ = {.soft_quality = soft_quality(std::min(quality(), told), block.error_share),
             .channel = channel()};
  return more();
}

Demodulator::Output WalshDemodulator::more() {
  const MessageBits::Portion portion = signal_->message().take();
  newest_.bytes = portion.bytes;
  newest_.first_bit = portion.first_bit;
  newest_.more = signal_->message().more();
  return newest_;
}

// Returns the share of signal in a set of symbols. Half of the power of the taps belongs to the
// other phase.
float WalshDemodulator::quality() const {
  double signal = 0;
  for (const Measurement& m : measured_) {
    signal += static_cast<double>(std::norm(m.value) - noise_ / m.sureness);
  }
  signal = std::max(0.5 * signal / static_cast<double>(block_frames_), 0.0);
  return static_cast<float>(signal / (signal + static_cast<double>(noise_)));
}

// Returns the channel by the taps of this block. The profile from the preamble has sidelobes of its
// sets, which all have the same scrambling; the sets of the data do not.
ChannelEstimate WalshDemodulator::channel() const {
  std::array<float, kDelays> profile{};
  double signal = 0;
  for (std::size_t k = 0; k < taps_.size(); ++k) {
    const float power = std::max(heard_power(k), 0.0F);
    profile[static_cast<std::size_t>(taps_[k].delay + kReach)] = power;
    signal += static_cast<double>(power);
  }
  // These are correlations of 32 symbols, and half of the steps contribute to a sample. The
  // patterns that were not sent also receive every path but their own, which is not noise.
  constexpr double kGain = 2.0 * kSetSymbols * kSetSymbols;
  const double heard = static_cast<double>(noise_) / kSetSymbols;
  const double others =
      signal / kGain - signal / (kSetSymbols * kSetSymbols * static_cast<double>(taps_.size()));
  const double noise = std::max(heard - std::max(others, 0.0), kNoiseOfHeardMin * heard) /
                       static_cast<double>(noise_share_) * 3000 / kHalfSymbolRate;
  return {.snr_db = static_cast<float>(10 * std::log10(signal / kGain / noise + 1e-9)),
          .offset_hz = static_cast<float>(offset_hz_),
          .multipath_ms = static_cast<float>(static_cast<double>(dsp::profile_spread(profile)) *
                                             1000 / kHalfSymbolRate),
          .doppler_hz = static_cast<float>(doppler_hz_)};
}

}  // namespace s5066::modem::walsh
