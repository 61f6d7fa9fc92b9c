// SPDX-License-Identifier: Apache-2.0
// The rule of fair turns, which queues with priorities share.
#pragma once

#include <cstdint>

namespace s5066 {

/// True if the next of `taken` items so far goes to the party that was served longest ago and
/// not to the most urgent one: the last of each `every` items. With 0 there are no fair turns.
constexpr bool is_fair_turn(std::uint64_t taken, std::uint64_t every) {
  return every > 0 && taken % every == every - 1;
}

}  // namespace s5066
