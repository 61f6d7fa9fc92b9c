// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/stanag4285/listener.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "modem/dsp/turn_back.h"
#include "modem/waveforms/framed/burst_demodulator.h"
#include "modem/waveforms/framed/constellation.h"
#include "modem/waveforms/stanag4285/stream_code.h"

namespace s5066::modem::stanag4285 {
namespace {

using dsp::Complex;
using dsp::kPhases;
using dsp::mul_conj;

constexpr float kTiny = 1e-18F;
/// Sums have a memory of four frames.
constexpr float kKept = 0.75F;
/// In noise a sum reaches this less than once in ten hours. It must still reach it later, when
/// every place has been passed in the second frame as well. The synchronisation repeats itself
/// after 31 symbols. Before the first frame, where nothing is sent, a sum takes a part of it for
/// the whole, and one frame later it has counted two when the right place has counted one.
constexpr float kEnough = 25;
constexpr std::size_t kSyncPeriod = 31;  // symbols
constexpr unsigned kHopsToConfirm = 2 + (2 * (kFrameSymbols + kSyncPeriod) + kHop - 1) / kHop;
/// A previous frame exists when its synchronisation exceeds the noise by this factor, which noise
/// does in one of 400 cases. One frame may be missing; the next one then needs kFrameBehindGap.
constexpr float kFrameBefore = 6;
constexpr float kFrameBehindGap = 10;
/// Its power must also not be noise by the noise beside the frames found before. If those exceed
/// the noise by less, kPowerBefore of their power is enough.
constexpr float kNoNoise = 20;
constexpr float kPowerBefore = 0.3F;
constexpr int kFramesBackMax = 16;
constexpr int kWindowBefore = 8;  // symbols around the found position
constexpr unsigned kWindowTaps = 24;
constexpr float kSnrMinDb = -20;

framed::Layout layout_of(const Parameters& p, std::pmr::memory_resource* memory) {
  framed::Layout layout(memory);
  layout.bits_per_symbol = p.bits_per_symbol;
  layout.frames_per_block = 1;
  auto& known = layout.known.emplace_back();
  const auto scrambling = scrambler();
  for (unsigned i = 0; i < kScrambledSymbols; ++i) {
    if (is_data(i)) {
      layout.scrambling.push_back(scrambling[i]);
    } else {
      known.push_back(framed::phase(scrambling[i]));
    }
  }
  for (const std::uint8_t number : sync()) {
    layout.preamble.push_back(framed::phase(number));
    known.push_back(framed::phase(number));
  }
  layout.runs.assign(kDataRuns, {kRunSymbols, kProbeSymbols});
  layout.runs.back().known = kSyncSymbols;
  layout.variants = {0};
  layout.repeats = true;
  layout.window_before = kWindowBefore;
  layout.window_taps = kWindowTaps;
  layout.taps_min = 14;
  layout.taps_max = 26;
  return layout;
}

}  // namespace

Listener::Listener(float noise_share) : noise_share_(noise_share) {
  for (const std::uint8_t number : sync()) sync_.push_back(framed::phase(number));
  for (std::size_t f = 0; f < kOffsets; ++f) {
    const double offset = (static_cast<double>(f) - (kOffsets - 1) / 2.0) * kOffsetStepHz;
    for (std::size_t part = 0; part < kParts; ++part) {
      const double angle =
          -2 * std::numbers::pi * offset * static_cast<double>(2 * kPart * part) / kHalfSymbolRate;
      turns_[f][part] = {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
    }
  }
}

void Listener::set_modes(std::span<const Mode> modes) {
  const auto ours = std::find_if(modes.begin(), modes.end(), [](const Mode& mode) {
    return mode.waveform == Waveform::stanag4285;
  });
  mode_.reset();
  if (ours != modes.end()) mode_ = *ours;
  forget();
}

void Listener::forget() {
  for (auto& sums : sums_) sums.fill(0);
  confirm_in_ = 0;
}

void Listener::restart() {
  forget();
  heard_from_ = 0;
  top_ = 0;
}

std::optional<PreambleReading> Listener::advance(const SampleHistory& history) {
  // The window behind the synchronisation has arrived as well.
  const std::int64_t from =
      history.end() - static_cast<std::int64_t>(kHop + 2 * (kSyncSymbols + kWindowTaps));
  if (!mode_ || from < 0) return std::nullopt;
  add(history, from);
  if (confirm_in_ == 0 && top_ >= kEnough) confirm_in_ = kHopsToConfirm;
  if (confirm_in_ == 0 || --confirm_in_ > 0) return std::nullopt;
  const auto reading = found(history, from);
  if (reading) forget();
  return reading;
}

void Listener::add(const SampleHistory& history, std::int64_t from) {
  constexpr std::size_t kWindow = kHop + 2 * kSyncSymbols;
  const auto y = history.window(from, kWindow);
  alignas(32) std::array<float, kWindow> y_re;
  alignas(32) std::array<float, kWindow> y_im;
  double energy = 0;
  for (std::size_t i = 0; i < kWindow; ++i) {
    y_re[i] = y[i].real();
    y_im[i] = y[i].imag();
    if (i < 2 * kSyncSymbols) energy += static_cast<double>(std::norm(y[i]));
  }
  Row scale;
  for (std::size_t n = 0; n < kHop; ++n) {
    const auto power = static_cast<float>(energy / (2.0 * kSyncSymbols));
    scale[n] = power > kTiny ? 1 / (power * kSyncSymbols) : 0;
    energy += static_cast<double>(std::norm(y[n + 2 * kSyncSymbols])) -
              static_cast<double>(std::norm(y[n]));
    energy = std::max(energy, 0.0);
  }
  std::array<Row, kParts> re{};
  std::array<Row, kParts> im{};
  for (std::size_t c = 0; c < kSyncSymbols; ++c) {
    const float s = sync_[c].real();
    for (std::size_t n = 0; n < kHop; ++n) {
      re[c / kPart][n] += s * y_re[n + 2 * c];
      im[c / kPart][n] += s * y_im[n + 2 * c];
    }
  }
  const auto first = static_cast<std::size_t>(from % static_cast<std::int64_t>(kCells));
  top_ = 0;
  for (std::size_t f = 0; f < kOffsets; ++f) {
    Row sum_re{};
    Row sum_im{};
    for (std::size_t part = 0; part < kParts; ++part) {
      const Complex w = turns_[f][part];
      for (std::size_t n = 0; n < kHop; ++n) {
        sum_re[n] += w.real() * re[part][n] - w.imag() * im[part][n];
        sum_im[n] += w.real() * im[part][n] + w.imag() * re[part][n];
      }
    }
    for (std::size_t n = 0; n < kHop; ++n) {
      const float ratio = (sum_re[n] * sum_re[n] + sum_im[n] * sum_im[n]) * scale[n];
      float& sum = sums_[f][(first + n) % kCells];
      sum = kKept * sum + ratio;
      top_ = std::max(top_, sum);
    }
  }
}

Listener::Sync Listener::sync_at(const SampleHistory& history, std::int64_t position,
                                 double offset_hz) const {
  if (position < std::max<std::int64_t>(history.begin(), 0)) return {};
  std::array<Complex, 2 * kSyncSymbols> samples;
  dsp::turn_back(history.window(position, samples.size()), position, offset_hz / kHalfSymbolRate,
                 samples);
  std::array<Complex, 2> sums;
  float energy = kTiny;
  for (std::size_t c = 0; c < kSyncSymbols; ++c) {
    sums[c / (kSyncSymbols / 2)] += mul_conj(sync_[c], samples[2 * c]);
    energy += std::norm(samples[2 * c]);
  }
  const float power = std::norm(sums[0] + sums[1]);
  return {.power = power, .ratio = power / energy, .halves = mul_conj(sums[0], sums[1])};
}

dsp::WideResponse Listener::response_at(const SampleHistory& history, std::int64_t position,
                                        double offset_hz) const {
  const std::int64_t start = position - 2 * kWindowBefore;
  std::array<Complex, 2 * kSyncSymbols> samples;
  dsp::turn_back(history.window(start, samples.size()), start, offset_hz / kHalfSymbolRate,
                 samples);
  return dsp::estimate_response(sync_, samples, kWindowTaps);
}

// Goes back from the last synchronisation, frame by frame. `noise` is the power of a sample.
Listener::Beginning Listener::begin_of(const SampleHistory& history, std::int64_t last,
                                       double offset_hz, float noise) const {
  constexpr auto kFrame = static_cast<std::int64_t>(kCells);
  const Sync newest = sync_at(history, last, offset_hz);
  Beginning begin{
      .position = last, .begun_before = true, .ratio_now = newest.ratio, .turn = newest.halves};
  float power = newest.power;
  float frames = 1;
  for (int back = 1; back <= kFramesBackMax; ++back) {
    const std::int64_t before = last - back * kFrame;
    const bool behind_gap = begin.position - before > kFrame;
    if (before < heard_from_) {
      begin.begun_before = false;
      break;
    }
    const Sync sync = sync_at(history, before, offset_hz);
    const bool there =
        sync.ratio >= (behind_gap ? kFrameBehindGap : kFrameBefore) &&
        sync.power >= std::min(kNoNoise * kSyncSymbols * noise, kPowerBefore * power / frames);
    if (!there) {
      begin.begun_before = !behind_gap;
      if (behind_gap) break;
      continue;
    }
    begin.position = before;
    begin.turn += sync.halves;
    power += sync.power;
    frames += 1;
  }
  return begin;
}

std::optional<PreambleReading> Listener::found(const SampleHistory& history, std::int64_t from) {
  float best = 0;
  std::size_t cell = 0;
  std::size_t offset = 0;
  for (std::size_t f = 0; f < kOffsets; ++f) {
    const auto top = std::max_element(sums_[f].begin(), sums_[f].end());
    if (*top <= best) continue;
    best = *top;
    cell = static_cast<std::size_t>(top - sums_[f].begin());
    offset = f;
  }
  if (best < kEnough) return std::nullopt;
  double offset_hz = (static_cast<double>(offset) - (kOffsets - 1) / 2.0) * kOffsetStepHz;
  // This is the last occurrence up to now.
  constexpr auto kFrame = static_cast<std::int64_t>(kCells);
  const std::int64_t newest = from + static_cast<std::int64_t>(kHop) - 1;
  const std::int64_t last = newest - (newest - static_cast<std::int64_t>(cell) + kFrame) % kFrame;
  // The signal there may be behind the end of a short burst.
  Sync surest = sync_at(history, last, offset_hz);
  std::int64_t place = last;
  if (const Sync earlier = sync_at(history, last - kFrame, offset_hz);
      earlier.power > surest.power) {
    surest = earlier;
    place = last - kFrame;
  }
  if (place - 2 * kWindowBefore < std::max<std::int64_t>(history.begin(), 0)) return std::nullopt;
  const auto offset_of = [](Complex halves) {
    return static_cast<double>(std::arg(halves)) / (2 * std::numbers::pi) * kHalfSymbolRate /
           kSyncSymbols;
  };
  const float noise = response_at(history, place, offset_hz + offset_of(surest.halves)).noise_power;
  const Beginning begin = begin_of(history, last, offset_hz, noise);
  offset_hz += offset_of(begin.turn);
  const auto response = response_at(history, place, offset_hz);
  const double noise_in_3_khz =
      static_cast<double>(response.noise_power / noise_share_) * 3000 / kHalfSymbolRate;
  const double ratio = static_cast<double>(response.signal_power) / std::max(noise_in_3_khz, 1e-30);
  return PreambleReading{
      .mode = *mode_,
      .data_start = begin.position + 2 * static_cast<std::int64_t>(kSyncSymbols),
      .offset_hz = offset_hz,
      .snr_db = static_cast<float>(std::max<double>(kSnrMinDb, 10 * std::log10(ratio + 1e-9))),
      .strength = std::min(1.0F, begin.ratio_now / kSyncSymbols),
      .begun_before = begin.begun_before};
}

InMemory<Demodulator> Listener::demodulator(const PreambleReading& reading,
                                            BurstMemory& memory) const {
  const Parameters p = parameters(reading.mode);
  return make_in<framed::BurstDemodulator>(memory, reading, layout_of(p, &memory),
                                           make_in<StreamCode>(memory, p, &memory), noise_share_,
                                           memory);
}

std::vector<TrafficPattern> Listener::traffic() const {
  TrafficPattern pattern{.mode = {Waveform::stanag4285, 600, Interleaver::short_},
                         .cycle = kFrameSymbols};
  for (std::size_t at = 0; at < kSyncSymbols; at += TrafficPattern::kChipsMax) {
    const std::size_t to = std::min<std::size_t>(kSyncSymbols, at + TrafficPattern::kChipsMax);
    pattern.parts.push_back({.start = at,
                             .chips = {sync_.begin() + static_cast<std::ptrdiff_t>(at),
                                       sync_.begin() + static_cast<std::ptrdiff_t>(to)}});
  }
  return {std::move(pattern)};
}

}  // namespace s5066::modem::stanag4285
