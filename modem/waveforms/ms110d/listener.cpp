#include "modem/waveforms/ms110d/listener.h"

#include <algorithm>
#include <cmath>

#include "modem/api/airtime.h"
#include "modem/dsp/least_squares.h"
#include "modem/dsp/turn_back.h"
#include "modem/waveforms/framed/burst_demodulator.h"
#include "modem/waveforms/framed/constellation.h"
#include "modem/waveforms/framed/demapper.h"
#include "modem/waveforms/ms110d/code.h"
#include "modem/waveforms/ms110d/walsh_signal.h"
#include "modem/waveforms/walsh/demodulator.h"

namespace s5066::modem::ms110d {
namespace {

using dsp::Complex;
using dsp::kPhases;
using dsp::mul;
using framed::kWindowBefore;
using framed::kWindowTaps;

constexpr unsigned kFixedSymbols = kFixedDibits * kChannelSymbol;
constexpr unsigned kDibits = 4;
constexpr unsigned kReadDibits = kCountDibits + kNumberDibits;
/// How far the best reading must lead the next, as a log-likelihood.
constexpr float kLeadMin = 12;
constexpr float kTapNoiseFactor = 5;
/// What is weaker is speech that looks like a preamble. Number 0 works at -6 dB and somewhat below.
constexpr double kSnrMinDb = -8;
constexpr double kWalshSnrMinDb = -10.5;
/// What is expected where the standard asks for white noise only (12000 and 16000 bit/s).
constexpr double kStillHz = 0.2;
constexpr float kTiny = 1e-20F;

// From the beginning of a super-frame on.
template <std::size_t kDibitCount>
std::array<Complex, kDibitCount * kChannelSymbol> symbols_of(
    const std::array<std::uint8_t, kDibitCount>& dibits) {
  std::array<Complex, kDibitCount * kChannelSymbol> out;
  for (unsigned place = 0; place < kDibitCount; ++place) {
    const auto numbers = channel_symbol(place, dibits[place]);
    for (unsigned i = 0; i < kChannelSymbol; ++i) {
      out[place * kChannelSymbol + i] = framed::phase(numbers[i]);
    }
  }
  return out;
}

// What every dibit explains of the samples at each place behind the fixed ones, in relation to
// noise: a log-likelihood but for what all have in common. Neighbouring channel symbols are left
// out of account.
using Scores = std::array<std::array<float, kDibits>, kReadDibits>;
Scores score(std::span<const Complex> taps, std::span<const Complex> samples, float noise) {
  Scores out{};
  const std::size_t count = taps.size() / kPhases;
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
            sum += dsp::mul_conj(framed::phase(numbers[i]), samples[kPhases * row + p]);
          }
          out[place][dibit] += 2 * dsp::mul_conj(tap, sum).real() / noise;
        }
      }
    }
  }
  return out;
}

struct Reading {
  Announced announced;
  unsigned remaining = 0;
  float lead = 0;
};

float sum_of(const Scores& scores, std::size_t first, std::span<const std::uint8_t> dibits) {
  float sum = 0;
  for (std::size_t i = 0; i < dibits.size(); ++i) sum += scores[first + i][dibits[i]];
  return sum;
}

// The most likely count and announcement that pass their checks.
std::optional<Reading> decide(const Scores& scores) {
  struct Best {
    float first = -1e30F;
    float second = -1e30F;
    void take(float value) {
      second = std::max(second, std::min(first, value));
      first = std::max(first, value);
    }
  };
  Reading reading;
  Best count;
  Best number;
  const auto all = [](unsigned index, auto& dibits) {
    for (std::size_t i = dibits.size(); i-- > 0; index >>= 2) {
      dibits[i] = static_cast<std::uint8_t>(index & 3);
    }
  };
  std::array<std::uint8_t, kCountDibits> counts{};
  for (unsigned index = 0; index < 1U << 2 * kCountDibits; ++index) {
    all(index, counts);
    const auto value = count_of(counts);
    if (!value) continue;
    const float sum = sum_of(scores, 0, counts);
    if (sum > count.first) reading.remaining = *value;
    count.take(sum);
  }
  bool found = false;
  std::array<std::uint8_t, kNumberDibits> numbers{};
  for (unsigned index = 0; index < 1U << 2 * kNumberDibits; ++index) {
    all(index, numbers);
    const float sum = sum_of(scores, kCountDibits, numbers);
    if (sum <= number.second) continue;
    const auto value = announced(numbers);
    if (!value) continue;
    if (sum > number.first) reading.announced = *value;
    found = true;
    number.take(sum);
  }
  if (!found) return std::nullopt;
  reading.lead = std::min(count.first - count.second, number.first - number.second);
  return reading;
}

}  // namespace

framed::Layout layout_of(const Parameters& p, std::pmr::memory_resource* memory) {
  framed::Layout layout(memory);
  layout.bits_per_symbol = p.bits_per_symbol;
  layout.frames_per_block = p.frames_per_block;
  layout.runs = {{p.data_symbols, p.probe_symbols}};
  for (const bool marker : {false, true}) {
    const auto known = probe(p, marker);
    layout.known.emplace_back(known.begin(), known.end());
  }
  for (unsigned frame = 0; frame < p.frames_per_cycle; ++frame) {
    layout.variants.push_back(is_marker(p, frame) ? 1 : 0);
  }
  const auto symbols = symbols_of(super_frame(p, 0));
  layout.preamble.assign(symbols.begin(), symbols.end());
  const auto before = probe(p, false);
  layout.preamble.insert(layout.preamble.end(), before.begin(), before.end());
  const auto scrambling = scrambler(p);
  layout.scrambling.assign(scrambling.begin(), scrambling.end());
  if (p.number == 11 || p.number == 12) layout.doppler_hz = kStillHz;
  // Frames do not reach into each other's data.
  layout.taps_max = std::min(layout.taps_max, static_cast<int>(p.probe_symbols) + 1);
  return layout;
}

