// SPDX-License-Identifier: Apache-2.0
// The tables of STANAG 4539, which is MIL-STD-188-110B and C Appendix C: the properties of its
// modes, the fixed sequences of preamble and probes, and the points of its constellations.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "modem/api/modes.h"
#include "modem/dsp/complex_math.h"
#include "modem/dsp/interleaver.h"
#include "modem/waveforms/framed/constellation.h"
#include "modem/waveforms/framed/tail_biting_code.h"

namespace s5066::modem::stanag4539 {

inline constexpr unsigned kFrameData = 256;
inline constexpr unsigned kFrameProbe = 31;
inline constexpr unsigned kFrameSymbols = kFrameData + kFrameProbe;
inline constexpr unsigned kPreambleSymbols = 287;
/// This part of the preamble is the same in every mode.
inline constexpr unsigned kFixedSymbols = 184;
/// The end of the preamble is inserted after every cycle of frames.
inline constexpr unsigned kInsertedSymbols = 72;
inline constexpr unsigned kFramesInCycle = 72;
inline constexpr unsigned kCycleSymbols = kFramesInCycle * kFrameSymbols + kInsertedSymbols;
/// This is the place of D0 D1 D2 in the preamble; they have 13 symbols each.
inline constexpr unsigned kAnnouncementAt = kFixedSymbols + kFrameProbe + 1;
inline constexpr unsigned kAnnouncementDigits = 3;
inline constexpr unsigned kDigitSymbols = 13;

/// The number of a symbol: 0 to 7 are the eight phases, and the points of the mode's own
/// constellation follow.
using framed::kPhasePoints;
inline constexpr unsigned kNumbersMax = kPhasePoints + 64;

struct Parameters {
  unsigned bits_per_symbol = 2;
  bool coded = true;
  bool phases_only = true;  // data symbols have the eight phases, as probes do
  unsigned frames_per_block = 1;
  std::uint8_t rate_code = 0;
  std::uint8_t interleaver_code = 0;
  dsp::Interleaver::Steps interleaver;  // set if coded

  unsigned block_coded_bits() const { return frames_per_block * kFrameData * bits_per_symbol; }
  unsigned block_user_bits() const {
    return coded ? block_coded_bits() / 4 * 3 : block_coded_bits();
  }
};

Parameters parameters(const Mode& mode);
framed::TailBitingConfig code_of(const Parameters& p);

/// Returns the mode of these codes; nothing for reserved or unsupported ones.
std::optional<Mode> mode_announced(std::uint8_t rate_code, std::uint8_t interleaver_code);

/// Returns the numbers 0 to 7 of the preamble.
std::array<std::uint8_t, kPreambleSymbols> preamble(const Parameters& p);
/// Returns D0, D1 and D2; each gives a bit of both codes.
std::array<std::uint8_t, kAnnouncementDigits> announcement(const Parameters& p);
/// The pattern is added to a digit, for each of its symbols.
extern const std::array<std::uint8_t, kDigitSymbols> kDigitPattern;

/// Returns a probe with sign plus, and below it the sign (true for minus) of number `frame` of a
/// cycle.
const std::array<std::uint8_t, kFrameProbe>& probe();
bool probe_is_negative(const Parameters& p, unsigned frame);

/// Returns the values that scramble the data symbols of a frame: they are added to a phase, or
/// exclusive-ored to the number of another point.
std::span<const std::uint8_t> scrambler(const Parameters& p);

/// Returns one of the eight phases.
dsp::Complex phase(std::uint8_t number);
/// Returns the points of all numbers, including those of the mode's constellation.
std::span<const dsp::Complex> points(const Parameters& p);

/// Returns the number of the data symbol for a group of bits (first bit most significant) and its
/// scrambler value.
std::uint8_t data_number(const Parameters& p, unsigned bits, std::uint8_t scrambler_value);

}  // namespace s5066::modem::stanag4539
