// The tables of STANAG 4539, which is MIL-STD-188-110B and C Appendix C: what distinguishes its
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
/// The part of the preamble that nothing depends on.
inline constexpr unsigned kFixedSymbols = 184;
/// What is sent again after every cycle of frames: the end of the preamble.
inline constexpr unsigned kInsertedSymbols = 72;
inline constexpr unsigned kFramesInCycle = 72;
inline constexpr unsigned kCycleSymbols = kFramesInCycle * kFrameSymbols + kInsertedSymbols;
/// Of the preamble, where D0 D1 D2 are told: three times 13 symbols.
inline constexpr unsigned kAnnouncementAt = kFixedSymbols + kFrameProbe + 1;
inline constexpr unsigned kAnnouncementDigits = 3;
inline constexpr unsigned kDigitSymbols = 13;

/// The number of a symbol: 0 to 7 are the eight phases, then the points of the mode's own
/// constellation.
using framed::kPhasePoints;
inline constexpr unsigned kNumbersMax = kPhasePoints + 64;

struct Parameters {
  unsigned bits_per_symbol = 2;
  bool coded = true;
  bool phases_only = true;  // data symbols are of the eight phases too
  unsigned frames_per_block = 1;
  std::uint8_t rate_code = 0;
  std::uint8_t interleaver_code = 0;
  dsp::Interleaver::Steps interleaver;  // where coded

  unsigned block_coded_bits() const { return frames_per_block * kFrameData * bits_per_symbol; }
  unsigned block_user_bits() const {
    return coded ? block_coded_bits() / 4 * 3 : block_coded_bits();
  }
};

Parameters parameters(const Mode& mode);
framed::TailBitingConfig code_of(const Parameters& p);

/// The mode of these codes; none for those that are reserved or not supported.
std::optional<Mode> mode_announced(std::uint8_t rate_code, std::uint8_t interleaver_code);

/// Numbers 0 to 7 of the preamble.
std::array<std::uint8_t, kPreambleSymbols> preamble(const Parameters& p);
/// D0, D1, D2: each tells a bit of both codes.
std::array<std::uint8_t, kAnnouncementDigits> announcement(const Parameters& p);
/// Added to a digit, for each of its symbols.
extern const std::array<std::uint8_t, kDigitSymbols> kDigitPattern;

/// A probe as it is where its sign is plus, and the sign (true for minus) of number `frame` of a
/// cycle.
const std::array<std::uint8_t, kFrameProbe>& probe();
bool probe_is_negative(const Parameters& p, unsigned frame);

/// What scrambles the data symbols of a frame: added to a phase, or exclusive-ored to the number of
/// another point.
std::span<const std::uint8_t> scrambler(const Parameters& p);

/// One of the eight phases.
dsp::Complex phase(std::uint8_t number);
/// What every number stands for, those of the mode's constellation included.
std::span<const dsp::Complex> points(const Parameters& p);

/// Number of the data symbol for a group of bits (first bit most significant) and its scrambler
/// value.
std::uint8_t data_number(const Parameters& p, unsigned bits, std::uint8_t scrambler_value);

}  // namespace s5066::modem::stanag4539
