// SPDX-License-Identifier: Apache-2.0
// Seeds of simulations and of random histories.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace s5066::sim {

using Seed = std::uint64_t;

/// Returns 1..count, or only the seed in S5066_SEED. S5066_SEEDS overrides `count`.
inline std::vector<Seed> seeds(std::size_t count) {
  if (const char* only = std::getenv("S5066_SEED")) return {std::strtoull(only, nullptr, 10)};
  if (const char* all = std::getenv("S5066_SEEDS")) count = std::strtoull(all, nullptr, 10);
  std::vector<Seed> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = i + 1;
  return out;
}

/// Says whether this run takes case `number` of a long test: of every `parts` cases in a row it
/// takes the first, or that which S5066_SEED names, counted from 1. S5066_SEEDS=`parts` takes all.
inline bool takes_case(std::size_t number, std::size_t parts) {
  for (const Seed seed : seeds(1)) {
    if (number % parts == (seed + parts - 1) % parts) return true;
  }
  return false;
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define S5066_SANITIZED
#endif
#endif
/// A long test takes one in this many of its cases. A sanitizer finds a wrong access in any history
/// that makes it, and the build without sanitizers runs them all.
inline constexpr std::size_t kThinning =
#if defined(__SANITIZE_ADDRESS__) || defined(S5066_SANITIZED)
    9;
#else
    1;
#endif

/// Returns the seeds for one of the longest tests, fewer with sanitizers.
inline std::vector<Seed> thinned_seeds(std::size_t count) {
  return seeds(count / kThinning);
}

}  // namespace s5066::sim
