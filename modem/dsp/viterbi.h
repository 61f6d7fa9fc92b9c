// SPDX-License-Identifier: Apache-2.0
// The convolutional code of constraint length 7 and rate 1/2 that the serial-tone waveforms share
// (T1 = 133, T2 = 171 octal, newest bit leftmost, T1 first, no inversion; MIL-STD-188-110A
// 5.3.2.3.2), and its maximum-likelihood decoder.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

namespace s5066::modem::dsp {

inline constexpr unsigned kCodeStates = 64;
inline constexpr unsigned kCodeGenerator1 = 0x5B;  // 133 octal
inline constexpr unsigned kCodeGenerator2 = 0x79;  // 171 octal

/// The polynomials of a code of rate 1/2 have the newest bit leftmost.
struct CodeGenerators {
  unsigned constraint = 7;
  unsigned first = kCodeGenerator1;
  unsigned second = kCodeGenerator2;
};
inline constexpr CodeGenerators kGenerators7{};
/// These are 561 and 753 octal (MIL-STD-188-110D Appendix D).
inline constexpr CodeGenerators kGenerators9{.constraint = 9, .first = 0x171, .second = 0x1EB};

/// The encoder starts in state 0.
class ConvolutionalEncoder {
 public:
  struct Pair {
    std::uint8_t first;
    std::uint8_t second;
  };

  explicit ConvolutionalEncoder(const CodeGenerators& generators = kGenerators7)
      : generators_(generators) {}
  Pair encode(std::uint8_t bit);

 private:
  CodeGenerators generators_;
  unsigned state_ = 0;  // the last bits, with the newest leftmost
};

/// Decodes an endless stream of soft pairs. The state is kept between calls. A bit is output once
/// `depth` later bits have been seen, or at finish().
class ViterbiDecoder {
 public:
  /// The depth is nine constraint lengths, because more gives no measurable gain.
  static constexpr std::size_t kDepth = 64;

  /// The memory is enough for `bits_at_once` bits in one call; more bits allocate more.
  explicit ViterbiDecoder(std::size_t bits_at_once = 0,
                          std::pmr::memory_resource* memory = std::pmr::get_default_resource());
  void reset();

  /// `llr` are log-likelihood ratios, positive for 0, two for each bit. The settled bits are
  /// appended.
  void decode(std::span<const float> llr, std::pmr::vector<std::uint8_t>& bits);
  /// Outputs the bits that were held back, by the present state.
  void finish(std::pmr::vector<std::uint8_t>& bits);

  std::size_t held_back() const { return survivors_.size(); }

 private:
  void step(float llr1, float llr2);
  void normalize();
  void trace_back(std::size_t keep, std::pmr::vector<std::uint8_t>& bits);

  std::array<float, kCodeStates> metric_{};
  /// Bits that tell the better of two predecessors, per bit and state.
  std::pmr::vector<std::uint64_t> survivors_;
  std::pmr::vector<std::uint8_t> traced_;
  unsigned since_normalized_ = 0;
};

}  // namespace s5066::modem::dsp
