// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/ms110d/listener.h"

#include <algorithm>

#include "modem/api/airtime.h"
#include "modem/waveforms/framed/burst_demodulator.h"
#include "modem/waveforms/framed/constellation.h"
#include "modem/waveforms/ms110d/code.h"
#include "modem/waveforms/ms110d/walsh_signal.h"
#include "modem/waveforms/walsh/demodulator.h"

namespace s5066::modem::ms110d {
namespace {

using dsp::Complex;

/// The spread is this where the standard requires only white noise (12000 and 16000 bit/s).
constexpr double kStillHz = 0.2;
/// The paths are searched in this window, in symbols around the path by which the preamble was
/// found. That may be the last of three, 9 ms behind the first [Table D-LII], or the first.
constexpr int kPathsBefore = 30;
constexpr unsigned kPathsWindow = 60;
/// The paths are searched at the end of the preamble in this many super-frames, each in this many
/// parts.
constexpr unsigned kPathsSuperFrames = 3;
constexpr unsigned kPartsOfSuperFrame = 3;

}  // namespace

framed::Layout layout_of(const Parameters& p, unsigned super_frames,
                         std::pmr::memory_resource* memory) {
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
  for (unsigned remaining = super_frames; remaining-- > 0;) {
    const auto symbols = symbols_of(super_frame(p, remaining));
    layout.preamble.insert(layout.preamble.end(), symbols.begin(), symbols.end());
  }
  const auto before = probe(p, false);
  layout.preamble.insert(layout.preamble.end(), before.begin(), before.end());
  const auto scrambling = scrambler(p);
  layout.scrambling.assign(scrambling.begin(), scrambling.end());
  if (p.number == 11 || p.number == 12) layout.doppler_hz = kStillHz;
  layout.preceded = true;  // other super-frames are sent before it
  layout.preamble_parts = kPartsOfSuperFrame * super_frames;
  layout.window_before = kPathsBefore;
  layout.window_taps = kPathsWindow;
  // The limit keeps the response of one frame out of the data of another.
  layout.taps_max = std::min(layout.taps_max, static_cast<int>(p.probe_symbols) + 1);
  return layout;
}

Listener::Listener(float noise_share)
    : noise_share_(noise_share),
      search_(symbols_of(fixed_dibits()),
              {.offset_step_hz = 4, .offsets = 43, .repeat = 2 * kSuperFrameSymbols}),
      reader_(noise_share) {}

void Listener::restart() {
  search_.restart();
  refused_ = 0;
}

std::optional<PreambleReading> Listener::advance(const SampleHistory& history) {
  constexpr unsigned kFixedSymbols = kFixedDibits * kChannelSymbol;
  constexpr std::int64_t kBehind = 2 * (kSuperFrameSymbols - kFixedSymbols + framed::kWindowTaps);
  const auto candidate = search_.advance(history, kBehind);
  if (!candidate) return std::nullopt;
  const auto reading = reader_.read(history, *candidate);
  if (!reading) ++refused_;
  return reading;
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
      memory, reading, layout_of(p, std::min(reading.repeats, kPathsSuperFrames), &memory),
      make_in<framed::TailBitingCode>(memory, code_of(p), &memory), noise_share_, memory);
}

// Returns the probes. Those that mark the end of a cycle are too rare to matter.
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
