#include "modem/waveforms/stanag4539/late_entry.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <span>

#include "modem/api/airtime.h"
#include "modem/dsp/least_squares.h"
#include "modem/dsp/turn_back.h"
#include "modem/waveforms/framed/demapper.h"

namespace s5066::modem::stanag4539 {
namespace {

using dsp::Complex;
using dsp::kPhases;
using dsp::mul_conj;

/// The search takes parts of eight symbols; the last one is not known.
constexpr unsigned kSearched = 104;
/// Of 64 known symbols noise reaches this a few times a day at any offset, and is then read.
constexpr float kStrengthMin = 0.3F;

/// Taps either way of the found position, at half-symbol steps: what the period of a probe, 16
/// symbols, can tell apart.
constexpr int kTapsBefore = 14;
constexpr std::size_t kTaps = 32;
constexpr unsigned kPeriod = 16;
constexpr unsigned kPeriodAt = 7;                                 // of a probe
constexpr unsigned kSecondProbeAt = kEntrySymbols - kFrameProbe;  // the sign of the first reversed
/// A tap is left out when it has less than this part of the strongest's power, or does not rise
/// above its error by so much.
constexpr float kTapShare = 0.05F;
constexpr float kTapNoiseFactor = 4;

/// Each digit counts 1 when it is as strong as the probes are and 0 when it is of another sign or
/// quarter. What the three must come to, and by how much they must lead the next mode's.
constexpr float kAgreementMin = 2;
constexpr float kLeadMin = 0.6F;

/// Of the probes of so many frames before one must have come by the same response: 1 if it stood
/// still.
constexpr unsigned kProbesBefore = 3;
constexpr float kFitMin = 0.5F;

constexpr std::size_t kReadBefore = 8;
constexpr std::size_t kReadTaps = 24;
/// The lowest rate needs more.
constexpr float kSnrMinDb = 3;
constexpr float kTiny = 1e-20F;

/// A cycle was heard when in each of its parts of so many frames, about a second, the responses by
/// probes in a row are alike by so much on average. Noise comes to 0.03.
constexpr unsigned kFramesJudged = 8;
constexpr float kLikenessMin = 0.2F;
/// Half-symbol samples in front of what is inserted that a demodulator looks at.
constexpr std::int64_t kMarginSamples = 128;

std::array<Complex, kEntrySymbols> entry_symbols(const Parameters& p) {
  std::array<Complex, kEntrySymbols> out;
  const auto numbers = preamble(p);
  std::transform(numbers.end() - kEntrySymbols, numbers.end(), out.begin(), phase);
  return out;
}

// With nothing in place of the digits.
std::array<Complex, kSearched> searched_symbols() {
  std::array<Complex, kSearched> out{};
  const auto symbols = entry_symbols(Parameters{});
  std::copy(symbols.begin(), symbols.end(), out.begin());
  std::fill_n(out.begin() + kFrameProbe + 1, kAnnouncementDigits * kDigitSymbols, Complex());
  return out;
}

using Taps = std::array<Complex, kTaps>;

// The response by one period of a probe that begins `at` symbols behind the position, which stands
// at sample 2 * kReadBefore.
Taps response_by_probe(std::span<const Complex> samples, unsigned at) {
  Taps taps{};
  for (std::size_t k = 0; k < kTaps; ++k) {
    for (unsigned i = kPeriodAt; i < kPeriodAt + kPeriod; ++i) {
      const std::size_t n = 2 * (kReadBefore + at + i) + k - kTapsBefore;
      taps[k] += (1.0F / kPeriod) * mul_conj(phase(probe()[i]), samples[n]);
    }
  }
  return taps;
}

// How far each digit agrees with each phase, the response being known.
Complex digit_seen(std::span<const Complex> samples, const Taps& taps, unsigned digit) {
  const unsigned at = kFrameProbe + 1 + digit * kDigitSymbols;
  Complex seen;
  for (std::size_t k = 0; k < kTaps; ++k) {
    if (taps[k] == Complex()) continue;
    Complex sum;
    for (unsigned i = 0; i < kDigitSymbols; ++i) {
      sum +=
          mul_conj(phase(kDigitPattern[i]), samples[2 * (kReadBefore + at + i) + k - kTapsBefore]);
    }
    seen += mul_conj(taps[k], sum);
  }
  return seen;
}

// 1 for two responses that differ by one factor, 1 / kTaps on average for two of noise.
float likeness(const Taps& a, const Taps& b) {
  Complex both;
  float power_a = kTiny;
  float power_b = kTiny;
  for (std::size_t k = 0; k < kTaps; ++k) {
    both += mul_conj(a[k], b[k]);
    power_a += std::norm(a[k]);
    power_b += std::norm(b[k]);
  }
  return std::norm(both) / (power_a * power_b);
}

}  // namespace

LateEntry::LateEntry(float noise_share)
    : noise_share_(noise_share), search_(searched_symbols(), {.strength_min = kStrengthMin}) {}

void LateEntry::restart() {
  search_.restart();
  end_ = 0;
  heard_from_ = 0;
}

std::optional<PreambleReading> LateEntry::advance(const SampleHistory& history) {
  end_ = history.end();
  const auto candidate = search_.advance(history, 2 * kReadTaps);
  return candidate ? read(history, *candidate) : std::nullopt;
}

std::optional<PreambleReading> LateEntry::read(const SampleHistory& history,
                                               const framed::SearchCandidate& candidate) const {
  const std::int64_t from = candidate.position - 2 * static_cast<std::int64_t>(kReadBefore);
  if (from < history.begin()) return std::nullopt;
  double offset_hz = candidate.offset_hz;
  std::array<Complex, 2 * (kEntrySymbols + kReadTaps)> samples;
  const auto window = history.window(from, samples.size());
  Taps first;
  Taps second;
  // The two probes lie 30 ms apart.
  for (unsigned i = 0; i < 2; ++i) {
    dsp::turn_back(window, from, offset_hz / kHalfSymbolRate, samples);
    first = response_by_probe(samples, 0);
    second = response_by_probe(samples, kSecondProbeAt);
    Complex turned;
    for (std::size_t k = 0; k < kTaps; ++k) turned -= mul_conj(first[k], second[k]);
    if (i > 0 || std::norm(turned) < kTiny) continue;
    offset_hz += std::arg(turned) * kSymbolRate /
                 (2 * std::numbers::pi * static_cast<double>(kSecondProbeAt));
  }
  Taps taps{};
  float error = 0;
  float strongest = 0;
  for (std::size_t k = 0; k < kTaps; ++k) {
    taps[k] = 0.5F * (first[k] - second[k]);
    error += 0.25F / kTaps * std::norm(first[k] + second[k]);
    strongest = std::max(strongest, std::norm(taps[k]));
  }
  const float least = std::min(strongest, std::max(kTapShare * strongest, kTapNoiseFactor * error));
  float energy = kTiny;
  for (Complex& tap : taps) {
    if (std::norm(tap) < least) tap = 0;
    energy += std::norm(tap);
  }

  float fit = 0;
  std::array<Complex, 2 * (kFrameProbe + kReadTaps)> earlier;
  for (unsigned frame = 1; frame <= kProbesBefore; ++frame) {
    const std::int64_t at = from - 2 * static_cast<std::int64_t>(frame * kFrameSymbols);
    if (at < history.begin()) return std::nullopt;
    dsp::turn_back(history.window(at, earlier.size()), at, offset_hz / kHalfSymbolRate, earlier);
    const Taps then = response_by_probe(earlier, 0);
    Complex sum;
    for (std::size_t k = 0; k < kTaps; ++k) sum += mul_conj(taps[k], then[k]);
    fit = std::max(fit, std::abs(sum) / energy);
  }
  if (fit < kFitMin) return std::nullopt;

  std::array<Complex, kAnnouncementDigits> seen;
  for (unsigned digit = 0; digit < kAnnouncementDigits; ++digit) {
    seen[digit] = (1 / (energy * kDigitSymbols)) * digit_seen(samples, taps, digit);
  }
  float best = 0;
  float next = 0;
  std::optional<Mode> mode;
  for (const Mode& candidate_mode : all_modes()) {
    if (candidate_mode.waveform != Waveform::stanag4539) continue;
    const auto digits = announcement(parameters(candidate_mode));
    float agreement = 0;
    for (unsigned digit = 0; digit < kAnnouncementDigits; ++digit) {
      agreement += mul_conj(phase(digits[digit]), seen[digit]).real();
    }
    next = std::max(next, std::min(best, agreement));
    if (agreement <= best) continue;
    best = agreement;
    mode = candidate_mode;
  }
  if (!mode || best < kAgreementMin || best < next + kLeadMin) return std::nullopt;

  // Now that every symbol is known: the ratio of signal to noise, the signal being that of the
  // data.
  const Parameters p = parameters(*mode);
  const auto response = dsp::estimate_response(entry_symbols(p), samples, kReadTaps);
  const float explained =
      response.signal_power / (response.signal_power + response.noise_power + kTiny);
  const float data = framed::Demapper(p.bits_per_symbol).power();
  const float power = (kFrameData * data + kFrameProbe) / kFrameSymbols;
  const double noise_in_3_khz =
      static_cast<double>(response.noise_power / noise_share_) * 3000 / kHalfSymbolRate;
  const double ratio =
      static_cast<double>(response.signal_power * power) / std::max(noise_in_3_khz, 1e-30);
  const auto snr_db = static_cast<float>(10 * std::log10(ratio + 1e-9));
  if (snr_db < kSnrMinDb) return std::nullopt;
  const std::int64_t cycle =
      cycle_was_heard(history, candidate.position, offset_hz) ? kPhases * kCycleSymbols : 0;
  return PreambleReading{
      .mode = *mode,
      .data_start = candidate.position + 2 * static_cast<std::int64_t>(kEntrySymbols) - cycle,
      .offset_hz = offset_hz,
      .snr_db = snr_db,
      .strength = explained,
      .late = true,
      .read_again = cycle};
}

// Whether the responses by each two probes that follow each other are alike, from the first of the
// cycle that ends at the position.
bool LateEntry::cycle_was_heard(const SampleHistory& history, std::int64_t position,
                                double offset_hz) const {
  const std::int64_t from = position - 2 * static_cast<std::int64_t>(kReadBefore);
  const std::int64_t first = from - kPhases * kFramesInCycle * kFrameSymbols;
  const std::int64_t entry = from - kPhases * kCycleSymbols;
  if (entry < heard_from_ || entry - kMarginSamples < history.begin()) return false;
  std::array<Complex, 2 * (kFrameProbe + kReadTaps)> samples;
  Taps last{};
  float alike = 0;
  for (unsigned frame = 0; frame <= kFramesInCycle; ++frame) {
    const std::int64_t at = first + kPhases * static_cast<std::int64_t>(frame * kFrameSymbols);
    dsp::turn_back(history.window(at, samples.size()), at, offset_hz / kHalfSymbolRate, samples);
    const Taps taps = response_by_probe(samples, 0);
    if (frame > 0) alike += likeness(last, taps);
    last = taps;
    if (frame == 0 || frame % kFramesJudged > 0) continue;
    if (alike < kLikenessMin * kFramesJudged) return false;
    alike = 0;
  }
  return true;
}

}  // namespace s5066::modem::stanag4539
