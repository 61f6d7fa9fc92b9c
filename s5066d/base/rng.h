// SPDX-License-Identifier: Apache-2.0
// Random numbers for cores and simulations: injected, seeded, and the same on every machine. The
// generator is xoshiro256** (Blackman and Vigna, 2018), seeded by splitmix64.
#pragma once

#include <array>
#include <cstdint>

#include "s5066d/base/assert.h"

namespace s5066 {

class Rng {
 public:
  using result_type = std::uint64_t;

  explicit Rng(std::uint64_t seed);

  std::uint64_t operator()() { return next(); }
  static constexpr std::uint64_t min() { return 0; }
  static constexpr std::uint64_t max() { return ~std::uint64_t{0}; }

  std::uint64_t next();
  /// Returns a uniform number in 0..bound-1; bound must not be 0.
  std::uint32_t below(std::uint32_t bound);
  /// Returns a uniform number in [0, 1).
  double uniform();
  /// Returns true with probability p.
  bool chance(double p) { return uniform() < p; }
  /// Returns a normal number with mean 0 and variance 1 (Marsaglia's polar method).
  double gaussian();
  /// Returns a separate generator for a part of the world, so that the parts do not affect each
  /// other.
  Rng fork();

 private:
  std::array<std::uint64_t, 4> state_;
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace s5066
