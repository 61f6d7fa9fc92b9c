#include "modem/dsp/equalizer.h"

#include <algorithm>
#include <cmath>

#include "s5066d/base/assert.h"

namespace s5066::modem::dsp {
namespace {
/// Bounds on what is said about a symbol, so that nothing becomes infinite.
constexpr float kVarianceMin = 1e-5F;
constexpr float kVarianceMax = 1e5F;
}  // namespace

BlockEqualizer::BlockEqualizer(std::size_t symbols_max, std::size_t taps_max)
    : stride_((symbols_max + 7) / 8 * 8),
      a_re_(symbols_max * stride_),
      a_im_(symbols_max * stride_),
      inv_re_(symbols_max * stride_),
      inv_im_(symbols_max * stride_),
      gram_(taps_max + 1),
      matched_(symbols_max),
      estimates_(symbols_max) {}

std::span<const BlockEqualizer::Estimate> BlockEqualizer::solve(const Problem& problem) {
  size_ = problem.prior_variance.size();
  S5066_ASSERT(size_ <= matched_.size());
  build(problem);
  factor();
  substitute();
  invert_factor();

  for (std::size_t i = 0; i < size_; ++i) {
    float posterior = 0;  // diagonal of the inverse: column i of the factor's inverse, squared
    const float* const column_re = &inv_re_[i * stride_];
    const float* const column_im = &inv_im_[i * stride_];
    for (std::size_t k = i; k < size_; ++k) {
      posterior += column_re[k] * column_re[k] + column_im[k] * column_im[k];
    }
    const float prior = problem.prior_variance[i];
    const Complex mean = problem.prior_mean[i] + matched_[i];
    const float information = 1 / posterior - 1 / prior;
    const float variance =
        information > 1 / kVarianceMax ? std::max(1 / information, kVarianceMin) : kVarianceMax;
    estimates_[i] = {variance * (mean / posterior - problem.prior_mean[i] / prior), variance};
  }
  return std::span<const Estimate>(estimates_).first(size_);
}

// A = diag(1 / prior variance) + H'H / noise, and H' remainder / noise. Rows past the remainder do
// not count, hence the running sums.
void BlockEqualizer::build(const Problem& problem) {
  const std::size_t taps = problem.response.size() / kPhases;
  const std::size_t rows = problem.remainder.size() / kPhases;
  const float scale = 1 / problem.noise;
  band_ = std::min(taps - 1, size_ - 1);
  std::fill(a_re_.begin(), a_re_.end(), 0.0F);
  std::fill(a_im_.begin(), a_im_.end(), 0.0F);

  for (std::size_t lag = 0; lag <= band_; ++lag) {
    // Symbol j + lag meets tap m where symbol j meets tap m + lag.
    gram_[0] = 0;
    for (std::size_t m = 0; m + lag < taps; ++m) {
      Complex sum = gram_[m];
      for (std::size_t p = 0; p < kPhases; ++p) {
        sum +=
            mul_conj(problem.response[kPhases * m + p], problem.response[kPhases * (m + lag) + p]);
      }
      gram_[m + 1] = sum;
    }
    for (std::size_t j = 0; j + lag < size_; ++j) {
      const std::size_t meeting = std::min(taps - lag, rows - std::min(rows, j + lag));
      re(j + lag, j) = gram_[meeting].real() * scale;
      im(j + lag, j) = gram_[meeting].imag() * scale;
    }
  }
  for (std::size_t i = 0; i < size_; ++i) {
    re(i, i) += 1 / problem.prior_variance[i];
    const std::size_t reach = kPhases * std::min(taps, rows - std::min(rows, i));
    const Complex* const y = problem.remainder.data() + kPhases * i;
    float sum_re = 0;
    float sum_im = 0;
    for (std::size_t k = 0; k < reach; ++k) {
      const Complex h = problem.response[k];
      sum_re += h.real() * y[k].real() + h.imag() * y[k].imag();
      sum_im += h.real() * y[k].imag() - h.imag() * y[k].real();
    }
    matched_[i] = Complex(sum_re, sum_im) * scale;
  }
}

// Cholesky within the band; the diagonal of the factor is kept as its inverse.
void BlockEqualizer::factor() {
  for (std::size_t i = 0; i < size_; ++i) {
    const std::size_t first = i > band_ ? i - band_ : 0;
    const float* const row_re = &a_re_[i * stride_];
    const float* const row_im = &a_im_[i * stride_];
    for (std::size_t j = first; j <= i; ++j) {
      const float* const other_re = &a_re_[j * stride_];
      const float* const other_im = &a_im_[j * stride_];
      float sum_re = 0;
      float sum_im = 0;
      for (std::size_t k = first; k < j; ++k) {
        sum_re += row_re[k] * other_re[k] + row_im[k] * other_im[k];
        sum_im += row_im[k] * other_re[k] - row_re[k] * other_im[k];
      }
      if (i == j) {
        re(i, i) = 1 / std::sqrt(std::max(re(i, i) - sum_re, 1e-20F));
      } else {
        const float inverse = re(j, j);
        re(i, j) = (re(i, j) - sum_re) * inverse;
        im(i, j) = (im(i, j) - sum_im) * inverse;
      }
    }
  }
}

void BlockEqualizer::substitute() {
  for (std::size_t i = 0; i < size_; ++i) {
    Complex sum = matched_[i];
    for (std::size_t k = i > band_ ? i - band_ : 0; k < i; ++k) {
      sum -= mul({re(i, k), im(i, k)}, matched_[k]);
    }
    matched_[i] = sum * re(i, i);
  }
  for (std::size_t i = size_; i-- > 0;) {
    Complex sum = matched_[i];
    for (std::size_t k = i + 1; k < std::min(size_, i + band_ + 1); ++k) {
      sum -= mul_conj({re(k, i), im(k, i)}, matched_[k]);
    }
    matched_[i] = sum * re(i, i);
  }
}

void BlockEqualizer::invert_factor() {
  for (std::size_t column = 0; column < size_; ++column) {
    float* const out_re = &inv_re_[column * stride_];
    float* const out_im = &inv_im_[column * stride_];
    out_re[column] = re(column, column);
    out_im[column] = 0;
    for (std::size_t i = column + 1; i < size_; ++i) {
      const float* const row_re = &a_re_[i * stride_];
      const float* const row_im = &a_im_[i * stride_];
      float sum_re = 0;
      float sum_im = 0;
      for (std::size_t k = std::max(column, i > band_ ? i - band_ : 0); k < i; ++k) {
        sum_re += row_re[k] * out_re[k] - row_im[k] * out_im[k];
        sum_im += row_re[k] * out_im[k] + row_im[k] * out_re[k];
      }
      out_re[i] = -sum_re * row_re[i];
      out_im[i] = -sum_im * row_re[i];
    }
  }
}

}  // namespace s5066::modem::dsp
