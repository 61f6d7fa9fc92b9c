// SPDX-License-Identifier: Apache-2.0
// Converts between soft bits and soft symbols of a constellation, with or without prior information
// about the bits.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "modem/dsp/complex_math.h"

namespace s5066::modem::framed {

struct SoftSymbol {
  dsp::Complex mean;
  float variance = 1;
};

/// Log-likelihood ratios are positive for 0, with the first bit first, one for each bit of a
/// symbol.
class Demapper {
 public:
  /// `bits_per_symbol` is that of constellation().
  explicit Demapper(unsigned bits_per_symbol);

  /// Returns the mean power of the points.
  float power() const { return power_; }

  /// Returns the symbol by its bits, scrambled by the value.
  SoftSymbol symbol_of(std::span<const float> bits, std::uint8_t scrambler_value) const;

  /// `estimate` is the symbol plus noise of that variance. Writes the information of the estimate
  /// about each bit without that bit's own `prior`, and returns the symbol by both.
  SoftSymbol demap(dsp::Complex estimate, float variance, std::span<const float> prior,
                   std::uint8_t scrambler_value, std::span<float> llr) const;

 private:
  static constexpr std::size_t kPointsMax = 256;
  using Weights = std::array<float, kPointsMax>;

  void add_priors(std::span<const float> bits, unsigned flips, Weights& weights) const;
  SoftSymbol average(Weights& weights) const;

  unsigned bits_per_symbol_;
  bool phases_only_;
  std::size_t count_;  // number of points
  float power_ = 0;
  alignas(32) Weights re_{};
  alignas(32) Weights im_{};
  alignas(32) Weights norm_{};
};

}  // namespace s5066::modem::framed
