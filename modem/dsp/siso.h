// SPDX-License-Identifier: Apache-2.0
// A soft-in soft-out decoder of the convolutional codes in viterbi.h. It returns the information
// that the code gives about every coded bit beyond that bit's own soft value, and the information
// about every information bit. It is exact (sums of probabilities, not of their maxima) and uses
// forward and backward recursion over windows.
//
// An equaliser that gets the first result and decodes again gains several dB on fading channels.
#pragma once

#include <array>
#include <cstddef>
#include <memory_resource>
#include <span>
#include <vector>

#include "modem/dsp/viterbi.h"

namespace s5066::modem::dsp {

/// The decoder supports the generators of constraint length 7 and 9.
template <unsigned kConstraint>
class SisoDecoderOf {
 public:
  /// The probability of each state of the encoder, except for a common factor.
  using States = std::array<float, std::size_t{1} << (kConstraint - 1)>;
  static States zero_state();
  static States any_state();

  struct Block {
    /// Log-likelihood ratios, positive for 0, two for each information bit.
    std::span<const float> llr;
    States start;
    std::span<float> extrinsic;  // one value for each coded bit; as many as llr
    /// One value for each information bit, with all that is known about it.
    std::span<float> information;
  };

  explicit SisoDecoderOf(std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  /// Decodes a stretch that begins in `start` and may end in any state. Its last 40 bits or so are
  /// less reliable than the others. Returns the states at the end, with which the next stretch
  /// starts. For a tail-biting code, about 100 bits must be wrapped around both ends, and the start
  /// is any state.
  States decode(const Block& block);

 private:
  std::pmr::vector<States> forward_;  // states of one window
};

/// Returns how many of the bits, decided by their log-likelihood ratios, are probably wrong when
/// these are `overstated` times too large.
float expected_errors(std::span<const float> llr, float overstated = 1);

extern template class SisoDecoderOf<7>;
extern template class SisoDecoderOf<9>;
using SisoDecoder = SisoDecoderOf<7>;

}  // namespace s5066::modem::dsp
