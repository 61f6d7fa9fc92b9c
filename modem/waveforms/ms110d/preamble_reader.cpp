// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/ms110d/preamble_reader.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "modem/api/airtime.h"
#include "modem/dsp/turn_back.h"
#include "modem/waveforms/framed/demapper.h"

namespace s5066::modem::ms110d {
namespace {

using dsp::Complex;
using dsp::kPhases;
using framed::kWindowBefore;
using framed::kWindowTaps;

constexpr unsigned kFixedSymbols = kFixedDibits * kChannelSymbol;
constexpr std::int64_t kSuperFrameSamples = 2 * kSuperFrameSymbols;
/// The best reading must lead the next by this much, as a log-likelihood.
constexpr float kLeadMin = 15;
/// One super-frame must have this share of the received power.
constexpr float kStrengthAloneMin = 0.1F;
/// When several super-frames were read, all symbols must have this share of the power that the
/// fixed symbols have alone. With a larger carrier offset than was measured, all super-frames are
/// misread in the same way.
constexpr float kAgreementMin = 0.5F;
/// Taps below this many times their expected error, summed over the number of super-frames, count
/// as noise and are left out. One of 150 noise taps is taken.
constexpr std::array kTapNoiseFactors = {5.0F, 7.4F, 9.5F, 11.4F};
/// A weaker signal is speech that looks like a preamble. Number 0 works at -6 dB and slightly
/// below.
constexpr double kSnrMinDb = -8;
constexpr double kWalshSnrMinDb = -10.5;
constexpr float kTiny = 1e-20F;

}  // namespace

std::optional<PreambleReading> PreambleReader::read(const SampleHistory& history,
                                                    const framed::SearchCandidate& candidate) {
  const std::int64_t newest = candidate.position - 2 * kWindowBefore;
  offset_hz_ = candidate.offset_hz;
  for (unsigned count = 1; count <= kTogetherMax; ++count) {
    SuperFrame& added = frames_[count - 1];
    added.from = newest - (count - 1) * kSuperFrameSamples;
    if (added.from < history.begin()) return std::nullopt;
    // The offset from one super-frame alone is misleading when the signal is weak.
    if (count == 2) offset_hz_ = candidate.offset_hz;
    learn(history, count);
    weigh_paths(count);
    const auto decision = decide(count);
    if (!decision) continue;
    // Only number 0 works when one super-frame is too weak. Another number there is speech.
    const bool faint = count > 1 || candidate.strength < kStrengthAloneMin;
    if (faint && !parameters(decision->announced.mode).walsh) continue;
    const float sureness = decision->lead / excess(*decision, count);
    if (sureness < kLeadMin) continue;
    const double offset_hz = offset_hz_;
    auto reading = measure(history, *decision, count);
    offset_hz_ = offset_hz;
    if (!reading) continue;
    reading->strength = candidate.strength;
    reading->sureness = sureness;
    return reading;
  }
  return std::nullopt;
}

// Learns the responses, and the offset that removes the turn of all super-frames.
void PreambleReader::learn(const SampleHistory& history, unsigned count) {
  const auto known = symbols_of(fixed_dibits());
  const unsigned times = count <= 2 ? 3 : 2;
  for (unsigned i = 0; i < times; ++i) {
    for (SuperFrame& frame : std::span(frames_).first(count)) {
      load(history, frame);
      frame.response = dsp::estimate_response(known, frame.samples, kWindowTaps);
    }
    if (i + 1 < times) offset_hz_ += offset_seen(count);
  }
}

void PreambleReader::load(const SampleHistory& history, SuperFrame& frame) const {
  dsp::turn_back(history.window(frame.from, frame.samples.size()), frame.from,
                 offset_hz_ / kHalfSymbolRate, frame.samples);
}

double PreambleReader::offset_seen(unsigned count) const {
  float sum = 0;
  float power = kTiny;
  for (const SuperFrame& frame : std::span(frames_).first(count)) {
    sum += frame.response.signal_power * frame.response.offset_turn;
    power += frame.response.signal_power;
  }
  return static_cast<double>(sum / power) * kHalfSymbolRate;
}

// The paths are found in all super-frames together. A path with a larger relative error has less
// weight for its phase.
void PreambleReader::weigh_paths(unsigned count) {
  const auto frames = std::span(frames_).first(count);
  float noise = kTiny;
  for (const SuperFrame& frame : frames) noise += frame.response.noise_power;
  noise /= static_cast<float>(count);
  const float error = noise / static_cast<float>(kFixedSymbols - kWindowTaps + 1);
  for (std::size_t k = 0; k < frames[0].response.taps.size(); ++k) {
    float power = 0;
    for (const SuperFrame& frame : frames) power += std::norm(frame.response.taps[k]);
    float weight = 1;
    if (power < kTapNoiseFactors[count - 1] * error) {
      weight = 0;
    } else if (count > 1) {
      weight = 1 - static_cast<float>(count) * error / power;
    }
    for (SuperFrame& frame : frames) frame.response.taps[k] *= weight;
  }
  // A super-frame with impulse noise has little weight. Silence before a burst has no more weight
  // than the burst.
  for (SuperFrame& frame : frames) score(frame, std::max(noise, frame.response.noise_power));
}

// The influence of neighbouring channel symbols is ignored.
void PreambleReader::score(SuperFrame& frame, float noise) {
  const auto& taps = frame.response.taps;
  const std::size_t count = taps.size() / kPhases;
  frame.scores = {};
  frame.variance = 0;
  for (const Complex& tap : taps) {
    frame.variance += 2 * std::norm(tap) * static_cast<float>(kChannelSymbol) / noise;
  }
  for (unsigned place = 0; place < kReadDibits; ++place) {
    const std::size_t first = kFixedSymbols + std::size_t{place} * kChannelSymbol;
    for (unsigned dibit = 0; dibit < kDibits; ++dibit) {
      const auto numbers = channel_symbol(kFixedDibits + place, dibit);
      for (std::size_t l = 0; l < count; ++l) {
        for (std::size_t p = 0; p < kPhases; ++p) {
          const Complex tap = taps[kPhases * l + p];
          if (tap == Complex()) continue;
          Complex sum;
          for (unsigned i = 0; i < kChannelSymbol; ++i) {
            const std::size_t row = first + i + l;
            sum += dsp::mul_conj(framed::phase(numbers[i]), frame.samples[kPhases * row + p]);
          }
          frame.scores[place][dibit] += 2 * dsp::mul_conj(tap, sum).real() / noise;
        }
      }
    }
  }
}

// Returns the most likely count and announcement. Undefined numbers are among those that it must
// lead, and give no reading.
std::optional<PreambleReader::Decision> PreambleReader::decide(unsigned count) const {
  struct Best {
    float first = -1e30F;
    float second = -1e30F;
    bool take(float value) {
      second = std::max(second, std::min(first, value));
      const bool better = value > first;
      first = std::max(first, value);
      return better;
    }
  };
  const auto sum_of = [&](const SuperFrame& frame, const auto& dibits, unsigned first,
                          unsigned behind) {
    float sum = 0;
    for (unsigned place = first; place < behind; ++place) {
      sum += frame.scores[place][dibits[kFixedDibits + place]];
    }
    return sum;
  };
  Decision decision;
  Best counts;
  for (unsigned remaining = 0; remaining + count <= kSuperFramesMax; ++remaining) {
    float sum = 0;
    for (unsigned i = 0; i < count; ++i) {
      sum += sum_of(frames_[i], super_frame(Parameters{}, remaining + i), 0, kCountDibits);
    }
    if (counts.take(sum)) decision.remaining = remaining;
  }
  Best numbers;
  std::array<std::uint8_t, kSuperFrameDibits> best{};
  Parameters p;
  for (p.number = 0; p.number < 16; ++p.number) {
    for (p.interleaver_code = 0; p.interleaver_code < 4; ++p.interleaver_code) {
      for (p.constraint = 7; p.constraint <= 9; p.constraint += 2) {
        const auto dibits = super_frame(p, 0);
        float sum = 0;
        for (unsigned i = 0; i < count; ++i) {
          sum += sum_of(frames_[i], dibits, kCountDibits, kReadDibits);
        }
        if (numbers.take(sum)) best = dibits;
      }
    }
  }
  const auto value = announced(std::span(best).last(kNumberDibits));
  if (!value) return std::nullopt;
  decision.announced = *value;
  decision.lead = std::min(counts.first - counts.second, numbers.first - numbers.second);
  return decision;
}

// Returns the power of the unsent patterns relative to that of noise, at least 1. It is larger when
// the signal is no preamble.
float PreambleReader::excess(const Decision& decision, unsigned count) const {
  float power = 0;
  float expected = kTiny;
  for (unsigned i = 0; i < count; ++i) {
    const auto sent = super_frame(
        parameters(decision.announced.mode, decision.announced.constraint), decision.remaining + i);
    for (unsigned place = 0; place < kReadDibits; ++place) {
      for (unsigned dibit = 0; dibit < kDibits; ++dibit) {
        if (dibit == sent[kFixedDibits + place]) continue;
        power += frames_[i].scores[place][dibit] * frames_[i].scores[place][dibit];
        expected += frames_[i].variance;
      }
    }
  }
  return std::max(1.0F, power / expected);
}

// Every symbol is known now, so the offset is measured to a fraction of a hertz. The ratio of
// signal to noise is that of the data.
std::optional<PreambleReading> PreambleReader::measure(const SampleHistory& history,
                                                       const Decision& decision, unsigned count) {
  const Mode& mode = decision.announced.mode;
  const Parameters p = parameters(mode, decision.announced.constraint);
  const auto frames = std::span(frames_).first(count);
  float fixed = 0;
  for (const SuperFrame& frame : frames) fixed += frame.response.signal_power;
  for (unsigned i = 0; i < 2; ++i) {
    for (unsigned n = 0; n < count; ++n) {
      SuperFrame& frame = frames[n];
      load(history, frame);
      frame.response = dsp::estimate_response(symbols_of(super_frame(p, decision.remaining + n)),
                                              frame.samples, kWindowTaps);
    }
    offset_hz_ += offset_seen(count);
  }
  float signal = 0;
  float noise = kTiny;
  for (const SuperFrame& frame : frames) {
    signal += frame.response.signal_power;
    noise += frame.response.noise_power;
  }
  if (count > 1 && signal < kAgreementMin * fixed) return std::nullopt;
  const float data = framed::Demapper(p.bits_per_symbol).power();
  const auto share = static_cast<float>(p.data_symbols) / static_cast<float>(p.frame_symbols());
  const float power = share * data + 1 - share;
  const double noise_in_3_khz = static_cast<double>(noise / noise_share_) * 3000 / kHalfSymbolRate;
  const double ratio = static_cast<double>(signal * power) / std::max(noise_in_3_khz, 1e-30);
  const double snr_db = 10 * std::log10(ratio + 1e-9);
  if (snr_db < (p.walsh ? kWalshSnrMinDb : kSnrMinDb)) return std::nullopt;
  const std::int64_t position = frames[0].from + 2 * kWindowBefore;
  const auto left =
      static_cast<std::int64_t>(kSuperFrameSymbols * (decision.remaining + 1) + p.probe_symbols);
  return PreambleReading{.mode = mode,
                         .data_start = position + 2 * left,
                         .offset_hz = offset_hz_,
                         .snr_db = static_cast<float>(snr_db),
                         .constraint = decision.announced.constraint,
                         .repeats = decision.remaining + count,
                         .period = kSuperFrameSamples,
                         .at = position};
}

}  // namespace s5066::modem::ms110d
