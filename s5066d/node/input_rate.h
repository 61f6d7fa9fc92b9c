// SPDX-License-Identifier: Apache-2.0
// Limits the input of a client: primitives and octets per second. Input above the limit is not lost
// but waits: the node takes no further primitive, and the driver reads no further octet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "s5066d/base/time.h"

namespace s5066 {

class InputRate {
 public:
  /// Limits per second; 0: none. The amount of one second may come at once.
  struct Config {
    std::uint32_t primitives_per_second_max = 5'000;
    std::uint32_t octets_per_second_max = 8 * 1024 * 1024;
  };

  explicit InputRate(const Config& config) : config_(config) {}

  /// Charges one primitive, also if exhausted() is true.
  void take(Instant now, std::size_t octets);
  /// Call when time has passed.
  void refill(Instant now);
  /// True if nothing more may be taken before next_deadline(), which has a value only then.
  bool exhausted() const { return resumes_at_.has_value(); }
  std::optional<Instant> next_deadline() const { return resumes_at_; }

 private:
  const Config config_;
  Instant empty_at_{};  // time at which all that was taken is paid for
  std::optional<Instant> resumes_at_;
};

}  // namespace s5066
