// SPDX-License-Identifier: Apache-2.0
#include "modem/dsp/equalizer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "s5066d/base/assert.h"

namespace s5066::modem::dsp {
namespace {

/// These bounds on the estimate of a symbol prevent infinite values.
constexpr float kVarianceMin = 1e-5F;
constexpr float kVarianceMax = 1e5F;
constexpr float kMatchedVarianceMin = 1e-3F;
constexpr float kMatchedStep = 0.7F;
using Band = std::array<float, ChannelTracker::kTapsMax>;

}  // namespace

BlockEqualizer::BlockEqualizer(const Config& config, std::pmr::memory_resource* memory)
    : stride_((config.taps_max + 7) / 8 * 8),
      h_re_(memory),
      h_im_(memory),
      a_re_((config.symbols_max + config.taps_max) * stride_, memory),
      a_im_(a_re_.size(), memory),
      z_re_(stride_ * stride_, memory),
      z_im_(z_re_.size(), memory),
      inverse_diagonal_(config.symbols_max, memory),
      matched_(config.symbols_max, memory),
      estimates_(config.symbols_max, memory) {
  S5066_ASSERT(config.taps_max <= ChannelTracker::kTapsMax);
  h_re_.reserve(kPhases * config.taps_max * config.rows_max);
  h_im_.reserve(h_re_.capacity());
}

std::span<const BlockEqualizer::Estimate> BlockEqualizer::solve(const Problem& problem) {
  size_ = problem.prior_variance.size();
  S5066_ASSERT(size_ > 0 && size_ <= matched_.size());
  take_response(problem);
  build(problem);
  factor();
  substitute();
  invert_diagonal();

  for (std::size_t i = 0; i < size_; ++i) {
    const float posterior = inverse_diagonal_[i];
    const float prior = problem.prior_variance[i];
    const Complex mean = problem.prior_mean[i] + matched_[i];
    const float information = 1 / posterior - 1 / prior;
    const float variance =
        information > 1 / kVarianceMax ? std::max(1 / information, kVarianceMin) : kVarianceMax;
    estimates_[i] = {variance * (mean / posterior - problem.prior_mean[i] / prior), variance};
  }
  return std::span<const Estimate>(estimates_).first(size_);
}

void BlockEqualizer::take_response(const Problem& problem) {
  const std::size_t rows = problem.remainder.size() / kPhases;
  taps_ = problem.taps > 0 ? problem.taps : problem.response.size() / kPhases;
  const std::size_t responses = problem.response.size() / (kPhases * taps_);
  S5066_ASSERT(taps_ > 0 && taps_ <= stride_ && (responses == 1 || responses == rows));
  band_ = std::min(taps_ - 1, size_ - 1);
  response_stride_ = responses == 1 ? 0 : kPhases * taps_;
  S5066_ASSERT(problem.response.size() <= h_re_.capacity());
  h_re_.resize(problem.response.size());
  h_im_.resize(problem.response.size());
  std::size_t to = 0;
  for (std::size_t r = 0; r < responses; ++r) {
    const Complex* const h = problem.response.data() + r * kPhases * taps_;
    for (std::size_t p = 0; p < kPhases; ++p) {
      for (std::size_t l = taps_; l-- > 0; ++to) {
        h_re_[to] = h[kPhases * l + p].real();
        h_im_[to] = h[kPhases * l + p].imag();
      }
    }
  }
}

// Builds A = diag(1 / prior variance) + H'H / noise, and H' remainder / noise. Symbol j meets tap l
// in row j + l, where symbol j + k meets tap l - k. Rows behind the remainder do not count.
void BlockEqualizer::build(const Problem& problem) {
  const std::size_t rows = problem.remainder.size() / kPhases;
  const float scale = 1 / problem.noise;
  for (std::size_t j = 0; j < size_; ++j) {
    Band sum_re{};
    Band sum_im{};
    Complex matched;
    for (std::size_t l = 0; l < std::min(taps_, rows - std::min(rows, j)); ++l) {
      for (std::size_t p = 0; p < kPhases; ++p) {
        const std::size_t at = (j + l) * response_stride_ + p * taps_ + (taps_ - 1 - l);
        const float* const re = &h_re_[at];
        const float* const im = &h_im_[at];
        const float u_re = re[0];
        const float u_im = im[0];
        for (std::size_t k = 0; k <= l; ++k) {
          sum_re[k] += re[k] * u_re + im[k] * u_im;
          sum_im[k] += re[k] * u_im - im[k] * u_re;
        }
        matched += mul_conj({u_re, u_im}, problem.remainder[kPhases * (j + l) + p]);
      }
    }
    matched_[j] = matched * scale;
    float* const a_re = &a_re_[j * stride_];
    float* const a_im = &a_im_[j * stride_];
    const std::size_t last = std::min(band_, size_ - 1 - j);
    for (std::size_t k = 0; k < taps_; ++k) {
      a_re[k] = k <= last ? sum_re[k] * scale : 0.0F;
      a_im[k] = k <= last ? sum_im[k] * scale : 0.0F;
    }
    a_re[0] += 1 / problem.prior_variance[j];
  }
}

// Cholesky factorisation within the band, column by column; the diagonal of the factor is stored as
// its inverse.
void BlockEqualizer::factor() {
  for (std::size_t j = 0; j < size_; ++j) {
    float* const c_re = &a_re_[j * stride_];
    float* const c_im = &a_im_[j * stride_];
    const float inverse = 1 / std::sqrt(std::max(c_re[0], 1e-20F));
    c_re[0] = inverse;
    const std::size_t last = std::min(band_, size_ - 1 - j);
    for (std::size_t k = 1; k <= last; ++k) {
      c_re[k] *= inverse;
      c_im[k] *= inverse;
    }
    for (std::size_t k = 1; k <= last; ++k) {
      float* const to_re = &a_re_[(j + k) * stride_];
      float* const to_im = &a_im_[(j + k) * stride_];
      const float u_re = c_re[k];
      const float u_im = c_im[k];
      const float* const v_re = c_re + k;
      const float* const v_im = c_im + k;
      for (std::size_t m = 0; m <= last - k; ++m) {
        to_re[m] -= v_re[m] * u_re + v_im[m] * u_im;
        to_im[m] -= v_im[m] * u_re - v_re[m] * u_im;
      }
    }
  }
}

void BlockEqualizer::substitute() {
  for (std::size_t j = 0; j < size_; ++j) {
    const float* const c_re = &a_re_[j * stride_];
    const float* const c_im = &a_im_[j * stride_];
    const Complex x = matched_[j] * c_re[0];
    matched_[j] = x;
    for (std::size_t k = 1; k <= std::min(band_, size_ - 1 - j); ++k) {
      matched_[j + k] -= mul({c_re[k], c_im[k]}, x);
    }
  }
  for (std::size_t j = size_; j-- > 0;) {
    const float* const c_re = &a_re_[j * stride_];
    const float* const c_im = &a_im_[j * stride_];
    Complex sum = matched_[j];
    for (std::size_t k = 1; k <= std::min(band_, size_ - 1 - j); ++k) {
      sum -= mul_conj({c_re[k], c_im[k]}, matched_[j + k]);
    }
    matched_[j] = sum * c_re[0];
  }
}

// Each column of the inverse follows, within the band, from the columns behind it; the loop goes
// from the last symbol to the first. Those that are still needed are stored in a square, indexed
// modulo its size.
void BlockEqualizer::invert_diagonal() {
  const std::size_t ring = band_ + 1;
  std::fill(z_re_.begin(), z_re_.end(), 0.0F);
  std::fill(z_im_.begin(), z_im_.end(), 0.0F);
  for (std::size_t j = size_; j-- > 0;) {
    const float* const c_re = &a_re_[j * stride_];
    const float* const c_im = &a_im_[j * stride_];
    const std::size_t last = std::min(band_, size_ - 1 - j);
    Band w_re{};
    Band w_im{};
    for (std::size_t k = 1; k <= last; ++k) {
      const float* const z_re = &z_re_[(j + k) % ring * stride_];  // element (i, j + k) at [i]
      const float* const z_im = &z_im_[(j + k) % ring * stride_];
      const float u_re = -c_re[0] * c_re[k];
      const float u_im = -c_re[0] * c_im[k];
      for (std::size_t i = 0; i < ring; ++i) {
        w_re[i] += z_re[i] * u_re - z_im[i] * u_im;
        w_im[i] += z_re[i] * u_im + z_im[i] * u_re;
      }
    }
    const std::size_t own = j % ring;
    float sum = c_re[0];
    for (std::size_t k = 1; k <= last; ++k) {
      const std::size_t i = (j + k) % ring;
      sum -= w_re[i] * c_re[k] + w_im[i] * c_im[k];
    }
    const float diagonal = std::max(c_re[0] * sum, 1e-30F);
    inverse_diagonal_[j] = diagonal;
    for (std::size_t i = 0; i < ring; ++i) {
      z_re_[own * stride_ + i] = w_re[i];
      z_im_[own * stride_ + i] = w_im[i];
      z_re_[i * stride_ + own] = w_re[i];
      z_im_[i * stride_ + own] = -w_im[i];
    }
    z_re_[own * stride_ + own] = diagonal;
    z_im_[own * stride_ + own] = 0;
  }
}

BlockEqualizer::Estimate moment_matched(const BlockEqualizer::Estimate& before,
                                        const BlockEqualizer::Estimate& estimate,
                                        const BlockEqualizer::Estimate& symbol) {
  const float sure = 1 / std::max(symbol.variance, kMatchedVarianceMin);
  const float heard = 1 / estimate.variance;
  if (sure <= heard) return before;
  const float known = 1 / before.variance;
  const float information = kMatchedStep * (sure - heard) + (1 - kMatchedStep) * known;
  const Complex weighted = kMatchedStep * (sure * symbol.mean - heard * estimate.mean) +
                           ((1 - kMatchedStep) * known) * before.mean;
  return {(1 / information) * weighted, 1 / information};
}

}  // namespace s5066::modem::dsp
