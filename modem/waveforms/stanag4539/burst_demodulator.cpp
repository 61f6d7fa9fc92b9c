#include "modem/waveforms/stanag4539/burst_demodulator.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "modem/api/airtime.h"
#include "modem/dsp/least_squares.h"
#include "modem/dsp/turn_back.h"
#include "modem/waveforms/stanag4539/listener.h"

namespace s5066::modem::stanag4539 {
namespace {

using dsp::Complex;
using dsp::kPhases;
using dsp::mul;

// Learning the channel from the preamble.
constexpr float kTapSignificant = 0.01F;  // of the strongest
constexpr float kTapNoiseFactor = 8;
constexpr float kFirstPathShare = 0.25F;
constexpr int kPulseMargin = 4;  // symbols around the significant taps
constexpr int kTapsMin = 20;     // room for a path that was in a fade
constexpr int kTapsMax = 32;
static_assert(kTapsMax <= kFrameProbe + 1);  // frames do not reach into each other's data
/// Of the whole energy, spread over all taps: a path may come out of a fade at any time, and what
/// is not expected would be taken for noise.
constexpr float kProfileFloor = 0.3F;
constexpr std::size_t kTrainingStep = 41;
constexpr double kTrainingDopplerHz = 1;
constexpr float kTiny = 1e-20F;

// Following it.
constexpr double kFrameSeconds = static_cast<double>(kFrameSymbols) / kSymbolRate;
constexpr double kTurnSeconds = kFrameSeconds * 6 / 7;  // between a frame's first and last step
constexpr double kCarrierGain = 0.1;
constexpr double kClockStep = 0.75;  // symbols that the response may wander in its window

/// Preambles whose data begin this close together, in half-symbol samples, are of one burst.
constexpr std::int64_t kSameBurst = 64;

// Judging the probes.
constexpr double kHeardSeconds = 1;
constexpr double kHeardNowSeconds = 0.1;
constexpr float kLostBelow = 0.12F;
constexpr float kHealthyAbove = 0.3F;

float gain_for(double seconds) {
  return static_cast<float>(1 - std::exp(-kFrameSeconds / seconds));
}

}  // namespace

BurstDemodulator::BurstDemodulator(const PreambleReading& reading, float noise_share)
    : reading_(reading),
      p_(parameters(reading.mode)),
      offset_hz_(reading.offset_hz),
      first_path_start_(static_cast<double>(reading.data_start)),
      last_heard_(reading.data_start),
      block_(p_, {.passes_max = 6, .noise_share = noise_share}) {}

bool BurstDemodulator::lost() const {
  return heard_ < kLostBelow;
}
bool BurstDemodulator::healthy() const {
  return heard_now_ > kHealthyAbove;
}
bool BurstDemodulator::covers(const PreambleReading& reading) const {
  return reading.mode.waveform == Waveform::stanag4539 &&
         std::abs(reading.data_start - reading_.data_start) < kSameBurst;
}

std::optional<Demodulator::Output> BurstDemodulator::advance(const SampleHistory& history) {
  if (!learned_) {
    if (history.end() < reading_.data_start + 2 * static_cast<std::int64_t>(kWindowTaps)) {
      return std::nullopt;
    }
    learn_channel(history);
    learned_ = true;
  }
  while (true) {
    const std::size_t symbols = kFrameSymbols + (inserted_next_ ? kInsertedSymbols : 0);
    if (history.end() < origin_ + static_cast<std::int64_t>(kPhases * symbols)) return std::nullopt;
    receive_frame(history);
    if (block_.complete()) return finish_block();
  }
}

// --- Learning ------------------------------------------------------------------------------------

void BurstDemodulator::learn_channel(const SampleHistory& history) {
  std::vector<Complex> known;
  for (const std::uint8_t number : preamble(p_)) known.push_back(phase(number));
  const std::int64_t from =
      reading_.data_start - static_cast<std::int64_t>(kPhases * (kPreambleSymbols + kWindowBefore));
  dsp::turn_back(history.window(from, kPhases * kPreambleSymbols), from,
                 offset_hz_ / kHalfSymbolRate, samples_);
  const auto response = dsp::estimate_response(known, samples_, kWindowTaps);
  std::vector<float> profile;
  for (const Complex& tap : response.taps) profile.push_back(std::norm(tap));
  const float noise = std::max(response.noise_power, kTiny);
  block_.set_channel(
      choose_window(profile, noise / static_cast<float>(kPreambleSymbols - kWindowTaps + 1)),
      noise);
  train(history);
  centroid_home_ = centroid();
}

// From the first to the last significant tap and a margin for the pulse; at least wide enough for
// an echo that was in a fade during the preamble.
std::vector<float> BurstDemodulator::choose_window(std::span<const float> profile,
                                                   float noise_per_tap) {
  const float peak = *std::max_element(profile.begin(), profile.end());
  const float threshold =
      std::min(peak, std::max(kTapSignificant * peak, kTapNoiseFactor * noise_per_tap));
  std::size_t first = 0;
  while (profile[first] < threshold) ++first;
  std::size_t last = profile.size() - 1;
  while (profile[last] < threshold) --last;

  const int span = static_cast<int>(last / 2) - static_cast<int>(first / 2) + 1 + 2 * kPulseMargin;
  const int taps = std::clamp(span, kTapsMin, kTapsMax);
  const int begin = static_cast<int>(first / 2) - kPulseMargin - (taps - span) / 2;
  origin_ = reading_.data_start + 2 * (begin - kWindowBefore);

  float total = 0;
  for (const float power : profile) total += power;
  std::vector<float> prior;
  for (int tap = 0; tap < taps; ++tap) {
    float power = kProfileFloor * total / static_cast<float>(taps) + kTiny;
    // Neighbours count, since the response moves as clocks drift.
    for (int near = tap - 1; near <= tap + 1; ++near) {
      const int at = 2 * (begin + near);
      if (at < 0 || at + 1 >= static_cast<int>(profile.size())) continue;
      const auto k = static_cast<std::size_t>(at);
      const float here = 0.5F * (profile[k] + profile[k + 1]);
      power = std::max(power, near == tap ? here : 0.25F * here);
    }
    prior.push_back(power);
  }
  // The first path: the first peak that stands out, between its neighbours by a parabola.
  std::size_t k = 0;
  while (k + 1 < profile.size() &&
         (profile[k] < kFirstPathShare * peak || profile[k] < profile[k + 1])) {
    ++k;
  }
  double fraction = 0;
  if (k > 0 && k + 1 < profile.size()) {
    const double a = std::sqrt(profile[k - 1]);
    const double b = std::sqrt(profile[k]);
    const double c = std::sqrt(profile[k + 1]);
    const double bend = a - 2 * b + c;
    if (bend < 0) fraction = std::clamp(0.5 * (a - c) / bend, -0.5, 0.5);
  }
  first_path_start_ = static_cast<double>(reading_.data_start) - 2.0 * kWindowBefore +
                      static_cast<double>(k) + fraction;
  return prior;
}

// Runs the tracker over the preamble.
void BurstDemodulator::train(const SampleHistory& history) {
  dsp::ChannelTracker& tracker = block_.tracker();
  const std::size_t taps = tracker.taps();
  std::vector<Complex> newest_first(taps);  // before the preamble there was nothing
  for (const std::uint8_t number : preamble(p_)) {
    newest_first.insert(newest_first.begin(), phase(number));
  }
  const std::vector<float> certain(taps, 0.0F);
  const std::int64_t from = origin_ - static_cast<std::int64_t>(kPhases * kPreambleSymbols);
  dsp::turn_back(history.window(from, kPhases * kPreambleSymbols), from,
                 offset_hz_ / kHalfSymbolRate, samples_);
  const auto memory = static_cast<float>(
      std::pow(0.9, static_cast<double>(kTrainingStep) / kSymbolRate * kTrainingDopplerHz / 0.146));
  for (std::size_t n = 0; n < kPreambleSymbols; ++n) {
    if (n % kTrainingStep == 0) tracker.predict(memory);
    tracker.update(std::span<const Complex>(newest_first).subspan(kPreambleSymbols - 1 - n, taps),
                   certain, block_.noise(),
                   std::span<const Complex, kPhases>(&samples_[kPhases * n], kPhases));
  }
  carrier_at_ = origin_;
  carrier_turn_ = std::remainder(offset_hz_ / kHalfSymbolRate * static_cast<double>(origin_), 1.0);
}

// --- Frames --------------------------------------------------------------------------------------

// The next samples, the carrier's offset removed.
void BurstDemodulator::load(const SampleHistory& history, std::size_t symbols) {
  const double turns = offset_hz_ / kHalfSymbolRate;
  carrier_turn_ += turns * static_cast<double>(origin_ - carrier_at_);
  carrier_turn_ = std::remainder(carrier_turn_, 1.0);
  const auto received = history.window(origin_, kPhases * symbols);
  samples_.resize(received.size());
  for (std::size_t i = 0; i < received.size(); ++i) {
    const double angle = -2 * std::numbers::pi * (carrier_turn_ + turns * static_cast<double>(i));
    samples_[i] = mul(received[i],
                      {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))});
  }
  carrier_at_ = origin_;
  origin_ += static_cast<std::int64_t>(received.size());
}

