#include "modem/waveforms/stanag4539/listener.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "modem/dsp/least_squares.h"
#include "modem/dsp/turn_back.h"
#include "modem/waveforms/framed/burst_demodulator.h"
#include "modem/waveforms/framed/demapper.h"

namespace s5066::modem::stanag4539 {
namespace {

using dsp::Complex;
using dsp::kPhases;
using dsp::mul;
using framed::kWindowBefore;
using framed::kWindowTaps;

constexpr unsigned kCodes = 8;  // values of a code of three bits
/// How much of the announcement's power the best reading must explain, and how far it must lead the
/// next, in log-likelihood and as part of the power.
constexpr float kExplainedMin = 0.15F;
constexpr float kLeadMin = 10;
constexpr float kLeadShareMin = 0.1F;
/// Taps below this many times their expected error are noise and left out.
constexpr float kTapNoiseFactor = 5;
constexpr float kSnrMinDb = -20;
/// A probe, and what is inserted behind it.
constexpr unsigned kEntrySymbols = kFrameProbe + kInsertedSymbols;
constexpr float kTiny = 1e-20F;

template <std::size_t kCount>
std::array<Complex, kCount> phases_of(const std::array<std::uint8_t, kCount>& numbers) {
  std::array<Complex, kCount> out;
  for (std::size_t i = 0; i < kCount; ++i) out[i] = phase(numbers[i]);
  return out;
}

/// What is left of the samples that the announcement plays a part in when a reading is right.
float left_over(std::span<const Complex> symbols, std::span<const Complex> taps,
                std::span<const Complex> samples) {
  const std::size_t count = taps.size() / kPhases;
  float left = 0;
  for (std::size_t row = kAnnouncementAt; row < symbols.size(); ++row) {
    for (std::size_t p = 0; p < kPhases; ++p) {
      Complex rest = samples[kPhases * row + p];
      for (std::size_t l = 0; l < count; ++l) {
        const Complex tap = taps[kPhases * l + p];
        if (tap != Complex()) rest -= mul(tap, symbols[row - l]);
      }
      left += std::norm(rest);
    }
  }
  return left;
}

}  // namespace

framed::Layout layout_of(const Parameters& p, std::pmr::memory_resource* memory) {
  framed::Layout layout(memory);
  layout.bits_per_symbol = p.bits_per_symbol;
  layout.frames_per_block = p.frames_per_block;
  layout.runs = {{kFrameData, kFrameProbe}};
  layout.known.resize(2);
  for (const std::uint8_t number : probe()) {
    layout.known[0].push_back(phase(number));
    layout.known[1].push_back(-phase(number));
  }
  for (unsigned frame = 0; frame < kFramesInCycle; ++frame) {
    layout.variants.push_back(probe_is_negative(p, frame) ? 1 : 0);
  }
  const auto symbols = phases_of(preamble(p));
  layout.preamble.assign(symbols.begin(), symbols.end());
  layout.inserted.assign(layout.preamble.end() - kInsertedSymbols, layout.preamble.end());
  const auto scrambling = scrambler(p);
  layout.scrambling.assign(scrambling.begin(), scrambling.end());
  // Frames do not reach into each other's data.
  layout.taps_max = std::min(layout.taps_max, static_cast<int>(kFrameProbe) + 1);
  return layout;
}

Listener::Listener(float noise_share)
    : noise_share_(noise_share),
      search_(std::span<const Complex>(phases_of(preamble(Parameters{}))).first(kFixedSymbols), {}),
      late_(noise_share) {}

void Listener::restart() {
  search_.restart();
  late_.restart();
  end_ = 0;
  refused_ = 0;
}

std::optional<PreambleReading> Listener::advance(const SampleHistory& history) {
  end_ = history.end();
  constexpr std::int64_t kBehind = 2 * (kPreambleSymbols - kFixedSymbols + kWindowTaps);
  const auto candidate = search_.advance(history, kBehind);
  if (!candidate) return std::nullopt;
  const auto reading = read(history, *candidate);
  if (!reading) ++refused_;
  return reading;
}

std::optional<PreambleReading> Listener::enter(const SampleHistory& history,
                                               const Traffic& traffic) {
  if (traffic.mode.waveform != Waveform::stanag4539) return std::nullopt;
  return late_.enter(history, traffic);
}

std::optional<PreambleReading> Listener::read(const SampleHistory& history,
                                              const framed::SearchCandidate& candidate) const {
  const std::int64_t from = candidate.position - 2 * kWindowBefore;
  if (from < history.begin()) return std::nullopt;
  const auto window = history.window(from, kPhases * kPreambleSymbols);
  double offset_hz = candidate.offset_hz;
  const auto fixed = phases_of(preamble(Parameters{}));
  const auto known = std::span(fixed).first(kAnnouncementAt);
  std::array<Complex, kPhases * kPreambleSymbols> samples;
  dsp::WideResponse response;
  for (unsigned i = 0; i < 3; ++i) {
    dsp::turn_back(window, from, offset_hz / kHalfSymbolRate, samples);
    response = dsp::estimate_response(known, samples, kWindowTaps);
    if (i < 2) offset_hz += response.offset_turn * kHalfSymbolRate;
  }
  const float tap_noise = response.noise_power / (kAnnouncementAt - kWindowTaps + 1.0F);
  for (Complex& tap : response.taps) {
    if (std::norm(tap) < kTapNoiseFactor * tap_noise) tap = 0;
  }

  float best = 1e30F;
  float second = 1e30F;
  Parameters announced;
  for (unsigned codes = 0; codes < kCodes * kCodes; ++codes) {
    Parameters p;
    p.rate_code = static_cast<std::uint8_t>(codes / kCodes);
    p.interleaver_code = static_cast<std::uint8_t>(codes % kCodes);
    const float left = left_over(phases_of(preamble(p)), response.taps, samples);
    second = std::min(second, std::max(left, best));
    if (left >= best) continue;
    best = left;
    announced = p;
  }
  float heard = kTiny;
  for (const Complex& y : std::span(samples).subspan(kPhases * kAnnouncementAt)) {
    heard += std::norm(y);
  }
  const float lead = second - best;
  const float explained = 1 - best / heard;
  if (explained < kExplainedMin || lead < kLeadShareMin * heard ||
      lead < kLeadMin * response.noise_power) {
    return std::nullopt;
  }
  const auto mode = mode_announced(announced.rate_code, announced.interleaver_code);
  if (!mode) return std::nullopt;

  // Now that every symbol is known: the offset to a fraction of a hertz, and the ratio of signal to
  // noise, the signal being that of the data.
  const auto all = phases_of(preamble(announced));
  for (unsigned i = 0; i < 2; ++i) {
    dsp::turn_back(window, from, offset_hz / kHalfSymbolRate, samples);
    response = dsp::estimate_response(all, samples, kWindowTaps);
    offset_hz += response.offset_turn * kHalfSymbolRate;
  }
  const float data = framed::Demapper(parameters(*mode).bits_per_symbol).power();
  const float power = (kFrameData * data + kFrameProbe) / kFrameSymbols;
  const double noise_in_3_khz = response.noise_power / noise_share_ * 3000 / kHalfSymbolRate;
  const double ratio = response.signal_power * power / std::max(noise_in_3_khz, 1e-30);
  return PreambleReading{
      .mode = *mode,
      .data_start = candidate.position + 2 * static_cast<std::int64_t>(kPreambleSymbols),
      .offset_hz = offset_hz,
      .snr_db = static_cast<float>(std::max<double>(kSnrMinDb, 10 * std::log10(ratio + 1e-9))),
      .strength = explained};
}

InMemory<Demodulator> Listener::demodulator(const PreambleReading& reading,
                                            BurstMemory& memory) const {
  const Parameters p = parameters(reading.mode);
  framed::Layout layout = layout_of(p, &memory);
  if (reading.late) {
    const unsigned first = reading.first_frame;
    layout.preamble.erase(layout.preamble.begin(), layout.preamble.end() - kEntrySymbols);
    if (first > 0) layout.preamble = layout.known[layout.variants[first - 1]];
    layout.preceded = true;
    layout.first_frame = first;
    layout.lead_frames = static_cast<unsigned>(reading.lead) / (kPhases * kFrameSymbols);
    const LateEntry::Channel& channel = late_.channel();
    layout.window_before = LateEntry::kSymbolsBefore;
    layout.profile.assign(channel.profile.begin(), channel.profile.end());
    layout.profile_error = channel.error;
    layout.noise = channel.noise;
  }
  return make_in<framed::BurstDemodulator>(
      memory, reading, std::move(layout),
      make_in<framed::TailBitingCode>(memory, code_of(p), &memory), noise_share_, memory);
}

// The probes, whose sign does not matter. A preamble that is inserted shifts them; those behind it
// add up anew.
std::vector<TrafficPattern> Listener::traffic() const {
  const auto chips = phases_of(stanag4539::probe());
  TrafficPattern::Part part{.start = kFrameData, .chips = {chips.begin(), chips.end()}};
  return {{.mode = {Waveform::stanag4539, 3200, Interleaver::short_},
           .cycle = kFrameSymbols,
           .memory_s = 1,
           .parts = {std::move(part)}}};
}

}  // namespace s5066::modem::stanag4539
