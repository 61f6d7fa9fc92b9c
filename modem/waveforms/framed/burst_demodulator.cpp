// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/framed/burst_demodulator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "modem/api/airtime.h"
#include "modem/dsp/least_squares.h"
#include "modem/dsp/turn_back.h"

namespace s5066::modem::framed {
namespace {

using dsp::Complex;
using dsp::kPhases;
using dsp::mul;
using dsp::mul_conj;

// These constants are for learning the channel from the preamble.
constexpr float kTapSignificant = 0.01F;  // share of the power of the strongest tap
/// A tap is significant when its power is above the noise expected in it by this many times that
/// noise. The factor is for a channel that is measured once.
constexpr float kTapNoiseExcess = 7;
constexpr int kPulseMargin = 4;  // symbols around the significant taps
/// This share of the whole energy is spread over all taps, because a path may come out of a fade at
/// any time, and an unexpected one would count as noise.
constexpr float kProfileFloor = 0.3F;
constexpr std::size_t kTrainingSymbolsMax = 640;
constexpr std::size_t kTrainingStep = 41;
constexpr double kTrainingDopplerHz = 1;
/// A fading channel leaves much unexplained when it counts as constant. It is followed this often
/// to find how much of that is noise.
constexpr unsigned kTrainings = 4;
constexpr float kTiny = 1e-20F;

// These constants are for following the channel.
constexpr float kCarrierGain = 0.1F;
// After this many frames the gain of a frame is kCarrierGain.
constexpr float kCarrierFrames = 1 / kCarrierGain;
/// The response has moved in its window when it fits this much better a whole number of symbols
/// further on.
constexpr float kMovedFit = 1.1F;
/// A block with a worse fit of its probes has no response.
constexpr float kHeardFit = 0.1F;
constexpr int kMovedMax = 3;

// In a tone, samples this far apart are equal except for their phase. In a transmission they are
// not, because no known symbols repeat after this many.
constexpr std::size_t kToneLag = 2 * 37;
constexpr float kToneLikeness = 0.7F;

bool is_tone(std::span<const Complex> samples) {
  Complex alike;
  float earlier = kTiny;
  float later = kTiny;
  for (std::size_t i = kToneLag; i < samples.size(); ++i) {
    alike += mul_conj(samples[i - kToneLag], samples[i]);
    earlier += std::norm(samples[i - kToneLag]);
    later += std::norm(samples[i]);
  }
  return std::norm(alike) > kToneLikeness * kToneLikeness * earlier * later;
}

Trailer trailer_of(const Mode& mode) {
  return {.flush_bits = static_cast<unsigned>(trailer_bits(mode)) - kEndOfMessageBits,
          .block_bits = block_bits(mode)};
}

}  // namespace

BurstDemodulator::BurstDemodulator(const PreambleReading& reading, Layout layout,
                                   InMemory<BlockCode> code, float noise_share, BurstMemory& memory)
    : ProbedDemodulator(
          reading, layout.repeats ? static_cast<std::int64_t>(kPhases * layout.frame_symbols()) : 0,
          {},
          {.frames_per_block = layout.frames_per_block,
           .frames_at_once = layout.frames_per_block,
           .frames_ahead = layout.repeats ? 1U : 0U,
           .frames_before = layout.lead_frames,
           .blocks_before = (layout.first_frame + layout.lead_frames) % layout.frames_in_cycle() /
                            layout.frames_per_block}),
      layout_(std::move(layout)),
      noise_share_(noise_share),
      lead_frames_(layout_.lead_frames),
      frame_in_cycle_(layout_.first_frame),
      block_(layout_, std::move(code), {.passes_max = 6, .noise_share = noise_share}, memory),
      message_(trailer_of(reading.mode), layout_.block_bits(), &memory),
      samples_(&memory),
      newest_first_(&memory) {
  samples_.reserve(kPhases * std::max({layout_.preamble.size(), layout_.inserted.size(),
                                       layout_.frame_symbols()}));
  newest_first_.reserve(layout_.preamble.size() + dsp::ChannelTracker::kTapsMax);
}

std::optional<Demodulator::Output> BurstDemodulator::receive(const SampleHistory& history) {
  if (message_.more()) return more();
  while (!end_.over()) {
    const std::size_t symbols =
        layout_.frame_symbols() + (inserted_next_ ? layout_.inserted.size() : 0);
    if (history.end() < origin_ + static_cast<std::int64_t>(kPhases * symbols)) return std::nullopt;
    receive_frame(history);
    if (lead_frames_ > 0) {
      // A block whose beginning is missing serves only to learn the channel.
      if (--lead_frames_ == 0 || block_.complete()) end_block();
      continue;
    }
    end_.look(message_);
    if (block_.complete() && !end_.over()) return finish_block();
  }
  return std::nullopt;
}

// --- Learning ------------------------------------------------------------------------------------

void BurstDemodulator::learn_channel(const SampleHistory& history) {
  if (layout_.profile.empty()) measure_preamble(history);
  const auto times = static_cast<float>(layout_.preamble_parts);
  const float threshold = (1 + kTapNoiseExcess / std::sqrt(times)) * layout_.profile_error;
  block_.set_channel(choose_window(layout_.profile, threshold), std::max(layout_.noise, kTiny));
  const std::int64_t window =
      origin_ - (reading_.data_start - reading_.lead) + 2 * layout_.window_before;
  // A waveform that repeats its symbols with each frame has been found by many of them.
  const auto preamble = static_cast<float>(layout_.preamble.size());
  carrier_frames_ = reading_.late || layout_.repeats
                        ? kCarrierFrames
                        : std::max(1.0F, preamble / static_cast<float>(layout_.frame_symbols()));
  for (std::size_t k = 0; k < home_.size(); ++k) {
    const std::int64_t at = window + static_cast<std::int64_t>(k);
    if (at < 0 || at >= static_cast<std::int64_t>(layout_.profile.size())) continue;
    const float power = layout_.profile[static_cast<std::size_t>(at)] - layout_.profile_error;
    home_[k] = std::sqrt(std::max(power, 0.0F));
    carrier_heard_ += carrier_frames_ * std::max(power, 0.0F);
  }
  train(history);
}

// Measures the mean power of each tap over all parts of the preamble.
void BurstDemodulator::measure_preamble(const SampleHistory& history) {
  const std::size_t symbols = layout_.preamble.size();
  const std::size_t parts = layout_.preamble_parts;
  const std::int64_t begin =
      reading_.data_start -
      static_cast<std::int64_t>(kPhases *
                                (symbols + static_cast<std::size_t>(layout_.window_before)));
  layout_.profile.resize(kPhases * layout_.window_taps);
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t first = part * symbols / parts;
    const std::size_t count = (part + 1) * symbols / parts - first;
    const std::int64_t from = begin + static_cast<std::int64_t>(kPhases * first);
    samples_.resize(kPhases * count);
    dsp::turn_back(history.window(from, samples_.size()), from, offset_hz_ / kHalfSymbolRate,
                   samples_);
    const auto response =
        dsp::estimate_response(std::span<const Complex>(layout_.preamble).subspan(first, count),
                               samples_, layout_.window_taps);
    for (std::size_t k = 0; k < layout_.profile.size(); ++k) {
      layout_.profile[k] += std::norm(response.taps[k]);
    }
    layout_.noise += response.noise_power;
    layout_.profile_error +=
        response.noise_power / static_cast<float>(count - layout_.window_taps + 1);
  }
  const auto times = static_cast<float>(parts);
  for (float& power : layout_.profile) power /= times;
  layout_.noise = std::max(layout_.noise / times, kTiny);
  layout_.profile_error /= times;
}

