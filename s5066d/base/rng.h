// Random numbers for cores and simulations: injected, seeded, the same on every machine.
// Generator: xoshiro256** (Blackman and Vigna, 2018), seeded by splitmix64.
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
  /// Uniform in 0..bound-1; bound must not be 0.
  std::uint32_t below(std::uint32_t bound);
  /// Uniform in [0, 1).
  double uniform();
  /// True with probability p.
  bool chance(double p) { return uniform() < p; }
  /// Normal with mean 0 and variance 1 (Marsaglia's polar method).
  double gaussian();
  /// A generator of its own for a part of the world, so that parts do not disturb each other.
  Rng fork();

 private:
  std::array<std::uint64_t, 4> state_;
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace s5066
