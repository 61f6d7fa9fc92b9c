// Linear minimum-mean-square-error estimate of a block of unknown symbols that lie between known
// ones, from half-symbol samples and the channel's response. What it gives about a symbol leaves
// out what was known about that symbol before, so that a decoder can feed it again.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "modem/dsp/channel_tracker.h"
#include "modem/dsp/complex_math.h"

namespace s5066::modem::dsp {

class BlockEqualizer {
 public:
  /// The response at both phases, tap l of phase p at [2 l + p].
  struct Problem {
    std::span<const Complex> response;
    /// Samples less what known symbols and prior means contribute, from the row of the first
    /// unknown symbol on; phase p of row r at [2 r + p].
    std::span<const Complex> remainder;
    std::span<const Complex> prior_mean;    // of each unknown symbol
    std::span<const float> prior_variance;  // above 0
    float noise = 1;                        // variance of a sample
  };
  struct Estimate {
    Complex mean;  // the symbol plus noise of this variance, without the prior
    float variance = 1;
  };

  BlockEqualizer(std::size_t symbols_max, std::size_t taps_max);

  /// One estimate for each unknown symbol; valid until the next call.
  std::span<const Estimate> solve(const Problem& problem);

 private:
  void build(const Problem& problem);
  void factor();
  void substitute();
  void invert_factor();

  float& re(std::size_t row, std::size_t column) { return a_re_[row * stride_ + column]; }
  float& im(std::size_t row, std::size_t column) { return a_im_[row * stride_ + column]; }

  std::size_t stride_;
  std::size_t size_ = 0;
  std::size_t band_ = 0;
  std::vector<float> a_re_, a_im_;      // lower triangle; then its Cholesky factor
  std::vector<float> inv_re_, inv_im_;  // of the factor, by column
  std::vector<Complex> gram_;           // running sums, lag by lag
  std::vector<Complex> matched_;        // matched filter output; then the solution
  std::vector<Estimate> estimates_;
};

}  // namespace s5066::modem::dsp
