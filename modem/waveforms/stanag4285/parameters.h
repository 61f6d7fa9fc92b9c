// SPDX-License-Identifier: Apache-2.0
// The tables of STANAG 4285. It repeats frames of 80 symbols of synchronisation and four times 32
// symbols of data with 16 known ones between them, and uses a convolutional interleaver.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "modem/api/modes.h"
#include "modem/dsp/complex_math.h"

namespace s5066::modem::stanag4285 {

inline constexpr unsigned kSyncSymbols = 80;
inline constexpr unsigned kDataRuns = 4;
inline constexpr unsigned kRunSymbols = 32;
inline constexpr unsigned kProbeSymbols = 16;
inline constexpr unsigned kFrameData = kDataRuns * kRunSymbols;
inline constexpr unsigned kFrameSymbols =
    kSyncSymbols + kFrameData + (kDataRuns - 1) * kProbeSymbols;
inline constexpr unsigned kScrambledSymbols = kFrameSymbols - kSyncSymbols;
inline constexpr unsigned kRows = 32;  // rows of the interleaver
inline constexpr unsigned kRowStep = 9;
inline constexpr unsigned kFlushBits = 144;

struct Parameters {
  unsigned bits_per_symbol = 1;
  bool coded = true;
  bool punctured = false;   // every fourth bit behind the interleaver is not sent
  unsigned repetition = 1;  // each coded pair is sent so often
  unsigned row_delay = 0;  // groups of 32 bits by which a row has more delay than the one before it

  unsigned frame_bits() const { return kFrameData * bits_per_symbol; }
  /// Returns the bits of a frame that pass through the interleaver.
  unsigned frame_coded_bits() const { return punctured ? frame_bits() / 3 * 4 : frame_bits(); }
  unsigned frame_user_bits() const {
    return coded ? frame_coded_bits() / (2 * repetition) : frame_bits();
  }
  /// Returns the coded bits that pass through the interleaver until a bit comes out.
  unsigned delay_bits() const { return (kRows - 1) * row_delay * kRows; }
};

Parameters parameters(const Mode& mode);

/// The synchronisation has the phases 0 and 4.
const std::array<std::uint8_t, kSyncSymbols>& sync();
/// The values are added to the symbols behind the synchronisation.
std::span<const std::uint8_t> scrambler();
/// Returns whether a symbol behind the synchronisation is data.
constexpr bool is_data(unsigned index) {
  return index % (kRunSymbols + kProbeSymbols) < kRunSymbols;
}

/// Returns the coded bit of a group that enters this row.
constexpr unsigned bit_of_row(unsigned row) {
  return row * 25 % kRows;  // 9 x 25 is 1 more than a multiple of 32
}

/// Returns the phases of a transmission. Octets are sent with the least significant bit first.
/// STANDARD: the end of a message is not agreed on; ours is the end-of-message mark of
/// MIL-STD-188-110A, 144 zeros, and the bits that empty the interleaver.
std::vector<std::uint8_t> symbols(const Parameters& p, std::span<const std::uint8_t> bytes);

}  // namespace s5066::modem::stanag4285
