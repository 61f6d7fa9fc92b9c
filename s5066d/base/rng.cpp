// SPDX-License-Identifier: Apache-2.0
#include "s5066d/base/rng.h"

#include <bit>
#include <cmath>

namespace s5066 {

Rng::Rng(std::uint64_t seed) {
  for (auto& word : state_) {
    seed += 0x9E3779B97F4A7C15u;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    word = z ^ (z >> 31);
  }
}

std::uint64_t Rng::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint32_t Rng::below(std::uint32_t bound) {
  S5066_ASSERT(bound > 0);
  // Multiply-shift: the bias is below bound/2^32, far under anything a simulation can see.
  return static_cast<std::uint32_t>(((next() >> 32) * bound) >> 32);
}

double Rng::uniform() {
  return static_cast<double>(next() >> 11) * 0x1p-53;
}

double Rng::gaussian() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  double u = 0, v = 0, s = 0;
  do {
    u = 2 * uniform() - 1;
    v = 2 * uniform() - 1;
    s = u * u + v * v;
  } while (s >= 1 || s == 0);
  const double scale = std::sqrt(-2 * std::log(s) / s);
  spare_ = v * scale;
  has_spare_ = true;
  return u * scale;
}

Rng Rng::fork() {
  return Rng(next());
}

}  // namespace s5066
