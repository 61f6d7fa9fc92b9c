// SPDX-License-Identifier: Apache-2.0
// A linear minimum-mean-square-error estimate of a block of unknown symbols between known ones,
// from half-symbol samples and the channel's response. The estimate of a symbol leaves out what was
// known about that symbol before, so that a decoder can feed it back.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <span>
#include <vector>

#include "modem/dsp/channel_tracker.h"
#include "modem/dsp/complex_math.h"

namespace s5066::modem::dsp {

class BlockEqualizer {
 public:
  struct Problem {
    /// The response at both phases, tap l of phase p at [2 l + p], either once for all rows or once
    /// for each row.
    std::span<const Complex> response;
    std::size_t taps = 0;  // taps of one response; 0 takes them from a single `response`
    /// The samples less the contribution of known symbols and prior means, from the row of the
    /// first unknown symbol on; phase p of row r is at [2 r + p].
    std::span<const Complex> remainder;
    std::span<const Complex> prior_mean;    // mean for each unknown symbol
    std::span<const float> prior_variance;  // above 0
    float noise = 1;                        // variance of a sample
  };
  struct Estimate {
    Complex mean;  // the symbol plus noise of this variance, without the prior
    float variance = 1;
  };

  struct Config {
    std::size_t symbols_max = 0;
    std::size_t taps_max = 0;
    std::size_t rows_max = 1;  // rows with a response of their own
  };
  /// Allocates all the memory that is ever needed.
  explicit BlockEqualizer(const Config& config,
                          std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  /// Returns one estimate for each unknown symbol, valid until the next call.
  std::span<const Estimate> solve(const Problem& problem);

 private:
  void take_response(const Problem& problem);
  void build(const Problem& problem);
  void factor();
  void substitute();
  void invert_diagonal();

  std::size_t stride_;  // size of a band
  std::size_t size_ = 0;
  std::size_t taps_ = 0;
  std::size_t band_ = 0;
  std::size_t response_stride_ = 0;      // 0 when all rows share one
  std::pmr::vector<float> h_re_, h_im_;  // responses; the last tap first, one phase after the other
  std::pmr::vector<float> a_re_, a_im_;  // element (j + k, j) at [j stride + k]; then the factor
  std::pmr::vector<float> z_re_, z_im_;  // the part of the inverse that is still needed
  std::pmr::vector<float> inverse_diagonal_;
  std::pmr::vector<Complex> matched_;  // matched filter output; then the solution
  std::pmr::vector<Estimate> estimates_;
};

/// Expectation propagation (Minka, UAI 2001; as an equaliser: Santos, Murillo-Fuentes,
/// Boloix-Tortosa, Arias-de-Reyna and Olmos, IEEE Trans. Commun. 2017). Returns the prior, with a
/// variance a little above 0, with which `estimate` gets the mean and variance of `symbol`; that is
/// what the possible points make of the estimate. It moves most of the way there from `before`, and
/// stays when no Gaussian prior does it.
BlockEqualizer::Estimate moment_matched(const BlockEqualizer::Estimate& before,
                                        const BlockEqualizer::Estimate& estimate,
                                        const BlockEqualizer::Estimate& symbol);

}  // namespace s5066::modem::dsp