// The window goes from the first to the last significant tap with a margin for the pulse. It is at
// least wide enough for an echo that was in a fade during the preamble. If that is too wide, it is
// the part with the most power.
BurstDemodulator::Powers BurstDemodulator::choose_window(std::span<const float> profile,
                                                         float threshold) {
  const float peak = *std::max_element(profile.begin(), profile.end());
  const float significant = std::min(peak, std::max(kTapSignificant * peak, threshold));
  std::size_t first = 0;
  while (profile[first] < significant) ++first;
  std::size_t last = profile.size() - 1;
  while (profile[last] < significant) --last;

  const int earliest = static_cast<int>(first / 2) - kPulseMargin;
  const int span = static_cast<int>(last / 2) + 1 + kPulseMargin - earliest;
  const int taps = std::clamp(span, layout_.taps_min, layout_.taps_max);
  const int begin = dsp::fullest_window(
      profile, {.earliest = earliest, .span = span, .taps = taps, .margin = kPulseMargin});
  origin_ = reading_.data_start - reading_.lead + 2 * (begin - layout_.window_before);

  float total = 0;
  for (const float power : profile) total += power;
  Powers prior;
  for (int tap = 0; tap < taps; ++tap) {
    float power = kProfileFloor * total / static_cast<float>(taps) + kTiny;
    // Neighbours count because the response moves when clocks drift.
    for (int near = tap - 1; near <= tap + 1; ++near) {
      const int at = 2 * (begin + near);
      if (at < 0 || at + 1 >= static_cast<int>(profile.size())) continue;
      const auto k = static_cast<std::size_t>(at);
      const float here = 0.5F * (profile[k] + profile[k + 1]);
      power = std::max(power, near == tap ? here : 0.25F * here);
    }
    prior.push_back(power);
  }
  first_path_start_ = static_cast<double>(reading_.data_start) - 2.0 * layout_.window_before +
                      dsp::peak_place(profile, dsp::first_path(profile));
  return prior;
}

