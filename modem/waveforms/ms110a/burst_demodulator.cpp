// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/ms110a/burst_demodulator.h"
#include "modem/waveforms/framed/constellation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "modem/dsp/least_squares.h"
#include "modem/dsp/path_motion.h"
#include "modem/dsp/read_between.h"
#include "modem/dsp/tap_memory.h"
#include "modem/dsp/turn_back.h"
#include "modem/waveforms/framed/doppler_meter.h"
#include "modem/waveforms/ms110a/symbols.h"
#include "s5066d/base/assert.h"

namespace s5066::modem::ms110a {
namespace {

using dsp::Complex;
using dsp::kPhases;
using dsp::mul;
using dsp::mul_conj;

// Constants of the channel estimate from the preamble.
constexpr unsigned kProfileSegmentsMax = 6;
/// If a segment's signal-to-noise ratio is less than this part of the next segment's, the receiver
/// did not hear it from its beginning.
constexpr float kCutRatio = 0.05F;
constexpr unsigned kTrainingSymbolsMax = 2 * kSegmentSymbols;
constexpr unsigned kTrainingStep = 48;    // symbols between two predictions
constexpr float kTapSignificant = 0.02F;  // share of the strongest tap
constexpr float kTapNoiseFactor = 8;
constexpr int kPulseMargin = 4;  // symbols around the significant taps
constexpr int kTapsMin = 14;
constexpr int kTapsMax = 28;
constexpr float kProfileFloor = 0.002F;  // share of the whole energy, spread over all taps
/// The Doppler spread is measured by this many steps of the response, the strongest ones.
constexpr std::size_t kDopplerTaps = 12;

/// The clocks are compared over the preamble if this many of its segments were heard. Modes with a
/// shorter preamble have blocks that are short enough to measure the clock in time.
constexpr unsigned kClockSegmentsMin = 10;
/// The longest preamble may be this many samples longer because the clocks differ. Interpolation
/// between samples needs some of them, too.
constexpr std::int64_t kReadMargin = 32;

/// Number of frames that are received together in a mode without an interleaver: a fifth of a
/// second.
constexpr unsigned kFramesAtOnce = 10;

/// Rates up to this work at such low ratios, and in such fast fading, that their probes are
/// predicted badly even while the signal is there.
constexpr unsigned kFaintRateMax = 300;

// Constants of the tracking during the data.
/// Minimum Doppler spread that is assumed until it is measured from the data.
constexpr float kFadingHz = 1;
/// Minimum noise as a share of the power, because a filter that assumes less becomes unstable.
constexpr float kNoiseMinShare = 1e-6F;
constexpr float kNoiseGain = 0.05F;
constexpr double kCarrierGain = 0.03;
/// Limit for the likeness of one frame and the next, apart from the phase. Scrambled symbols reach
/// 0.2 and never this value; a tone exceeds it.
constexpr float kToneLikeness = 0.7F;
/// Time constant with which the positions of the paths are averaged.
constexpr double kHomeSeconds = 20;

constexpr float kTiny = 1e-20F;

unsigned frames_at_once(const Parameters& p) {
  return p.interleaved ? p.frames_per_block : kFramesAtOnce;
}
double block_samples(const Parameters& p) {
  return static_cast<double>(kPhases * p.frame_symbols() * frames_at_once(p));
}
EndWatch::Config end_config(const Parameters& p) {
  return {.frames_per_block = p.frames_per_block, .frames_at_once = frames_at_once(p)};
}

// Returns the points of the segment that `count` segments follow.
std::array<Complex, kSegmentSymbols> segment_points(const Parameters& p, unsigned count) {
  std::array<Complex, kSegmentSymbols> out;
  const auto tribits = preamble_segment(p.d1, p.d2, count);
  std::transform(tribits.begin(), tribits.end(), out.begin(), framed::phase);
  return out;
}

// Segments at the end of the preamble that the training covers; every preamble has at least as
// many.
constexpr unsigned kTrainingSegments = kTrainingSymbolsMax / kSegmentSymbols + 1;
std::array<Complex, kTrainingSegments * kSegmentSymbols> newest_first_points(const Parameters& p) {
  std::array<Complex, kTrainingSegments * kSegmentSymbols> out;
  auto to = out.begin();
  for (unsigned count = 0; count < kTrainingSegments; ++count) {
    const auto segment = segment_points(p, count);
    to = std::reverse_copy(segment.begin(), segment.end(), to);
  }
  return out;
}

float tap_memory(std::size_t symbols, double doppler_hz) {
  return dsp::tap_memory(static_cast<double>(symbols) / kSymbolRate, doppler_hz);
}

}  // namespace

BurstDemodulator::BurstDemodulator(const PreambleReading& reading, float noise_share,
                                   BurstMemory& memory)
    : ProbedDemodulator(reading, 0,
                        reading.mode.rate_bps <= kFaintRateMax
                            ? Patience{.seconds = 3, .heard_max = 0.18F, .lost_below = 0.065F}
                            : Patience{},
                        end_config(parameters(reading.mode))),
      p_(parameters(reading.mode)),
      frame_symbols_(p_.frame_symbols()),
      noise_share_(noise_share),
      doppler_hz_(kFadingHz),
      pace_(block_samples(p_), block_samples(p_) / kHalfSymbolRate),
      equalizer_({.symbols_max = p_.data_symbols, .taps_max = dsp::ChannelTracker::kTapsMax},
                 &memory),
      decoder_(p_, &memory),
      refiner_(p_, {.frames = frames_at_once(p_), .noise_share = noise_share}, &memory),
      means_(&memory),
      variances_(&memory),
      samples_(kPhases * frame_symbols_, &memory),
      received_(kPhases * frame_symbols_, &memory),
      remainder_(kPhases * frame_symbols_, &memory),
      prior_mean_(p_.data_symbols, &memory),
      prior_variance_(p_.data_symbols, 1.0F, &memory),
      llr_(std::size_t{p_.data_symbols} * p_.bits_per_symbol, &memory) {}

std::optional<Demodulator::Output> BurstDemodulator::receive(const SampleHistory& history) {
  if (decoder_.message().more()) return more();
  while (!end_.over() && history.end() >= origin_ +
                                              static_cast<std::int64_t>(kPhases * frame_symbols_) +
                                              kReadMargin) {
    receive_frame(history);
    refiner_.add_frame(received_, llr_);
    end_.look(decoder_.message());
    if (!refiner_.whole() || end_.over()) continue;
    auto output = end_block();
    if (!output.bytes.empty()) return output;
  }
  return std::nullopt;
}

void BurstDemodulator::begin_block() {
  refiner_.begin(
      {.tracker = *tracker_, .symbols = means_, .variances = variances_, .frame = frame_in_cycle_});
}

// Refines all frames of a block together, after each was received by itself.
Demodulator::Output BurstDemodulator::end_block() {
  BlockRefiner::Estimates estimates{
      .noise = noise_, .noise_min = noise_min_, .doppler_hz = doppler_hz_};
  refiner_.refine(decoder_, estimates);
  noise_ = estimates.noise;
  doppler_hz_ = estimates.doppler_hz;
  tracker_ = refiner_.tracker_at_end();
  std::copy_n(refiner_.symbols_at_end().begin(), means_.size(), means_.begin());
  std::copy_n(refiner_.variances_at_end().begin(), variances_.size(), variances_.begin());
  const auto profile = refiner_.profile();
  follow_clock(profile);

  decoder_.take(refiner_.llr());
  end_.look(decoder_.message());
  // Frames behind the end of the burst do not count for the quality.
  std::uint64_t end = frames_taken_ + refiner_.frames();
  if (ending()) end = std::min<std::uint64_t>(end, ending()->symbols / frame_symbols_);
  const std::uint64_t counted = std::max(end, frames_taken_ + 1) - frames_taken_;
  newest_ = {.soft_quality = soft_quality(refiner_.quality(static_cast<std::size_t>(counted)),
                                          decoder_.error_share()),
             .channel = channel(profile)};
  frames_taken_ += refiner_.frames();
  begin_block();
  return more();
}

Demodulator::Output BurstDemodulator::more() {
  const MessageBits::Portion portion = decoder_.message().take();
  newest_.bytes = portion.bytes;
  newest_.first_bit = portion.first_bit;
  newest_.more = decoder_.message().more();
  return newest_;
}

ChannelEstimate BurstDemodulator::channel(std::span<const float> profile) const {
  float signal = 0;  // power per sample; half of the steps contribute to it
  for (const float power : profile) signal += power / kPhases;
  const float noise = noise_ / noise_share_ * 3000 / static_cast<float>(kHalfSymbolRate);
  return {.snr_db = 10 * std::log10(signal / std::max(noise, kTiny) + kTiny),
          .offset_hz = static_cast<float>(offset_hz_),
          .multipath_ms = static_cast<float>(static_cast<double>(dsp::profile_spread(profile)) *
                                             1000 / kHalfSymbolRate),
          .doppler_hz = doppler_hz_};
}

// --- Learning ------------------------------------------------------------------------------------

void BurstDemodulator::learn_channel(const SampleHistory& history) {
  // The estimate uses only the segments that the history still holds and that were sent.
  const auto held =
      (reading_.data_start - 2 * kWindowBefore - kReadMargin - history.begin()) / kSegmentSamples;
  const auto heard = static_cast<unsigned>(std::min<std::int64_t>(held, p_.segments));
  S5066_ASSERT(heard > 0);
  if (heard >= kClockSegmentsMin) measure_clock(history, heard);
  auto segments = std::min(heard, kProfileSegmentsMax);
  while (segments > 1 && is_cut(history, segments)) --segments;
  const Profile profile = delay_profile(history, segments);
  constexpr auto kRows = static_cast<float>(kSegmentSymbols - kWindowTaps + 1);
  choose_window(profile, noise_ / (kRows * static_cast<float>(segments)));
  measure_doppler(history, profile, segments);

  means_.resize(frame_symbols_ + tracker_->taps() - 1);
  variances_.resize(means_.size());
  train(history, std::min(kTrainingSymbolsMax, segments * kSegmentSymbols));
  begin_block();
}

// Reads samples at times between those of the history, with the carrier's offset removed.
void BurstDemodulator::read(const SampleHistory& history, double from,
                            std::span<Complex> out) const {
  const double step = 1 + pace_.pace();
  dsp::read_between(history, from, step, out);
  dsp::turn_back(out, static_cast<std::int64_t>(std::floor(from)),
                 offset_hz_ / kHalfSymbolRate * step, out);
}

// If the clocks of the two stations differ, every path moves from segment to segment.
void BurstDemodulator::measure_clock(const SampleHistory& history, unsigned segments) {
  std::array<float, kSegmentsMax * std::tuple_size_v<Profile>> amplitudes{};
  constexpr auto kRows = static_cast<float>(kSegmentSymbols - kWindowTaps + 1);
  auto to = amplitudes.begin();
  for (unsigned s = segments; s > 0; --s) {
    const auto response = estimate_segment(history, s - 1);
    for (const Complex tap : response.taps) {
      *to++ = std::sqrt(std::max(std::norm(tap) - response.noise_power / kRows, 0.0F));
    }
  }
  const double whole_max = dsp::PaceLoop::kDriftMax * kSegmentSamples * (segments - 1);
  const auto rows = std::span<const float>(amplitudes).first(segments * std::tuple_size_v<Profile>);
  pace_.start(dsp::moved_by_row(rows, std::tuple_size_v<Profile>, whole_max) / kSegmentSamples);
}

// Estimates the response from one segment, which `follow` segments and the data follow; the
// preamble repeats the same known symbols.
dsp::WideResponse BurstDemodulator::estimate_segment(const SampleHistory& history,
                                                     unsigned follow) {
  std::array<Complex, kSegmentSamples> samples;
  read(history, before_data((follow + 1) * kSegmentSamples) - 2 * kWindowBefore, samples);
  return dsp::estimate_response(segment_points(p_, follow), samples, kWindowTaps);
}

// True if the oldest of the segments was not heard as a whole, because its missing part would count
// as noise.
bool BurstDemodulator::is_cut(const SampleHistory& history, unsigned segments) {
  const auto oldest = estimate_segment(history, segments - 1);
  const auto next = estimate_segment(history, segments - 2);
  return oldest.signal_power * next.noise_power <
         kCutRatio * next.signal_power * oldest.noise_power;
}

// Returns the mean power of each tap over the last segments, and refines offset and noise.
BurstDemodulator::Profile BurstDemodulator::delay_profile(const SampleHistory& history,
                                                          unsigned segments) {
  Profile profile{};
  double noise = 0;
  double correction = 0;
  const double share = 1.0 / segments;
  for (unsigned s = segments; s > 0; --s) {
    const auto response = estimate_segment(history, s - 1);
    for (std::size_t k = 0; k < profile.size(); ++k) {
      profile[k] += std::norm(response.taps[k]) * static_cast<float>(share);
    }
    noise += response.noise_power * share;
    correction += response.offset_turn * kHalfSymbolRate * share;
  }
  offset_hz_ += correction;
  noise_ = std::max(static_cast<float>(noise), kTiny);
  return profile;
}

// A channel that fades faster than assumed cannot be predicted from frame to frame, so that the
// first block would count as lost.
void BurstDemodulator::measure_doppler(const SampleHistory& history, std::span<const float> profile,
                                       unsigned segments) {
  constexpr std::size_t kPerSegment = kSegmentSymbols / kTribitsPerChannelSymbol;
  std::array<std::uint8_t, kPhases * kWindowTaps> strongest;
  std::iota(strongest.begin(), strongest.end(), std::uint8_t{0});
  std::partial_sort(strongest.begin(), strongest.begin() + kDopplerTaps, strongest.end(),
                    [&](std::uint8_t a, std::uint8_t b) { return profile[a] > profile[b]; });
  std::array<float, kDopplerTaps> weight;
  for (std::size_t k = 0; k < kDopplerTaps; ++k) weight[k] = profile[strongest[k]];

  const std::size_t steps = kPerSegment * segments;
  std::array<Complex, kProfileSegmentsMax * kSegmentSymbols> known;
  auto to = known.begin();
  for (unsigned count = segments; count-- > 0;) {
    const auto segment = segment_points(p_, count);
    to = std::copy(segment.begin(), segment.end(), to);
  }
  const auto sent = std::span(known).first(steps * kTribitsPerChannelSymbol);
  std::array<Complex, kPhases*(kProfileSegmentsMax * kSegmentSymbols + kWindowTaps)> received;
  const auto samples = std::span(received).first(kPhases * (sent.size() + kWindowTaps));
  dsp::read_between(history, before_data(kPhases * sent.size()) - 2 * kWindowBefore,
                    1 + pace_.pace(), samples);
  // The carrier's offset turns all steps alike, so it need not be removed.
  std::array<Complex, kProfileSegmentsMax * kPerSegment * kDopplerTaps> responses{};
  for (std::size_t n = 0; n < sent.size(); ++n) {
    Complex* const out = &responses[n / kTribitsPerChannelSymbol * kDopplerTaps];
    for (std::size_t k = 0; k < kDopplerTaps; ++k) {
      out[k] += mul_conj(sent[n], samples[kPhases * n + strongest[k]]);
    }
  }
  framed::DopplerMeter meter(doppler_hz_);
  meter.add(std::span(responses).first(steps * kDopplerTaps), weight,
            static_cast<double>(kTribitsPerChannelSymbol) / kSymbolRate);
  doppler_hz_ = std::max(doppler_hz_, static_cast<float>(meter.doppler_hz()));
}

// The window reaches from the first to the last significant tap with a margin for the pulse. It is
// wide enough for an echo that was in a fade during the preamble. If that is wider than `kTapsMax`,
// the window is the part with the most power, because fading within a segment looks like weak
// echoes far away from the paths.
void BurstDemodulator::choose_window(const Profile& profile, float noise_per_tap) {
  const float peak = *std::max_element(profile.begin(), profile.end());
  const float threshold = std::max(kTapSignificant * peak, kTapNoiseFactor * noise_per_tap);
  const auto significant = [&](float power) { return power >= std::min(threshold, peak); };
  const auto first = std::find_if(profile.begin(), profile.end(), significant) - profile.begin();
  const auto last =
      static_cast<std::ptrdiff_t>(profile.size()) - 1 -
      (std::find_if(profile.rbegin(), profile.rend(), significant) - profile.rbegin());

  const int earliest = static_cast<int>(first / 2) - kPulseMargin;
  const int span = static_cast<int>(last / 2) + 1 + kPulseMargin - earliest;
  const int taps = std::clamp(span, kTapsMin, kTapsMax);
  const int begin = dsp::fullest_window(
      profile, {.earliest = earliest, .span = span, .taps = taps, .margin = kPulseMargin});
  origin_ = reading_.data_start + 2 * (begin - kWindowBefore);

  float total = 0;
  for (const float power : profile) total += power;
  FixedVector<float, kTapsMax> prior(static_cast<std::size_t>(taps));
  const auto power_at = [&](int tap) {
    const int at = 2 * (begin + tap);
    if (at < 0 || at + 1 >= static_cast<int>(profile.size())) return 0.0F;
    const auto k = static_cast<std::size_t>(at);
    return 0.5F * (profile[k] + profile[k + 1]);
  };
  for (int tap = 0; tap < taps; ++tap) {
    // A tap also gets a part of its neighbours' power, because the response moves as clocks drift.
    const float power =
        std::max({power_at(tap), 0.25F * power_at(tap - 1), 0.25F * power_at(tap + 1)});
    prior[static_cast<std::size_t>(tap)] =
        std::max(power, kProfileFloor * total / static_cast<float>(taps)) + kTiny;
  }
  tracker_.emplace(prior);
  for (std::size_t k = 0; k < home_.size(); ++k) {
    const auto at = static_cast<std::size_t>(2 * begin + static_cast<int>(k));
    if (2 * begin + static_cast<int>(k) < 0 || at >= profile.size()) continue;
    home_[k] = std::sqrt(std::max(profile[at] - noise_per_tap, 0.0F));
  }
  noise_min_ = kNoiseMinShare * total + kTiny;
  noise_ = std::max(noise_, noise_min_);

  first_path_start_ = static_cast<double>(reading_.data_start) - 2.0 * kWindowBefore +
                      dsp::peak_place(profile, dsp::first_path(profile));
}

// Runs the tracker over known symbols up to the data.
void BurstDemodulator::train(const SampleHistory& history, unsigned symbols) {
  const auto newest_first = newest_first_points(p_);
  const std::size_t taps = tracker_->taps();
  const std::array<float, kTapsMax> all_certain{};
  const auto certain = std::span(all_certain).first(taps);

  FixedVector<Complex, kPhases * kTrainingSymbolsMax> samples(kPhases * symbols);
  const double step = 1 + pace_.pace();
  const double length = step * static_cast<double>(samples.size());
  const double from = static_cast<double>(origin_) - length;
  read(history, from, samples);
  const float step_memory = tap_memory(kTrainingStep, doppler_hz_);
  for (unsigned n = 0; n < symbols; ++n) {
    if (n % kTrainingStep == 0) tracker_->predict(step_memory);
    tracker_->update(std::span<const Complex>(newest_first).subspan(symbols - 1 - n, taps), certain,
                     noise_, std::span<const Complex, kPhases>(&samples[kPhases * n], kPhases));
  }
  carrier_at_ = origin_;
  // The phase continues that of read().
  carrier_turn_ = std::remainder(offset_hz_ / kHalfSymbolRate * (std::floor(from) + length), 1.0);
  // These symbols precede the first frame.
  for (std::size_t l = 0; l + 1 < taps; ++l) means_[l] = newest_first[l];
}

// --- Frames --------------------------------------------------------------------------------------

BurstDemodulator::Response BurstDemodulator::response() const {
  Response g(kPhases * tracker_->taps());
  for (std::size_t l = 0; l < tracker_->taps(); ++l) {
    for (std::size_t p = 0; p < kPhases; ++p) g[kPhases * l + p] = tracker_->tap(p, l);
  }
  return g;
}

// Receives a frame in two passes: with the channel as it was before the frame, then with its mean
// over the frame, which the first decisions have made known.
void BurstDemodulator::receive_frame(const SampleHistory& history) {
  load_frame(history);
  tracker_->predict(tap_memory(frame_symbols_, doppler_hz_));
  judge_probes();
  const Response before = response();
  equalize(before);
  update_tracker();
  const Response after = response();
  Response middle(before.size());
  for (std::size_t k = 0; k < middle.size(); ++k) middle[k] = 0.5F * (before[k] + after[k]);
  equalize(middle);

  follow_carrier(before, after);
  const double length = static_cast<double>(kPhases * frame_symbols_);
  between_ += pace_.pace() * length;
  const double whole = std::round(between_);
  between_ -= whole;
  origin_ += static_cast<std::int64_t>(length + whole);
  scrambler_at_ = (scrambler_at_ + p_.frame_symbols()) % kDataScramblerPeriod;
  frame_in_cycle_ = (frame_in_cycle_ + 1) % p_.frames_per_cycle;
}

void BurstDemodulator::load_frame(const SampleHistory& history) {
  const double turns = offset_hz_ / kHalfSymbolRate;
  carrier_turn_ += turns * static_cast<double>(origin_ - carrier_at_);
  carrier_turn_ = std::remainder(carrier_turn_, 1.0);
  const double step = 1 + pace_.pace();
  dsp::read_between(history, static_cast<double>(origin_) + between_, step, samples_);
  Complex alike;
  float before_energy = kTiny;
  float energy = kTiny;
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    const double at = between_ + step * static_cast<double>(i);
    const double angle = -2 * std::numbers::pi * (carrier_turn_ + turns * at);
    const Complex sample = mul(
        samples_[i], {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))});
    alike += mul_conj(received_[i], sample);
    before_energy += std::norm(received_[i]);
    energy += std::norm(sample);
    received_[i] = sample;
  }
  tone_ = std::norm(alike) > kToneLikeness * kToneLikeness * before_energy * energy;
  carrier_at_ = origin_;

  // The newest symbols of the last frame become the ones before this frame.
  const std::size_t before = tracker_->taps() - 1;
  std::copy_backward(means_.begin(), means_.begin() + static_cast<std::ptrdiff_t>(before),
                     means_.end());
  std::copy_backward(variances_.begin(), variances_.begin() + static_cast<std::ptrdiff_t>(before),
                     variances_.end());
  for (unsigned n = 0; n < p_.data_symbols; ++n) means_[slot(n)] = 0;
  for (unsigned i = 0; i < p_.probe_symbols; ++i) {
    const unsigned n = p_.data_symbols + i;
    const unsigned scrambler = data_scrambler()[(scrambler_at_ + n) % kDataScramblerPeriod];
    means_[slot(n)] =
        framed::phase(static_cast<std::uint8_t>(probe_tribit(p_, frame_in_cycle_, i) + scrambler));
    variances_[slot(n)] = 0;
  }
}

