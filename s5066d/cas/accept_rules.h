// Which link requests a node takes (B.3.2(3) to (5), B.3.2.1(6) to (10)): the same table decides
// about a peer's REQUEST and about our own wish to call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>

#include "s5066d/cas/cpdu.h"

namespace s5066::cas {

/// Exclusive links at a time: one active, one to negotiate a competing hard link (B.3(7)).
inline constexpr std::size_t kExclusiveLinksMax = 2;

/// Nonexclusive links that leave room for those, of `links_max` in all; always one.
constexpr std::size_t nonexclusive_room(std::size_t links_max) {
  return std::max(links_max, kExclusiveLinksMax + 1) - kExclusiveLinksMax;
}

/// Links of a node, the one that the request is about left out.
struct LinkCensus {
  std::size_t nonexclusive = 0;
  std::size_t exclusive_made = 0;
  std::size_t exclusive_pending = 0;
  std::size_t nonexclusive_max = 0;
  bool broadcast_only = false;
};

/// The reason to refuse, or nothing when the request is accepted.
std::optional<RejectReason> refusal(const LinkCensus& census, LinkType requested);

}  // namespace s5066::cas