// Runs the tracker over the end of the preamble.
void BurstDemodulator::train(const SampleHistory& history) {
  const dsp::ChannelTracker untrained = block_.tracker();
  const std::size_t taps = untrained.taps();
  const std::size_t symbols = std::min(layout_.preamble.size(), kTrainingSymbolsMax);
  const bool preceded = layout_.preceded || symbols < layout_.preamble.size();
  newest_first_.assign(layout_.preamble.rbegin(),
                       layout_.preamble.rbegin() + static_cast<std::ptrdiff_t>(symbols));
  newest_first_.resize(symbols + taps);  // symbols before the preamble are unknown
  const std::array<float, dsp::ChannelTracker::kTapsMax> all_certain{};
  const auto certain = std::span(all_certain).first(taps);
  const std::int64_t from = origin_ - static_cast<std::int64_t>(kPhases * symbols);
  samples_.resize(kPhases * symbols);
  dsp::turn_back(history.window(from, kPhases * symbols), from, offset_hz_ / kHalfSymbolRate,
                 samples_);
  const auto memory = static_cast<float>(
      std::pow(0.9, static_cast<double>(kTrainingStep) / kSymbolRate * kTrainingDopplerHz / 0.146));
  for (unsigned training = 1; training <= kTrainings; ++training) {
    dsp::ChannelTracker tracker = untrained;
    float surprise = 0;
    for (std::size_t n = preceded ? taps - 1 : 0; n < symbols; ++n) {
      if (n % kTrainingStep == 0) tracker.predict(memory);
      const float power = tracker.update(
          std::span<const Complex>(newest_first_).subspan(symbols - 1 - n, taps), certain,
          block_.noise(), std::span<const Complex, kPhases>(&samples_[kPhases * n], kPhases));
      if (n >= symbols / 2) surprise += power;
    }
    block_.tracker() = tracker;
    const float mean = surprise / static_cast<float>(symbols - symbols / 2);
    if (training < kTrainings) block_.set_noise(block_.noise() * std::min(mean, 1.0F));
  }
  carrier_at_ = origin_;
  carrier_turn_ = std::remainder(offset_hz_ / kHalfSymbolRate * static_cast<double>(origin_), 1.0);
}

// --- Frames --------------------------------------------------------------------------------------