void BurstDemodulator::equalize(std::span<const Complex> response) {
  for (unsigned n = 0; n < p_.data_symbols; ++n) means_[slot(n)] = 0;
  const std::size_t taps = tracker_->taps();
  for (std::size_t row = 0; row < frame_symbols_; ++row) {
    const auto symbols = symbols_of_row(row);
    for (std::size_t p = 0; p < kPhases; ++p) {
      Complex sum;
      for (std::size_t l = 0; l < taps; ++l) sum += mul(response[kPhases * l + p], symbols[l]);
      remainder_[kPhases * row + p] = received_[kPhases * row + p] - sum;
    }
  }
  const auto estimates = equalizer_.solve({.response = response,
                                           .remainder = remainder_,
                                           .prior_mean = prior_mean_,
                                           .prior_variance = prior_variance_,
                                           .noise = noise_ / noise_share_});
  float quality = 0;
  for (unsigned n = 0; n < p_.data_symbols; ++n) {
    const auto& estimate = estimates[n];
    const auto bits =
        std::span(llr_).subspan(std::size_t{n} * p_.bits_per_symbol, p_.bits_per_symbol);
    const auto soft = demap(p_.bits_per_symbol, estimate.mean, estimate.variance,
                            data_scrambler()[(scrambler_at_ + n) % kDataScramblerPeriod], bits);
    means_[slot(n)] = soft.mean;
    variances_[slot(n)] = soft.variance;
    quality += 1 / (1 + estimate.variance);
  }
  frame_quality_ = quality / static_cast<float>(p_.data_symbols);
}

