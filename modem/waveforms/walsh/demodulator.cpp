// SPDX-License-Identifier: Apache-2.0
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
/// At most this many sets at the end of the preamble are used, about as many as the history holds.
constexpr std::size_t kPreambleSetsMax = 256;
/// The clocks are compared over a preamble of at least this many sets, in this many parts of it.
constexpr unsigned kClockSetsMin = 150;
constexpr unsigned kClockParts = 16;
/// A preamble may be this many samples longer or shorter because the clocks differ.
constexpr std::int64_t kClockMargin = 10;

constexpr unsigned kPassesMax = 5;
/// Paths are searched this often in a block, each time with the last result of the decoder.
constexpr unsigned kSearches = 2;
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

constexpr std::int64_t kSameBurst = 64;

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

std::size_t preamble_sets_used(const Signal& signal) {
  return std::min<std::size_t>(signal.preamble_sets(), kPreambleSetsMax);
}

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
      origin_(reading.data_start),
      offset_hz_(reading.offset_hz),
      carrier_at_(reading.data_start),
      first_path_start_(static_cast<double>(reading.data_start)),
      heard_(kHeardMax),
      last_heard_(reading.data_start),
      end_(reading.mode, {.frames_per_block = data_symbols(reading.mode, 1) / kSetSymbols,
                          .frames_at_once = signal_->block_sets()}),
      taps_(signal_->block_sets(), preamble_sets_used(*signal_), memory),
      rotated_(kWindow, &memory),
      profile_(kDelays, &memory),
      sequence_(&memory) {
  sequence_.reserve(preamble_sets_used(*signal_) * kDelays);
  if (signal_->short_preamble()) search_.emplace(taps_.frames(), memory);
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
    if (++frame_ < taps_.frames() || end_.over()) continue;
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
  taps_.choose(profile_, static_cast<float>(count));
  first_path_start_ = static_cast<double>(reading_.data_start) +
                      static_cast<double>(dsp::first_path(profile_)) - kReach;
  taps_.learn(sequence_, count);
  if (search_) search_->begin(profile_, static_cast<float>(count));
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
  taps_.set_noise(static_cast<float>(noise / (count * kDelays)) + kTiny);
  for (float& power : profile_) power -= taps_.noise();
}

// When the clocks of the two stations differ, every path moves through the preamble.
void WalshDemodulator::measure_clock(unsigned count) {
  const unsigned sets = count / kClockParts;
  std::array<float, kClockParts * kDelays> amplitudes{};
  for (std::size_t part = 0; part < kClockParts; ++part) {
    for (std::size_t k = 0; k < kDelays; ++k) {
      float power = 0;
      for (std::size_t n = part * sets; n < (part + 1) * sets; ++n) {
        power += std::norm(sequence_[n * kDelays + k]) - taps_.noise();
      }
      amplitudes[part * kDelays + k] = std::sqrt(std::max(power, 0.0F));
    }
  }
  const double whole_max = dsp::PaceLoop::kDriftMax * static_cast<double>(kFrameSamples * count);
  drift_ = dsp::moved_by_row(amplitudes, kDelays, whole_max) / sets;
}

// --- Frames --------------------------------------------------------------------------------------

void WalshDemodulator::receive_frame(const SampleHistory& history) {
  const std::int64_t from = origin_ - kReach;
  rotate(history.window(from, kWindow), from);
  for (unsigned bits = 0; bits < kPatterns; ++bits) {
    const Set set = signal_->set(frames_, bits);
    for (std::size_t k = 0; k < taps_.size(); ++k) {
      Complex value;
      correlate(set, std::span<const Complex>(rotated_).subspan(taps_.place(k)),
                std::span(&value, 1));
      taps_.set_correlation(frame_, bits, k, value);
    }
    if (search_) correlate(set, rotated_, search_->correlations(frame_, bits));
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

// Decides whether a pattern explains this frame better than noise alone.
void WalshDemodulator::judge_frame() {
  const float evidence = taps_.evidence(frame_);
  end_.note_frame(std::clamp(evidence, -kEvidenceDown, kEvidenceUp));
  const float step = std::clamp(evidence, -kHeardStepDown, kHeardStepUp);
  heard_in_block_ += step;
  heard_ += step;
  heard_ = std::clamp(heard_, -kHeardMax, kHeardMax);
  if (evidence > 0) last_heard_ = origin_;
}

Demodulator::Output WalshDemodulator::end_block() {
  taps_.forget_means();
  taps_.demap(false, Taps::kSquareScale);
  const bool interleaved = signal_->interleaved();
  bool sure = interleaved && signal_->feed_back(taps_.llr(), taps_.extrinsic());
  for (unsigned i = 0; i < kSearches && search_; ++i) {
    search_->find(taps_);
    taps_.forget_means();
    taps_.demap(false, Taps::kSquareScale);
    sure = signal_->feed_back(taps_.llr(), taps_.extrinsic());
  }
  const unsigned passes = interleaved ? kPassesMax : 2;
  for (unsigned pass = 0; pass < passes; ++pass) {
    taps_.measure(interleaved);
    taps_.measure_noise();
    if (pass < 2) taps_.choose_doppler();
    taps_.predict();
    taps_.demap(interleaved, noise_share_);
    if (sure) break;
    if (interleaved) sure = signal_->feed_back(taps_.llr(), taps_.extrinsic());
  }
  taps_.advance();
  if (search_) search_->remember(taps_);
  if (healthy() && interleaved) follow_carrier();
  if (healthy()) follow_clock();

  const auto block = signal_->take(taps_.llr());
  end_.look(signal_->message());
  // The paths are followed by decisions, which fit the noise from which they were made. There are
  // no probes to check them.
  const float heard = std::exchange(heard_in_block_, 0.0F) / static_cast<float>(taps_.frames());
  const float told = heard > kSpeaksAgainst
                         ? 1
                         : std::max(0.0F, kQualityOfSurplus * (block.surplus - kSurplusOfNoise));
  newest_ = {.soft_quality = soft_quality(std::min(taps_.signal_share(), told), block.error_share),
             .channel = taps_.estimate(offset_hz_, noise_share_)};
  return more();
}

Demodulator::Output WalshDemodulator::more() {
  const MessageBits::Portion portion = signal_->message().take();
  newest_.bytes = portion.bytes;
  newest_.first_bit = portion.first_bit;
  newest_.more = signal_->message().more();
  return newest_;
}

// Corrects the offset by the turn between neighbouring frames.
void WalshDemodulator::follow_carrier() {
  const Complex turn = taps_.turn();
  carrier_turn_ = std::remainder(
      carrier_turn_ + offset_hz_ / kHalfSymbolRate * static_cast<double>(origin_ - carrier_at_),
      1.0);
  carrier_at_ = origin_;
  if (std::norm(turn) > 0) {
    offset_hz_ += kCarrierGain * std::arg(turn) / (2 * std::numbers::pi * kFrameSeconds);
  }
}

void WalshDemodulator::follow_clock() {
  const ClockGains gains = taps_.frames() >= kLongBlockFrames ? kLongBlockGains
                           : taps_.frames() > kFewSets        ? kShortBlockGains
                                                              : kFewSetsGains;
  const double moved = taps_.follow_movement(gains.power);
  drift_ += gains.drift * moved / static_cast<double>(taps_.frames());
  drifted_ += gains.moved * moved;
}

}  // namespace s5066::modem::walsh