Listener::Listener(float noise_share)
    : noise_share_(noise_share),
      search_(symbols_of(fixed_dibits()), {.offset_step_hz = 4, .offsets = 43}) {}

void Listener::restart() {
  search_.restart();
  refused_ = 0;
}

std::optional<PreambleReading> Listener::advance(const SampleHistory& history) {
  constexpr std::int64_t kBehind = 2 * (kSuperFrameSymbols - kFixedSymbols + kWindowTaps);
  const auto candidate = search_.advance(history, kBehind);
  if (!candidate) return std::nullopt;
  const auto reading = read(history, *candidate);
  if (!reading) ++refused_;
  return reading;
}

std::optional<PreambleReading> Listener::read(const SampleHistory& history,
                                              const framed::SearchCandidate& candidate) const {
  const std::int64_t from = candidate.position - 2 * kWindowBefore;
  if (from < history.begin()) return std::nullopt;
  std::array<Complex, kPhases*(kSuperFrameSymbols + kWindowTaps)> samples;
  const auto window = history.window(from, samples.size());
  double offset_hz = candidate.offset_hz;
  const auto known = symbols_of(fixed_dibits());
  dsp::WideResponse response;
  for (unsigned i = 0; i < 3; ++i) {
    dsp::turn_back(window, from, offset_hz / kHalfSymbolRate, samples);
    response = dsp::estimate_response(known, samples, kWindowTaps);
    if (i < 2) offset_hz += response.offset_turn * kHalfSymbolRate;
  }
  const float tap_noise =
      response.noise_power / static_cast<float>(kFixedSymbols - kWindowTaps + 1);
  for (Complex& tap : response.taps) {
    if (std::norm(tap) < kTapNoiseFactor * tap_noise) tap = 0;
  }
  const auto reading = decide(score(response.taps, samples, response.noise_power + kTiny));
  if (!reading || reading->lead < kLeadMin) return std::nullopt;
  const Mode& mode = reading->announced.mode;

  // Now that every symbol is known: the offset to a fraction of a hertz, and the ratio of signal to
  // noise, the signal being that of the data.
  const Parameters p = parameters(mode, reading->announced.constraint);
  const auto all = symbols_of(super_frame(p, reading->remaining));
  for (unsigned i = 0; i < 2; ++i) {
    dsp::turn_back(window, from, offset_hz / kHalfSymbolRate, samples);
    response = dsp::estimate_response(all, samples, kWindowTaps);
    offset_hz += response.offset_turn * kHalfSymbolRate;
  }
  const float data = framed::Demapper(p.bits_per_symbol).power();
  const auto share = static_cast<float>(p.data_symbols) / static_cast<float>(p.frame_symbols());
  const float power = share * data + 1 - share;
  const double noise_in_3_khz =
      static_cast<double>(response.noise_power / noise_share_) * 3000 / kHalfSymbolRate;
  const double ratio =
      static_cast<double>(response.signal_power * power) / std::max(noise_in_3_khz, 1e-30);
  const double snr_db = 10 * std::log10(ratio + 1e-9);
  if (snr_db < (p.walsh ? kWalshSnrMinDb : kSnrMinDb)) return std::nullopt;
  const auto left =
      static_cast<std::int64_t>(kSuperFrameSymbols * (reading->remaining + 1) + p.probe_symbols);
  return PreambleReading{.mode = mode,
                         .data_start = candidate.position + 2 * left,
                         .offset_hz = offset_hz,
                         .snr_db = static_cast<float>(snr_db),
                         .strength = candidate.strength,
                         .constraint = reading->announced.constraint,
                         .repeats = reading->remaining + 1};
}

InMemory<Demodulator> Listener::demodulator(const PreambleReading& reading,
                                            BurstMemory& memory) const {
  const Parameters p = parameters(reading.mode, reading.constraint);
  if (p.walsh) {
    auto signal =
        make_in<WalshSignal>(memory, reading.mode, reading.constraint, reading.repeats, memory);
    return make_in<walsh::WalshDemodulator>(memory, reading, std::move(signal), noise_share_,
                                            memory);
  }
  return make_in<framed::BurstDemodulator>(
      memory, reading, layout_of(p, &memory),
      make_in<framed::TailBitingCode>(memory, code_of(p), &memory), noise_share_, memory);
}

// The probes. Those that mark the end of a cycle are too few to matter.
std::vector<TrafficPattern> Listener::traffic() const {
  std::vector<TrafficPattern> patterns;
  for (const std::uint32_t rate_bps : {300U, 1200U, 3200U, 12000U}) {
    const Mode mode{Waveform::ms110d, rate_bps, Interleaver::short_};
    const Parameters p = parameters(mode);
    const auto known = probe(p, false);
    const auto chips = std::span(known).first(std::min(known.size(), TrafficPattern::kChipsMax));
    patterns.push_back(
        {.mode = mode,
         .cycle = p.frame_symbols(),
         .memory_s = 1,
         .parts = {{.start = p.data_symbols, .chips = {chips.begin(), chips.end()}}}});
  }
  return patterns;
}

}  // namespace s5066::modem::ms110d
