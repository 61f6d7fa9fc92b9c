// SPDX-License-Identifier: Apache-2.0
// Estimates the response to known symbols by least squares when it changes while they are sent.
// Each tap follows a polynomial in time up to a parabola. In a fade of every path the response may
// turn within 0.1 s, and then a constant one does not fit.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>

#include "modem/dsp/channel_tracker.h"
#include "modem/dsp/complex_math.h"
#include "s5066d/base/fixed_vector.h"

namespace s5066::modem::dsp {

class CourseFit {
 public:
  static constexpr std::size_t kUnknownsMax = 88;

  /// `delays` are the delays of the taps in symbols. Each tap has `terms` terms, 1 to 3, over
  /// `rows` symbols.
  CourseFit(std::span<const std::uint8_t> delays, std::size_t terms, std::size_t rows);

  /// The terms of a tap, given by its place among the delays, are expected to be small. `weight` is
  /// the variance of the noise over that of the terms.
  void expect(std::size_t tap, double weight);

  /// Rows are pairs of samples; row r meets symbols[r - delay]. Known symbols may be added in
  /// parts, from one row up to another.
  void add_symbols(std::span<const Complex> symbols, std::size_t from, std::size_t to);
  /// Adds the samples of a part.
  void add_samples(std::span<const Complex> symbols, std::span<const Complex> samples,
                   std::size_t from, std::size_t to);
  /// Forgets all samples.
  void clear_samples();

  /// Returns the energy of the samples that the fit explains, less the penalty for the expected
  /// size of the terms. No symbols can be added after it.
  double solve();

  std::size_t unknowns() const { return delays_.size() * terms_; }

  /// Returns the mean power of a tap, given by its place among the delays, over time and both
  /// phases.
  double power(std::size_t tap) const;
  /// Returns the mean turns of the response in a sample, weighted by its power.
  double turn() const;
  /// Returns the energy of the samples of a part that the fit does not explain.
  double left_over(std::span<const Complex> symbols, std::span<const Complex> samples,
                   std::size_t from, std::size_t to) const;

 private:
  using Wide = std::complex<double>;
  using Column = FixedVector<Wide, kUnknownsMax>;
  static constexpr std::size_t kTermsMax = 3;

  std::array<double, kTermsMax> terms_at(std::size_t row) const;
  const Wide& term(std::size_t phase, std::size_t tap, std::size_t order) const {
    return solution_[phase][tap * terms_ + order];
  }

  FixedVector<std::uint8_t, kUnknownsMax> delays_;
  std::size_t terms_;
  double half_rows_;
  bool factored_ = false;
  FixedVector<Wide, kUnknownsMax * kUnknownsMax> matrix_;  // lower triangle, row by row
  std::array<Column, kPhases> right_;
  std::array<Column, kPhases> solution_;
};

}  // namespace s5066::modem::dsp