// Loads the next samples without the carrier's offset.
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
    load(history, layout_.inserted.size());
    block_.add_inserted(samples_);
    inserted_next_ = false;
  }
  load(history, layout_.frame_symbols());
  const BlockReceiver::Look look = block_.add_frame(samples_);
  // The response adapts to a tone and predicts it, whatever the known symbols are.
  judge(is_tone(samples_) ? 0 : look.fit,
        static_cast<double>(layout_.frame_symbols()) / kSymbolRate, origin_);
  // The carrier continues from the phase at the end of this frame.
  carrier_turn_ += offset_hz_ / kHalfSymbolRate * static_cast<double>(origin_ - carrier_at_);
  carrier_at_ = origin_;
  follow_carrier(look.turn);
  ++frame_in_block_;
  ++frame_in_cycle_;
}

Demodulator::Output BurstDemodulator::finish_block() {
  const float quality = block_.finish();
  message_.push(block_.bits());
  message_.judge(block_.wrong_share());
  end_.look(message_);
  newest_ = {.soft_quality = quality, .channel = channel()};
  end_block();
  return more();
}

Demodulator::Output BurstDemodulator::more() {
  const MessageBits::Portion portion = message_.take();
  newest_.bytes = portion.bytes;
  newest_.first_bit = portion.first_bit;
  newest_.more = message_.more();
  return newest_;
}

void BurstDemodulator::end_block() {
  frame_in_block_ = 0;
  if (frame_in_cycle_ == layout_.frames_in_cycle()) {
    frame_in_cycle_ = 0;
    inserted_next_ = !layout_.inserted.empty();
  }
  follow_clock();
}

// A residual offset turns all taps alike. Fading turns them at random, and most when the signal is
// weak. At first a frame is weighted by its power relative to all that was received before, because
// a preamble in a fade of every path leaves the carrier off by 2 Hz or 3 Hz.
void BurstDemodulator::follow_carrier(Complex turn) {
  if (std::norm(turn) < kTiny) return;
  float gain = kCarrierGain;
  if (carrier_frames_ < kCarrierFrames) {
    const float power = std::abs(turn);
    carrier_frames_ += 1;
    carrier_heard_ += power;
    gain = std::max(gain, power / carrier_heard_);
  }
  offset_hz_ +=
      static_cast<double>(gain * std::arg(turn)) / (2 * std::numbers::pi * block_.turn_seconds());
}

ChannelEstimate BurstDemodulator::channel() const {
  float signal = 0;
  for (const float power : block_.profile()) signal += power;
  const auto data = static_cast<float>(layout_.frame_data());
  const auto known = static_cast<float>(layout_.frame_known());
  signal *= (data * block_.data_power() + known) / (data + known);
  const double noise_in_3_khz =
      static_cast<double>(block_.noise() / noise_share_) * 3000 / kHalfSymbolRate;
  return {
      .snr_db = static_cast<float>(
          10 * std::log10(static_cast<double>(signal) / std::max(noise_in_3_khz, 1e-30) + 1e-9)),
      .offset_hz = static_cast<float>(offset_hz_),
      .multipath_ms = static_cast<float>(
          static_cast<double>(dsp::profile_spread(block_.profile())) * 1000 / kSymbolRate),
      .doppler_hz = block_.doppler_hz()};
}

// When the clocks of the two stations differ, the response moves through its window. The window
// follows by whole symbols, between blocks. The place of the paths decides and not that of most
// power, because the power changes as the paths fade.
void BurstDemodulator::follow_clock() {
  if (block_.fit() < kHeardFit) return;
  const auto profile = block_.block_profile();
  const auto fit = [&](int moved) {
    const int steps = static_cast<int>(kPhases) * moved;
    const int size = static_cast<int>(profile.size());
    float sum = 0;
    for (int k = std::max(0, -steps); k < std::min(size, size - steps); ++k) {
      sum += std::sqrt(profile[static_cast<std::size_t>(k + steps)]) *
             home_[static_cast<std::size_t>(k)];
    }
    return sum;
  };
  int moved = 0;
  float best = kMovedFit * fit(0);
  for (int symbols = -kMovedMax; symbols <= kMovedMax; ++symbols) {
    const float here = fit(symbols);
    if (symbols == 0 || here < best) continue;
    best = here;
    moved = symbols;
  }
  block_.move_window(moved);
  origin_ += static_cast<std::int64_t>(kPhases) * moved;
}

}  // namespace s5066::modem::framed