void BurstDemodulator::receive_frame(const SampleHistory& history) {
  if (frame_in_block_ == 0) block_.begin(frame_in_cycle_, inserted_next_);
  if (inserted_next_) {
    load(history, kInsertedSymbols);
    block_.add_inserted(samples_);
    inserted_next_ = false;
  }
  load(history, kFrameSymbols);
  const BlockReceiver::Look look = block_.add_frame(samples_);
  heard_ += gain_for(kHeardSeconds) * (look.fit - heard_);
  heard_now_ += gain_for(kHeardNowSeconds) * (look.fit - heard_now_);
  if (healthy()) last_heard_ = origin_;
  // The carrier runs on from the phase it has reached at the end of this frame.
  carrier_turn_ += offset_hz_ / kHalfSymbolRate * static_cast<double>(origin_ - carrier_at_);
  carrier_at_ = origin_;
  follow_carrier(look.turn);
  ++frame_in_block_;
  ++frame_in_cycle_;
}

Demodulator::Output BurstDemodulator::finish_block() {
  const float quality = block_.finish();
  const MessageBits::Portion portion = message_.push(block_.bits());
  Output output{.bytes = portion.bytes,
                .first_bit = portion.first_bit,
                .symbols_in_all = {},
                .soft_quality = quality};
  if (portion.ended_after) {
    const std::uint64_t per_block = p_.block_user_bits();
    const std::uint64_t blocks = (*portion.ended_after + per_block - 1) / per_block;
    output.symbols_in_all = data_symbols(reading_.mode, blocks);
  }
  frame_in_block_ = 0;
  if (frame_in_cycle_ == kFramesInCycle) {
    frame_in_cycle_ = 0;
    inserted_next_ = true;
  }
  follow_clock();
  return output;
}

// A residual offset turns all taps alike; fading turns them at random.
void BurstDemodulator::follow_carrier(Complex turn) {
  if (std::norm(turn) < kTiny) return;
  offset_hz_ += kCarrierGain * std::arg(turn) / (2 * std::numbers::pi * kTurnSeconds);
}

// When the clocks of the two stations differ, the response wanders through its window; the window
// follows by whole symbols, between blocks.
void BurstDemodulator::follow_clock() {
  const double moved = centroid() - centroid_home_;
  if (moved > kClockStep) {
    block_.tracker().shift_later();
    origin_ += kPhases;
  } else if (moved < -kClockStep) {
    block_.tracker().shift_earlier();
    origin_ -= kPhases;
  }
}

double BurstDemodulator::centroid() {
  const dsp::ChannelTracker& tracker = block_.tracker();
  double moment = 0;
  double energy = kTiny;
  for (std::size_t l = 0; l < tracker.taps(); ++l) {
    for (std::size_t p = 0; p < kPhases; ++p) {
      const double power = std::norm(tracker.tap(p, l));
      moment += power * (static_cast<double>(l) + static_cast<double>(p) / 2);
      energy += power;
    }
  }
  return moment / energy;
}

}  // namespace s5066::modem::stanag4539
