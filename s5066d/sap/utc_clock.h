// SPDX-License-Identifier: Apache-2.0
// The date, counted on from when it was last set; empty before that.
#pragma once

#include <chrono>
#include <optional>

#include "s5066d/base/time.h"

namespace s5066::sap {

class UtcClock {
 public:
  void set(Instant at, UtcSeconds value) { told_ = Told{at, value}; }
  std::optional<UtcSeconds> at(Instant at) const {
    if (!told_) return std::nullopt;
    const auto since = std::chrono::floor<std::chrono::seconds>(at - told_->at);
    return UtcSeconds{told_->value.value + since.count()};
  }

 private:
  struct Told {
    Instant at{};
    UtcSeconds value;
  };
  std::optional<Told> told_;
};

}  // namespace s5066::sap
