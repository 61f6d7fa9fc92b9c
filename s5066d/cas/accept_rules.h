// SPDX-License-Identifier: Apache-2.0
// Decides which link requests a node accepts (B.3.2(3) to (5), B.3.2.1(6) to (10)). The same table
// applies to a peer's REQUEST and to a call of our own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>

#include "s5066d/cas/cpdu.h"

namespace s5066::cas {

/// Largest number of Exclusive links: one active, and one to negotiate a competing hard link
/// (B.3(7)).
inline constexpr std::size_t kExclusiveLinksMax = 2;

/// Returns how many of `links_max` links may be Nonexclusive, so that room is left for Exclusive
/// ones; at least 1.
constexpr std::size_t nonexclusive_room(std::size_t links_max) {
  return std::max(links_max, kExclusiveLinksMax + 1) - kExclusiveLinksMax;
}

/// Links of a node, except the one that the request is for.
struct LinkCensus {
  std::size_t nonexclusive = 0;
  std::size_t exclusive_made = 0;
  std::size_t exclusive_pending = 0;
  std::size_t nonexclusive_max = 0;
  bool broadcast_only = false;
};

/// Returns the reason to refuse, or nothing if the request is accepted.
std::optional<RejectReason> refusal(const LinkCensus& census, LinkType requested);

}  // namespace s5066::cas
