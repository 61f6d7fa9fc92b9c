// Soft-in soft-out decoder of the convolutional codes in viterbi.h: what the code says about every
// coded bit beyond what that bit's own soft value says, and about every information bit. Exact
// (sums of probabilities, not of their maxima), by forward and backward recursion over windows.
//
// An equaliser that is given the first and decodes again gains several decibels on fading channels.
#pragma once

#include <array>
#include <cstddef>
#include <memory_resource>
#include <span>
#include <vector>

#include "modem/dsp/viterbi.h"

namespace s5066::modem::dsp {

/// For the generators of constraint length 7 or 9.
template <unsigned kConstraint>
class SisoDecoderOf {
 public:
  /// Probability of each state of the encoder, but for a factor.
  using States = std::array<float, std::size_t{1} << (kConstraint - 1)>;
  static States zero_state();
  static States any_state();

  struct Block {
    /// Log-likelihood ratios, positive for 0, two for each information bit.
    std::span<const float> llr;
    States start;
    std::span<float> extrinsic;    // of each coded bit; as many as llr
    std::span<float> information;  // of each information bit, with everything known about it
  };

  explicit SisoDecoderOf(std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  /// Decodes a stretch that begins in `start` and may end in any state; its last 40 bits or so are
  /// less sure than the others. Returns the states at the end, to start the next stretch with. For
  /// a code that bites its tail, wrap some 100 bits around both ends and start in any state.
  States decode(const Block& block);

 private:
  std::pmr::vector<States> forward_;  // of one window
};

/// How many of the bits, decided by their log-likelihood ratios, are probably wrong when these
/// claim so many times too much.
float expected_errors(std::span<const float> llr, float overstated = 1);

extern template class SisoDecoderOf<7>;
extern template class SisoDecoderOf<9>;
using SisoDecoder = SisoDecoderOf<7>;

}  // namespace s5066::modem::dsp
