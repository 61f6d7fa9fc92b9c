// SPDX-License-Identifier: Apache-2.0
// The tables of MIL-STD-188-110D Appendix D at a bandwidth of 3 kHz: the properties of its waveform
// numbers and interleavers, the preamble, the probes and the scramblers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "modem/api/modes.h"
#include "modem/dsp/complex_math.h"
#include "modem/dsp/interleaver.h"
#include "s5066d/base/fixed_vector.h"

namespace s5066::modem::ms110d {

inline constexpr unsigned kChannelSymbol = 32;  // length in symbols
inline constexpr unsigned kFixedDibits = 9;
inline constexpr unsigned kCountDibits = 4;
inline constexpr unsigned kNumberDibits = 5;
inline constexpr unsigned kSuperFrameDibits = kFixedDibits + kCountDibits + kNumberDibits;
inline constexpr unsigned kSuperFrameSymbols = kSuperFrameDibits * kChannelSymbol;
/// We send this many. A receiver accepts the number that the count states, up to the maximum.
inline constexpr unsigned kSuperFrames = 3;
inline constexpr unsigned kSuperFramesMax = 32;
/// We send this constraint length of the code. A receiver accepts 7 as well, as the preamble
/// states.
inline constexpr unsigned kConstraint = 9;
/// This is the number of symbols of the longest probe.
inline constexpr unsigned kProbeMax = 48;

/// The patterns state which bits of the first and of the second output of the encoder are sent,
/// pair by pair; '1' means sent. They repeat.
struct Puncturing {
  std::string_view first = "1";
  std::string_view second = "1";
};

struct Parameters {
  unsigned number = 0;                // number of the waveform, 0 to 13
  unsigned interleaver_code = 0;      // 0 to 3
  unsigned constraint = kConstraint;  // constraint length of the code, 7 or 9
  bool walsh = false;                 // number 0 has sets of 32 symbols that represent two bits
  unsigned bits_per_symbol = 1;
  unsigned data_symbols = 0;   // data symbols of a frame
  unsigned probe_symbols = 0;  // known symbols behind the data of a frame
  unsigned frames_per_block = 0;
  // The cycle is that of the long interleaver; probes mark its end with any interleaver.
  unsigned frames_per_cycle = 0;
  unsigned block_user_bits = 0;
  unsigned repetition = 1;  // each coded pair is sent so often
  Puncturing puncturing;
  dsp::Interleaver::Steps interleaver;

  unsigned frame_symbols() const { return data_symbols + probe_symbols; }
  unsigned frame_bits() const { return walsh ? 2 : data_symbols * bits_per_symbol; }
  unsigned block_coded_bits() const { return frames_per_block * frame_bits(); }
  bool phases_only() const { return bits_per_symbol <= 3; }
};

Parameters parameters(const Mode& mode, unsigned constraint = kConstraint);

/// Returns the dibits of the super-frame that `remaining` others follow.
std::array<std::uint8_t, kSuperFrameDibits> super_frame(const Parameters& p, unsigned remaining);
/// Returns the fixed dibits, with which each super-frame begins.
const std::array<std::uint8_t, kFixedDibits>& fixed_dibits();
/// Returns the phases of the channel symbol at this place of a super-frame.
std::array<std::uint8_t, kChannelSymbol> channel_symbol(unsigned place, unsigned dibit);

/// The content of the waveform number; there is none if its checks fail.
struct Announced {
  Mode mode;
  unsigned constraint = kConstraint;
};
std::optional<Announced> announced(std::span<const std::uint8_t> dibits);

/// Returns the probe behind a frame; `marker` is true behind the last but one frame of a cycle.
FixedVector<dsp::Complex, kProbeMax> probe(const Parameters& p, bool marker);
bool is_marker(const Parameters& p, std::uint64_t frame);

/// Returns the values that are added to the phases of a frame, or exclusive-ored to its numbers.
std::span<const std::uint8_t> scrambler(const Parameters& p);
/// Returns the 2048 phases for number 0, which start again with each block.
std::span<const std::uint8_t> walsh_scrambler();
/// Returns the phases of two bits at number 0, before scrambling; the last set of a block has other
/// patterns.
const std::array<std::uint8_t, 8>& walsh_pattern(bool last, unsigned bits);

/// Returns the symbols of the preamble and of the probe behind it.
inline unsigned preamble_symbols(const Parameters& p, unsigned super_frames) {
  return super_frames * kSuperFrameSymbols + p.probe_symbols;
}
/// Returns the symbols of a whole transmission. Octets are sent with the least significant bit
/// first.
std::vector<dsp::Complex> symbols(const Parameters& p, std::span<const std::uint8_t> bytes,
                                  unsigned super_frames = kSuperFrames);

}  // namespace s5066::modem::ms110d
