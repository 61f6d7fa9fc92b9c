// How much a client may bring in: primitives and octets in a second. What is more is not lost, it
// has to wait: the node takes no further primitive, and the driver reads no further octet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "s5066d/base/time.h"

namespace s5066 {

class InputRate {
 public:
  /// 0 is no limit. As much as a second allows may come at once.
  struct Config {
    std::uint32_t primitives_per_second_max = 5'000;
    std::uint32_t octets_per_second_max = 8 * 1024 * 1024;
  };

  explicit InputRate(const Config& config) : config_(config) {}

  /// One primitive, also when exhausted() holds.
  void take(Instant now, std::size_t octets);
  /// Time has passed.
  void refill(Instant now);
  /// Nothing more before next_deadline(), which is there exactly then.
  bool exhausted() const { return resumes_at_.has_value(); }
  std::optional<Instant> next_deadline() const { return resumes_at_; }

 private:
  const Config config_;
  Instant empty_at_{};  // when all that was taken is paid for
  std::optional<Instant> resumes_at_;
};

}  // namespace s5066
