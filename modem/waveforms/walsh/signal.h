// SPDX-License-Identifier: Apache-2.0
// The properties of 110A at 75 bit/s and 110D number 0: the sets of 32 symbols that they send, and
// the code over the bits. Each set represents two bits and is one of four that are orthogonal.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "modem/waveforms/message/message_bits.h"

namespace s5066::modem::walsh {

inline constexpr unsigned kSetSymbols = 32;
inline constexpr unsigned kPatterns = 4;
/// The phases of a set after scrambling.
using Set = std::array<std::uint8_t, kSetSymbols>;

/// Returns a set in which `pattern` repeats, and each symbol is turned by its value of
/// `scrambling`, from `at` on; `scrambling` repeats as well.
template <typename Pattern, typename Scrambling>
Set scrambled(const Pattern& pattern, const Scrambling& scrambling, std::size_t at) {
  Set set{};
  for (std::size_t i = 0; i < set.size(); ++i) {
    set[i] = static_cast<std::uint8_t>(
        (pattern[i % pattern.size()] + scrambling[(at + i) % scrambling.size()]) & 7);
  }
  return set;
}

class Signal {
 public:
  struct Taken {
    float error_share = 0;  // share of the block's bits that are probably wrong
    // How well the soft bits support the block: see dsp::surplus().
    float surplus = 0;
  };

  virtual ~Signal() = default;

  /// Returns the number of sets of the preamble that are known to have been sent, and below it one
  /// of them. `other` selects a set that is orthogonal to it.
  virtual unsigned preamble_sets() const = 0;
  virtual Set preamble_set(unsigned index, bool other) const = 0;
  /// Returns true if the preamble is so short that a path may be in a fade throughout. Then paths
  /// are searched in every block.
  virtual bool short_preamble() const { return false; }

  /// Returns the number of sets that are received together. Without an interleaver the code has no
  /// information about a set before take().
  virtual unsigned block_sets() const = 0;
  virtual bool interleaved() const = 0;
  /// Returns a set by its number from the start of the data.
  virtual Set set(std::uint64_t index, unsigned bits) const = 0;

  /// Writes the information of the code about each bit without the bit itself. Returns true when
  /// every bit is certain.
  virtual bool feed_back(std::span<const float> llr, std::span<float> extrinsic) = 0;
  /// Decodes a block finally. Its bits are then in the message and have been judged.
  virtual Taken take(std::span<const float> llr) = 0;
  virtual MessageBits& message() = 0;
};

}  // namespace s5066::modem::walsh
