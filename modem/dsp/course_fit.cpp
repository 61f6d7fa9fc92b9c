// SPDX-License-Identifier: Apache-2.0
#include "modem/dsp/course_fit.h"

#include <algorithm>
#include <array>
#include <numbers>

#include "modem/dsp/least_squares.h"
#include "s5066d/base/assert.h"

namespace s5066::modem::dsp {
namespace {

/// These are the mean squares of Legendre's polynomials.
constexpr std::array kMeanSquares = {1.0, 1.0 / 3, 1.0 / 5};

}  // namespace

CourseFit::CourseFit(std::span<const std::uint8_t> delays, std::size_t terms, std::size_t rows)
    : delays_(delays.size()), terms_(terms), half_rows_(0.5 * static_cast<double>(rows)) {
  S5066_ASSERT(terms >= 1 && terms <= kTermsMax);
  std::copy(delays.begin(), delays.end(), delays_.begin());
  matrix_.resize(unknowns() * unknowns());
  clear_samples();
}

void CourseFit::expect(std::size_t tap, double weight) {
  for (std::size_t i = tap * terms_; i < (tap + 1) * terms_; ++i) {
    matrix_[i * unknowns() + i] += weight;
  }
}

void CourseFit::clear_samples() {
  for (Column& right : right_) {
    right.clear();
    right.resize(unknowns());
  }
}

// Returns Legendre's polynomials of the time, which runs from -1 to 1.
std::array<double, CourseFit::kTermsMax> CourseFit::terms_at(std::size_t row) const {
  const double t = (static_cast<double>(row) + 0.5) / half_rows_ - 1;
  return {1, t, 1.5 * t * t - 0.5};
}

void CourseFit::add_symbols(std::span<const Complex> symbols, std::size_t from, std::size_t to) {
  S5066_ASSERT(!factored_);
  const std::size_t size = unknowns();
  for (std::size_t row = from; row < to; ++row) {
    const auto times = terms_at(row);
    for (std::size_t i = 0; i < delays_.size(); ++i) {
      const Complex later = symbols[row - delays_[i]];
      for (std::size_t j = 0; j <= i; ++j) {
        const Wide product(mul_conj(later, symbols[row - delays_[j]]));
        for (std::size_t a = 0; a < terms_; ++a) {
          Wide* const out = &matrix_[(i * terms_ + a) * size + j * terms_];
          for (std::size_t b = 0; b < terms_; ++b) out[b] += times[a] * times[b] * product;
        }
      }
    }
  }
}

void CourseFit::add_samples(std::span<const Complex> symbols, std::span<const Complex> samples,
                            std::size_t from, std::size_t to) {
  for (std::size_t row = from; row < to; ++row) {
    const auto times = terms_at(row);
    for (std::size_t p = 0; p < kPhases; ++p) {
      for (std::size_t i = 0; i < delays_.size(); ++i) {
        const Wide product(mul_conj(symbols[row - delays_[i]], samples[kPhases * row + p]));
        Wide* const out = &right_[p][i * terms_];
        for (std::size_t a = 0; a < terms_; ++a) out[a] += times[a] * product;
      }
    }
  }
}

double CourseFit::solve() {
  if (!factored_) factor_hermitian({matrix_.data(), matrix_.size()}, unknowns());
  factored_ = true;
  double explained = 0;
  for (std::size_t p = 0; p < kPhases; ++p) {
    solution_[p] = right_[p];
    solve_factored({matrix_.data(), matrix_.size()}, {solution_[p].data(), unknowns()}, unknowns());
    for (std::size_t i = 0; i < unknowns(); ++i) {
      explained += right_[p][i].real() * solution_[p][i].real() +
                   right_[p][i].imag() * solution_[p][i].imag();
    }
  }
  return explained;
}

double CourseFit::power(std::size_t tap) const {
  double sum = 0;
  for (std::size_t p = 0; p < kPhases; ++p) {
    for (std::size_t a = 0; a < terms_; ++a) sum += kMeanSquares[a] * std::norm(term(p, tap, a));
  }
  return sum / kPhases;
}

// Returns the mean of conj(h) h' over the mean of |h|^2, which is the centre of the response's
// spectrum.
double CourseFit::turn() const {
  const auto turned = [](const Wide& a, const Wide& b) {
    return a.real() * b.imag() - a.imag() * b.real();
  };
  double sum = 0;
  double total = 0;
  for (std::size_t tap = 0; tap < delays_.size(); ++tap) {
    total += kPhases * power(tap);
    for (std::size_t p = 0; p < kPhases; ++p) {
      for (std::size_t a = 1; a < terms_; ++a) sum += turned(term(p, tap, a - 1), term(p, tap, a));
    }
  }
  const double samples = kPhases * half_rows_;
  return total > 0 ? sum / (total * 2 * std::numbers::pi * samples) : 0;
}

double CourseFit::left_over(std::span<const Complex> symbols, std::span<const Complex> samples,
                            std::size_t from, std::size_t to) const {
  double left = 0;
  for (std::size_t row = from; row < to; ++row) {
    const auto times = terms_at(row);
    for (std::size_t p = 0; p < kPhases; ++p) {
      Complex rest = samples[kPhases * row + p];
      for (std::size_t i = 0; i < delays_.size(); ++i) {
        Wide tap;
        for (std::size_t a = 0; a < terms_; ++a) tap += times[a] * term(p, i, a);
        rest -= mul(Complex(tap), symbols[row - delays_[i]]);
      }
      left += static_cast<double>(std::norm(rest));
    }
  }
  return left;
}

}  // namespace s5066::modem::dsp
