// SPDX-License-Identifier: Apache-2.0
#include "modem/dsp/channel_tracker.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "s5066d/base/assert.h"

namespace s5066::modem::dsp {

namespace {

/// The limit is a share of the power that the response is expected to have. With less noise,
/// rounding errors make the covariance meaningless.
constexpr float kNoiseShareMin = 1e-5F;
constexpr float kNoiseMin = 1e-25F;

}  // namespace

ChannelTracker::ChannelTracker(std::span<const float> profile) : count_(profile.size()) {
  S5066_ASSERT(count_ > 0 && count_ <= kTapsMax);
  set_profile(profile);
  for (std::size_t i = 0; i < count_; ++i) p_re_[i][i] = profile_[i];
}

void ChannelTracker::set_profile(std::span<const float> profile) {
  S5066_ASSERT(profile.size() == count_);
  std::copy(profile.begin(), profile.end(), profile_.begin());
  const float power = std::accumulate(profile.begin(), profile.end(), 0.0F);
  noise_min_ = std::max(kNoiseShareMin * power, kNoiseMin);
}

void ChannelTracker::predict(float memory) {
  const float kept = memory * memory;
  for (std::size_t p = 0; p < kPhases; ++p) {
    for (std::size_t i = 0; i < count_; ++i) {
      h_re_[p][i] *= memory;
      h_im_[p][i] *= memory;
    }
  }
  for (std::size_t i = 0; i < count_; ++i) {
    for (std::size_t j = 0; j < count_; ++j) {
      p_re_[i][j] *= kept;
      p_im_[i][j] *= kept;
    }
    p_re_[i][i] += (1 - kept) * profile_[i];
  }
}

float ChannelTracker::update(std::span<const Complex> newest_first,
                             std::span<const float> variances, float noise,
                             std::span<const Complex, kPhases> received) {
  S5066_ASSERT(newest_first.size() == count_ && variances.size() == count_);
  const std::size_t n = count_;

  // gain = P conj(s); column j of P is the conjugate of row j.
  alignas(32) Row g_re{};
  alignas(32) Row g_im{};
  for (std::size_t j = 0; j < n; ++j) {
    const float u_re = newest_first[j].real();
    const float u_im = -newest_first[j].imag();
    const Row& re = p_re_[j];
    const Row& im = p_im_[j];
    for (std::size_t i = 0; i < n; ++i) {
      g_re[i] += re[i] * u_re + im[i] * u_im;
      g_im[i] += re[i] * u_im - im[i] * u_re;
    }
  }
  float expected = std::max(noise, noise_min_);
  for (std::size_t j = 0; j < n; ++j) {
    expected += newest_first[j].real() * g_re[j] - newest_first[j].imag() * g_im[j];
    const float energy = h_re_[0][j] * h_re_[0][j] + h_im_[0][j] * h_im_[0][j] +
                         h_re_[1][j] * h_re_[1][j] + h_im_[1][j] * h_im_[1][j];
    expected += 0.5F * variances[j] * energy;
  }
  const float scale = 1 / expected;

  const auto forecast = predicted(newest_first);
  float surprise = 0;
  for (std::size_t p = 0; p < kPhases; ++p) {
    const Complex error = received[p] - forecast[p];
    surprise += std::norm(error);
    const float e_re = error.real() * scale;
    const float e_im = error.imag() * scale;
    for (std::size_t i = 0; i < n; ++i) {
      h_re_[p][i] += g_re[i] * e_re - g_im[i] * e_im;
      h_im_[p][i] += g_re[i] * e_im + g_im[i] * e_re;
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    const float a_re = g_re[i] * scale;
    const float a_im = g_im[i] * scale;
    Row& re = p_re_[i];
    Row& im = p_im_[i];
    for (std::size_t j = 0; j < n; ++j) {
      re[j] -= a_re * g_re[j] + a_im * g_im[j];
      im[j] -= a_im * g_re[j] - a_re * g_im[j];
    }
  }
  return 0.5F * surprise * scale;
}

std::array<Complex, kPhases> ChannelTracker::predicted(
    std::span<const Complex> newest_first) const {
  std::array<Complex, kPhases> sums;
  for (std::size_t p = 0; p < kPhases; ++p) {
    for (std::size_t i = 0; i < count_; ++i) sums[p] += mul(tap(p, i), newest_first[i]);
  }
  return sums;
}

// Computes the Cholesky factor, lower triangle, of the covariance that predict() would make; its
// diagonal is inverted.
void ChannelTracker::factor_prediction(float memory, Matrix& re, Matrix& im) const {
  const float kept = memory * memory;
  for (std::size_t i = 0; i < count_; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      float sum_re = 0;
      float sum_im = 0;
      for (std::size_t k = 0; k < j; ++k) {
        sum_re += re[i][k] * re[j][k] + im[i][k] * im[j][k];
        sum_im += im[i][k] * re[j][k] - re[i][k] * im[j][k];
      }
      if (i == j) {
        const float diagonal = kept * p_re_[i][i] + (1 - kept) * profile_[i];
        re[i][i] = 1 / std::sqrt(std::max(diagonal - sum_re, 1e-6F * diagonal + 1e-30F));
        im[i][i] = 0;
      } else {
        re[i][j] = (kept * p_re_[i][j] - sum_re) * re[j][j];
        im[i][j] = (kept * p_im_[i][j] - sum_im) * re[j][j];
      }
    }
  }
}

// Computes own + memory P (predicted P)^-1 (later - memory x own).
void ChannelTracker::smooth(std::span<const Complex> later, float memory) {
  S5066_ASSERT(later.size() == kPhases * count_);
  alignas(32) Matrix re;
  alignas(32) Matrix im;
  factor_prediction(memory, re, im);
  for (std::size_t p = 0; p < kPhases; ++p) {
    std::array<Complex, kTapsMax> x;
    for (std::size_t i = 0; i < count_; ++i) {
      Complex sum = later[kPhases * i + p] - memory * tap(p, i);
      for (std::size_t k = 0; k < i; ++k) sum -= mul({re[i][k], im[i][k]}, x[k]);
      x[i] = sum * re[i][i];
    }
    for (std::size_t i = count_; i-- > 0;) {
      Complex sum = x[i];
      for (std::size_t k = i + 1; k < count_; ++k) sum -= mul_conj({re[k][i], im[k][i]}, x[k]);
      x[i] = sum * re[i][i];
    }
    for (std::size_t j = 0; j < count_; ++j) {
      const Complex d = memory * x[j];
      for (std::size_t i = 0; i < count_; ++i) {
        // Column j of P is the conjugate of row j.
        h_re_[p][i] += p_re_[j][i] * d.real() + p_im_[j][i] * d.imag();
        h_im_[p][i] += p_re_[j][i] * d.imag() - p_im_[j][i] * d.real();
      }
    }
  }
}

void ChannelTracker::response(std::span<Complex> out) const {
  S5066_ASSERT(out.size() == kPhases * count_);
  for (std::size_t l = 0; l < count_; ++l) {
    for (std::size_t p = 0; p < kPhases; ++p) out[kPhases * l + p] = tap(p, l);
  }
}

float ChannelTracker::uncertainty() const {
  float sum = 0;
  for (std::size_t i = 0; i < count_; ++i) sum += p_re_[i][i];
  return sum;
}

void ChannelTracker::clear_tap(std::size_t index, float variance) {
  for (std::size_t p = 0; p < kPhases; ++p) h_re_[p][index] = h_im_[p][index] = 0;
  for (std::size_t j = 0; j < count_; ++j) {
    p_re_[index][j] = p_im_[index][j] = 0;
    p_re_[j][index] = p_im_[j][index] = 0;
  }
  p_re_[index][index] = variance;
}

void ChannelTracker::shift_later() {
  for (std::size_t p = 0; p < kPhases; ++p) {
    std::shift_left(h_re_[p].begin(), h_re_[p].end(), 1);
    std::shift_left(h_im_[p].begin(), h_im_[p].end(), 1);
  }
  for (std::size_t i = 0; i + 1 < count_; ++i) {
    for (std::size_t j = 0; j + 1 < count_; ++j) {
      p_re_[i][j] = p_re_[i + 1][j + 1];
      p_im_[i][j] = p_im_[i + 1][j + 1];
    }
  }
  std::shift_left(profile_.begin(), profile_.begin() + static_cast<std::ptrdiff_t>(count_), 1);
  clear_tap(count_ - 1, profile_[count_ - 1]);
}

void ChannelTracker::shift_earlier() {
  for (std::size_t p = 0; p < kPhases; ++p) {
    std::shift_right(h_re_[p].begin(), h_re_[p].begin() + static_cast<std::ptrdiff_t>(count_), 1);
    std::shift_right(h_im_[p].begin(), h_im_[p].begin() + static_cast<std::ptrdiff_t>(count_), 1);
  }
  for (std::size_t i = count_ - 1; i > 0; --i) {
    for (std::size_t j = count_ - 1; j > 0; --j) {
      p_re_[i][j] = p_re_[i - 1][j - 1];
      p_im_[i][j] = p_im_[i - 1][j - 1];
    }
  }
  std::shift_right(profile_.begin(), profile_.begin() + static_cast<std::ptrdiff_t>(count_), 1);
  clear_tap(0, profile_.front());
}

float ChannelTracker::energy() const {
  float sum = 0;
  for (std::size_t p = 0; p < kPhases; ++p) {
    for (std::size_t i = 0; i < count_; ++i) sum += std::norm(tap(p, i));
  }
  return sum;
}

}  // namespace s5066::modem::dsp