// The probe is predicted by the response from before the frame. Decisions of this frame are not
// used, because they would fit the noise that they were made from. A tone is excluded, because any
// response that has adapted to it predicts it.
void BurstDemodulator::judge_probes() {
  float agreement = 0;
  float foretold = kTiny;
  float heard = kTiny;
  for (std::size_t row = p_.data_symbols; row < frame_symbols_; ++row) {
    const auto forecast = tracker_->predicted(symbols_of_row(row));
    const auto received = received_of_row(row);
    for (std::size_t p = 0; p < kPhases; ++p) {
      agreement += mul_conj(forecast[p], received[p]).real();
      foretold += std::norm(forecast[p]);
      heard += std::norm(received[p]);
    }
  }
  const float fit = tone_ ? 0 : agreement / std::sqrt(foretold * heard);
  judge(fit, static_cast<double>(frame_symbols_) / kSymbolRate,
        origin_ + static_cast<std::int64_t>(kPhases * frame_symbols_));
}

void BurstDemodulator::update_tracker() {
  float surprise = 0;
  for (std::size_t row = 0; row < frame_symbols_; ++row) {
    surprise +=
        tracker_->update(symbols_of_row(row), variances_of_row(row), noise_, received_of_row(row));
  }
  surprise /= static_cast<float>(frame_symbols_);
  noise_ *= 1 + kNoiseGain * (std::clamp(surprise, 0.1F, 10.0F) - 1);
  noise_ = std::max(noise_, noise_min_);
}

