// SPDX-License-Identifier: Apache-2.0
// The times at which the probes of a run are sent, and their sizes. The mean rate is kept whatever
// the pattern is, because each probe moves the time of the next one by its own time on the line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "s5066d/base/result.h"
#include "s5066d/base/rng.h"
#include "s5066d/base/time.h"

namespace s5066::traffic {

enum class Pattern : std::uint8_t {
  constant,  // each probe as the line would end the one before
  poisson,   // gaps with an exponential distribution
  burst,     // a number of probes at once
};

/// Sizes from `min` to `max`, all equally likely.
struct SizeRange {
  std::size_t min = 512;
  std::size_t max = 512;
  friend bool operator==(const SizeRange&, const SizeRange&) = default;
};
inline constexpr std::size_t kSizesMax = 64;

/// Reads sizes such as "512", "64-1500" or "64,512,1500".
Result<std::vector<SizeRange>> parse_sizes(std::string_view text, std::size_t min, std::size_t max);
Result<Pattern> parse_pattern(std::string_view text);

struct LoadPlan {
  double rate_bps = 0;                  // 0: no pause between probes
  std::vector<SizeRange> sizes = {{}};  // used in turn
  Pattern pattern = Pattern::constant;
  std::uint32_t burst = 10;                 // probes of one burst
  std::optional<std::uint32_t> count = {};  // probes of the run
  std::optional<Duration> length = {};      // of the run; no probe is due at or after it
  std::uint64_t seed = 1;
};

class LoadSchedule {
 public:
  struct Item {
    std::uint32_t number = 0;
    std::size_t octets = 0;
    Duration at{};  // since the start of the run
    friend bool operator==(const Item&, const Item&) = default;
  };

  explicit LoadSchedule(const LoadPlan& plan);
  /// Returns the next probe, or nothing after the last one.
  std::optional<Item> next();
  /// Returns the probes of a run that has a rate or a count; too_large above kProbesMax.
  static Result<std::uint32_t> count(const LoadPlan& plan);

 private:
  std::size_t size();

  LoadPlan plan_;
  Rng rng_;
  std::uint32_t number_ = 0;
  double line_s_ = 0;   // when the line has sent all probes so far
  double burst_s_ = 0;  // start of the burst
};

}  // namespace s5066::traffic
