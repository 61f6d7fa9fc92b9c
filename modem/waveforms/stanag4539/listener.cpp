// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/stanag4539/listener.h"

#include <algorithm>
#include <array>

#include "modem/waveforms/framed/burst_demodulator.h"
#include "modem/waveforms/framed/probed_demodulator.h"
#include "modem/waveforms/stanag4539/preamble_reader.h"

namespace s5066::modem::stanag4539 {
namespace {

using dsp::Complex;
using dsp::kPhases;
using framed::kWindowTaps;

/// The entry is a probe and the insertion behind it.
constexpr unsigned kEntrySymbols = kFrameProbe + kInsertedSymbols;

template <std::size_t kCount>
std::array<Complex, kCount> phases_of(const std::array<std::uint8_t, kCount>& numbers) {
  std::array<Complex, kCount> out;
  for (std::size_t i = 0; i < kCount; ++i) out[i] = phase(numbers[i]);
  return out;
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
  // The limit keeps the response of one frame out of the data of another.
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
  const auto reading = read_preamble(history, *candidate, noise_share_);
  if (!reading) ++refused_;
  return reading;
}

std::optional<PreambleReading> Listener::enter(const SampleHistory& history,
                                               const Traffic& traffic) {
  if (traffic.mode.waveform != Waveform::stanag4539) return std::nullopt;
  return late_.enter(history, traffic);
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

// Returns the probes; their sign does not matter. An inserted preamble shifts them, and the sum
// begins again behind it.
std::vector<TrafficPattern> Listener::traffic() const {
  const auto chips = phases_of(stanag4539::probe());
  TrafficPattern::Part part{.start = kFrameData, .chips = {chips.begin(), chips.end()}};
  return {{.mode = {Waveform::stanag4539, 3200, Interleaver::short_},
           .cycle = kFrameSymbols,
           .memory_s = 1,
           .parts = {std::move(part)}}};
}

}  // namespace s5066::modem::stanag4539