// A residual offset turns all taps alike; fading turns them at random.
void BurstDemodulator::follow_carrier(std::span<const Complex> before,
                                      std::span<const Complex> after) {
  Complex sum;
  for (std::size_t k = 0; k < before.size(); ++k) sum += mul_conj(before[k], after[k]);
  if (std::norm(sum) < kTiny) return;
  const double frame_seconds = static_cast<double>(frame_symbols_) / kSymbolRate;
  const double measured_hz = std::arg(sum) / (2 * std::numbers::pi * frame_seconds);
  // The carrier continues from the phase that it has reached at the end of this frame.
  const double length = static_cast<double>(kPhases * frame_symbols_);
  carrier_turn_ += offset_hz_ / kHalfSymbolRate * length;
  carrier_at_ += static_cast<std::int64_t>(kPhases * frame_symbols_);
  offset_hz_ += kCarrierGain * measured_hz;
}

// If the clocks of the two stations differ, the response moves through its window. Each path is
// compared with its own average, so that it makes no difference which path fades. A path that was
// in a fade during the preamble gets its position gradually.
void BurstDemodulator::follow_clock(std::span<const float> profile) {
  if (!healthy()) return pace_.add_block(std::nullopt);
  FixedVector<float, kPhases * dsp::ChannelTracker::kTapsMax> heard(profile.size());
  std::transform(profile.begin(), profile.end(), heard.begin(),
                 [](float power) { return std::sqrt(power); });
  pace_.add_block(dsp::moved_since(std::span(home_).first(heard.size()), heard));
  const auto gain = static_cast<float>(
      1 - std::exp(-block_samples(p_) / static_cast<double>(kHalfSymbolRate) / kHomeSeconds));
  for (std::size_t k = 0; k < heard.size(); ++k) home_[k] += gain * (heard[k] - home_[k]);
}

}  // namespace s5066::modem::ms110a
