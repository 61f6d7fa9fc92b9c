// SPDX-License-Identifier: Apache-2.0
// The tables of the MIL-STD-188-110A serial tone waveform (5.3.2): the parameters of its modes, and
// the fixed sequences of its preamble and data.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <optional>
#include <span>

#include "modem/api/modes.h"
#include "modem/dsp/interleaver.h"

namespace s5066::modem::ms110a {

inline constexpr unsigned kSymbolRate = 2400;
inline constexpr float kSubcarrierHz = 1800;

// Preamble (5.3.2.3.7.2): segments of 15 channel symbols, each sent as 32 tribits.
inline constexpr unsigned kTribitsPerChannelSymbol = 32;
inline constexpr unsigned kChannelSymbolsPerSegment = 15;
inline constexpr unsigned kSegmentSymbols = kTribitsPerChannelSymbol * kChannelSymbolsPerSegment;
/// These channel symbols open every segment, before D1 D2 C1 C2 C3 0.
inline constexpr std::array<std::uint8_t, 9> kSegmentOpening = {0, 1, 3, 0, 1, 3, 1, 2, 0};
inline constexpr unsigned kSegmentsMax = 24;
inline constexpr unsigned kCountsMax = 24;  // the count runs from segments - 1 down to 0

/// The eight tribits of a channel symbol, which are repeated four times.
inline constexpr std::array<std::array<std::uint8_t, 8>, 8> kChannelSymbolPattern = {{
    {0, 0, 0, 0, 0, 0, 0, 0},
    {0, 4, 0, 4, 0, 4, 0, 4},
    {0, 0, 4, 4, 0, 0, 4, 4},
    {0, 4, 4, 0, 0, 4, 4, 0},
    {0, 0, 0, 0, 4, 4, 4, 4},
    {0, 4, 0, 4, 4, 0, 4, 0},
    {0, 0, 4, 4, 4, 4, 0, 0},
    {0, 4, 4, 0, 4, 0, 0, 4},
}};

/// The scrambler of the preamble, which starts again for each channel symbol.
inline constexpr std::array<std::uint8_t, kTribitsPerChannelSymbol> kSyncScrambler = {
    7, 4, 3, 0, 5, 1, 5, 0, 2, 2, 1, 1, 5, 7, 4, 3, 5, 0, 2, 6, 2, 1, 6, 2, 0, 0, 5, 0, 5, 2, 6, 6};

inline constexpr unsigned kDataScramblerPeriod = 160;
/// Returns the scrambler of data and probes, which repeats from the first data symbol on.
const std::array<std::uint8_t, kDataScramblerPeriod>& data_scrambler();

/// Parameters of one mode; [110A Tables XIII to XVII]. A frame is a run of unknown symbols and the
/// probe behind it. At 75 bit/s it is a set of 32 symbols that encode two bits, without a probe.
struct Parameters {
  bool coded = true;        // uses the convolutional code
  bool interleaved = true;  // false: bits go out in order, and a block is the smallest unit
  bool walsh = false;       // the mode has 75 bit/s
  unsigned bits_per_symbol = 0;
  unsigned data_symbols = 0;   // unknown symbols in a frame
  unsigned probe_symbols = 0;  // known symbols behind them
  unsigned repetition = 1;     // each coded pair is sent so often
  unsigned frames_per_block = 0;
  unsigned frames_per_cycle = 0;  // after this many frames the probes announce the mode again
  unsigned segments = 0;          // segments of the preamble
  std::uint8_t d1 = 0;
  std::uint8_t d2 = 0;
  dsp::Interleaver::Config interleaver;  // steps of the interleaver, set only if interleaved

  unsigned frame_symbols() const { return data_symbols + probe_symbols; }
  unsigned frame_bits() const { return walsh ? 2 : data_symbols * bits_per_symbol; }
  unsigned block_symbols() const { return frames_per_block * frame_symbols(); }
  unsigned block_coded_bits() const { return frames_per_block * frame_bits(); }
  unsigned block_user_bits() const {
    return coded ? block_coded_bits() / (2 * repetition) : block_coded_bits();
  }
};

Parameters parameters(const Mode& mode);

/// Returns the mode that a preamble announces; nothing for pairs that are reserved or not
/// supported.
/// STANDARD: the short and the zero interleaver share their codes, and both stations must agree on
/// one; this function returns the short one if the rate has one.
std::optional<Mode> mode_announced(std::uint8_t d1, std::uint8_t d2);

/// Returns C1, C2, C3 for a count.
std::array<std::uint8_t, 3> count_symbols(unsigned count);

/// Returns the tribit of 1, 2 or 3 bits, first bit most significant, by modified Gray decoding
/// (5.3.2.3.4).
std::uint8_t tribit_of_bits(unsigned bits_per_symbol, unsigned bits);

/// Returns the set of tribits that encodes two bits at 75 bit/s (5.3.2.3.6) in frame `frame` of a
/// cycle, before scrambling; it is sent four times. The last frame has sets of its own.
const std::array<std::uint8_t, 8>& walsh_pattern(const Parameters& p, unsigned frame,
                                                 unsigned bits);

/// Returns a probe tribit of frame `frame` of a cycle, before scrambling. It is zero, except in the
/// two last probes, which carry D1 and D2.
std::uint8_t probe_tribit(const Parameters& p, unsigned frame, unsigned index);

}  // namespace s5066::modem::ms110a
