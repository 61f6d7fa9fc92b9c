// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/stanag4539/preamble_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <span>

#include "modem/dsp/course_fit.h"
#include "modem/dsp/least_squares.h"
#include "modem/dsp/turn_back.h"
#include "modem/waveforms/framed/demapper.h"
#include "modem/waveforms/framed/probed_demodulator.h"
#include "modem/waveforms/stanag4539/parameters.h"
#include "s5066d/base/fixed_vector.h"

namespace s5066::modem::stanag4539 {
namespace {

using dsp::Complex;
using dsp::kPhases;
using framed::kWindowBefore;
using framed::kWindowTaps;

constexpr unsigned kCodes = 8;  // values of a code of three bits
/// The best reading must explain this share of the announcement's power and of that of the symbols
/// before it, where beginning speech has none. It must lead the next one by kLeadMin in
/// log-likelihood and by kLeadShareMin of the announcement's power.
constexpr double kExplainedMin = 0.3;
constexpr double kLeadMin = 10;
constexpr double kLeadShareMin = 0.05;
/// A response that passes through zero within the preamble looks like a continuous turn, so the
/// search finds an offset that is wrong by this much.
constexpr double kOffsetStepHz = 3;
constexpr int kOffsetSteps = 4;  // steps in either direction
/// Taps below this many times their expected error count as noise and are left out. Only the
/// strongest of the others are kept.
constexpr double kTapNoiseFactor = 2;
constexpr std::size_t kTapsMax = 16;
/// The variance of the noise relative to that of a tap in the wide window. It is small because a
/// tap is hardly limited.
constexpr double kWideWeight = 0.01;
constexpr std::size_t kWideTerms = 2;  // terms of a line
constexpr std::size_t kTerms = 3;      // terms of a parabola
constexpr double kSnrMinDb = -20;
constexpr double kTiny = 1e-20;

using Symbols = std::array<Complex, kPreambleSymbols>;
using Samples = std::array<Complex, kPhases * kPreambleSymbols>;

Symbols symbols_of(const Parameters& p) {
  Symbols out;
  const auto numbers = preamble(p);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = phase(numbers[i]);
  return out;
}

double power_of(std::span<const Complex> samples) {
  double sum = kTiny;
  for (const Complex& y : samples) sum += static_cast<double>(std::norm(y));
  return sum;
}

/// Reads one preamble in three steps.
class Reader {
 public:
  /// The window in which paths are searched begins with the half-symbol sample `from`.
  Reader(const SampleHistory& history, std::int64_t from, double offset_hz)
      : received_(history.window(from, kPhases * kPreambleSymbols)),
        from_(from),
        offset_hz_(offset_hz) {}

  /// Finds the carrier's offset and the taps from the symbols that are always the same. Returns
  /// false when no tap is significant.
  bool learn_taps();
  /// Returns false when no announcement is certain enough.
  bool read_announcement();
  /// Uses all symbols and is exact to a fraction of a hertz.
  void find_offset();

  const Parameters& announced() const { return announced_; }
  double explained() const { return explained_; }
  double offset_hz() const { return offset_hz_; }
  /// The result has two samples for each symbol.
  const Samples& turn_back(double offset_hz) {
    dsp::turn_back(received_, from_, offset_hz / kHalfSymbolRate, samples_);
    return samples_;
  }

 private:
  void choose_taps(const dsp::CourseFit& fit, double noise, double error);
  dsp::CourseFit fit_of_taps() const;
  double power_behind(std::size_t row) const {
    return power_of(std::span(samples_).subspan(kPhases * row));
  }

