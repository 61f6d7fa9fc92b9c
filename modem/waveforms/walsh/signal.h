// What 110A at 75 bit/s and 110D number 0 have of their own: which sets of 32 symbols they send,
// and the code over the bits. Each set stands for two bits and is one of four that are orthogonal.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "modem/waveforms/message/message_bits.h"

namespace s5066::modem::walsh {

inline constexpr unsigned kSetSymbols = 32;
inline constexpr unsigned kPatterns = 4;
/// Phases of a set, scrambled.
using Set = std::array<std::uint8_t, kSetSymbols>;

/// `pattern` is sent over and over, each symbol turned by its value of `scrambling`, from `at` on
/// and over and over too.
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
    float error_share = 0;  // of the block's bits, how many are probably wrong
    float surplus = 0;      // how well the soft bits bear out the block: see dsp::surplus()
  };

  virtual ~Signal() = default;

  /// Sets of the preamble as far as it is known to have been sent, and one of them; `other`: a set
  /// orthogonal to it.
  virtual unsigned preamble_sets() const = 0;
  virtual Set preamble_set(unsigned index, bool other) const = 0;
  /// The preamble is so short that a path may be in a fade throughout: more are looked for in every
  /// block.
  virtual bool short_preamble() const { return false; }

  /// Sets that are received together. Without an interleaver the code says nothing about a set
  /// before it is taken.
  virtual unsigned block_sets() const = 0;
  virtual bool interleaved() const = 0;
  /// Counted from the start of the data.
  virtual Set set(std::uint64_t index, unsigned bits) const = 0;

  /// Writes what the code says about each bit beyond itself; true when every bit is sure.
  virtual bool feed_back(std::span<const float> llr, std::span<float> extrinsic) = 0;
  /// Decodes a block for good. Its bits are then in the message, and have been judged.
  virtual Taken take(std::span<const float> llr) = 0;
  virtual MessageBits& message() = 0;
};

}  // namespace s5066::modem::walsh