  std::span<const Complex> received_;
  std::int64_t from_;
  double offset_hz_;
  Samples samples_;  // samples without the carrier's offset
  FixedVector<std::uint8_t, kTapsMax> delays_;
  FixedVector<double, kTapsMax> weights_;
  Parameters announced_;
  double explained_ = 0;
};

bool Reader::learn_taps() {
  constexpr std::size_t kFirst = kWindowTaps - 1;
  constexpr std::size_t kRows = kAnnouncementAt - kFirst;
  const Symbols symbols = symbols_of(Parameters{});
  std::array<std::uint8_t, kWindowTaps> delays;
  for (std::uint8_t tap = 0; tap < kWindowTaps; ++tap) delays[tap] = tap;
  dsp::CourseFit fit(delays, kWideTerms, kAnnouncementAt);
  for (std::size_t tap = 0; tap < kWindowTaps; ++tap) fit.expect(tap, kWideWeight);
  fit.add_symbols(symbols, kFirst, kAnnouncementAt);
  const auto explained_at = [&](double offset_hz) {
    fit.clear_samples();
    fit.add_samples(symbols, turn_back(offset_hz), kFirst, kAnnouncementAt);
    return fit.solve();
  };
  double most = -1;
  const double found_hz = offset_hz_;
  for (int step = -kOffsetSteps; step <= kOffsetSteps; ++step) {
    const double offset_hz = found_hz + kOffsetStepHz * step;
    const double explained = explained_at(offset_hz);
    if (explained <= most) continue;
    most = explained;
    offset_hz_ = offset_hz;
  }
  for (unsigned i = 0; i < 2; ++i) {
    explained_at(offset_hz_);
    offset_hz_ += fit.turn() * kHalfSymbolRate;
  }
  const double left = -explained_at(offset_hz_) +
                      power_of(std::span(samples_).subspan(kPhases * kFirst, kPhases * kRows));
  const auto spare = static_cast<double>(kRows - fit.unknowns());
  const double noise = std::max(left, 0.0) / (kPhases * spare) + kTiny;
  choose_taps(fit, noise, kWideTerms * noise / spare);
  return !delays_.empty();
}

void Reader::choose_taps(const dsp::CourseFit& fit, double noise, double error) {
  std::array<double, kWindowTaps> powers;
  for (std::size_t tap = 0; tap < kWindowTaps; ++tap) powers[tap] = fit.power(tap);
  auto sorted = powers;
  const auto first_left_out = sorted.begin() + kTapsMax;
  std::nth_element(sorted.begin(), first_left_out, sorted.end(), std::greater<>());
  const double least = std::max(kTapNoiseFactor * error, *first_left_out);
  for (std::uint8_t tap = 0; tap < kWindowTaps; ++tap) {
    if (powers[tap] <= least) continue;
    delays_.push_back(tap);
    weights_.push_back(noise / (powers[tap] - error));
  }
}

dsp::CourseFit Reader::fit_of_taps() const {
  dsp::CourseFit fit({delays_.data(), delays_.size()}, kTerms, kPreambleSymbols);
  for (std::size_t tap = 0; tap < weights_.size(); ++tap) fit.expect(tap, weights_[tap]);
  return fit;
}

bool Reader::read_announcement() {
  const std::size_t first = delays_.back();  // the first row with symbols of the preamble only
  turn_back(offset_hz_);
  dsp::CourseFit known = fit_of_taps();
  const Symbols fixed = symbols_of(Parameters{});
  known.add_symbols(fixed, first, kAnnouncementAt);
  known.add_samples(fixed, samples_, first, kAnnouncementAt);
  double most = -1;
  double next = -1;
  double left = 0;
  double left_before = 0;
  for (unsigned codes = 0; codes < kCodes * kCodes; ++codes) {
    Parameters p;
    p.rate_code = static_cast<std::uint8_t>(codes / kCodes);
    p.interleaver_code = static_cast<std::uint8_t>(codes % kCodes);
    const Symbols symbols = symbols_of(p);
    dsp::CourseFit fit = known;
    fit.add_symbols(symbols, kAnnouncementAt, kPreambleSymbols);
    fit.add_samples(symbols, samples_, kAnnouncementAt, kPreambleSymbols);
    const double explained = fit.solve();
    next = std::max(next, std::min(explained, most));
    if (explained <= most) continue;
    most = explained;
    announced_ = p;
    left = fit.left_over(symbols, samples_, kAnnouncementAt, kPreambleSymbols);
    left_before = fit.left_over(symbols, samples_, first, kAnnouncementAt);
  }
  const double heard = power_behind(kAnnouncementAt);
  const double heard_before = std::max(power_behind(first) - heard, kTiny);
  const auto spare = static_cast<double>(kPreambleSymbols - first - known.unknowns());
  const double noise = std::max(power_behind(first) - most, 0.0) / (kPhases * spare);
  const double lead = most - next;
  explained_ = 1 - std::max(left / heard, left_before / heard_before);
  return explained_ >= kExplainedMin && lead >= kLeadShareMin * heard && lead >= kLeadMin * noise;
}

void Reader::find_offset() {
  const Symbols symbols = symbols_of(announced_);
  const std::size_t first = delays_.back();
  dsp::CourseFit fit = fit_of_taps();
  fit.add_symbols(symbols, first, kPreambleSymbols);
  for (unsigned i = 0; i < 2; ++i) {
    fit.clear_samples();
    fit.add_samples(symbols, turn_back(offset_hz_), first, kPreambleSymbols);
    fit.solve();
    offset_hz_ += fit.turn() * kHalfSymbolRate;
  }
}

}  // namespace

std::optional<PreambleReading> read_preamble(const SampleHistory& history,
                                             const framed::SearchCandidate& candidate,
                                             float noise_share) {
  const std::int64_t from = candidate.position - 2 * kWindowBefore;
  if (from < history.begin()) return std::nullopt;
  Reader reader(history, from, candidate.offset_hz);
  if (!reader.learn_taps() || !reader.read_announcement()) return std::nullopt;
  const Parameters& announced = reader.announced();
  const auto mode = mode_announced(announced.rate_code, announced.interleaver_code);
  if (!mode) return std::nullopt;
  reader.find_offset();

  // The ratio of signal to noise is that of the data.
  const dsp::WideResponse response = dsp::estimate_response(
      symbols_of(announced), reader.turn_back(reader.offset_hz()), kWindowTaps);
  const float data = framed::Demapper(parameters(*mode).bits_per_symbol).power();
  const float power = (kFrameData * data + kFrameProbe) / kFrameSymbols;
  const double noise_in_3_khz =
      static_cast<double>(response.noise_power / noise_share) * 3000 / kHalfSymbolRate;
  const double ratio =
      static_cast<double>(response.signal_power * power) / std::max(noise_in_3_khz, 1e-30);
  return PreambleReading{
      .mode = *mode,
      .data_start = candidate.position + 2 * static_cast<std::int64_t>(kPreambleSymbols),
      .offset_hz = reader.offset_hz(),
      .snr_db = static_cast<float>(std::max(kSnrMinDb, 10 * std::log10(ratio + 1e-9))),
      .strength = static_cast<float>(reader.explained())};
}

}  // namespace s5066::modem::stanag4539
