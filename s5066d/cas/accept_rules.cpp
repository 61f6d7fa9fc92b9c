// SPDX-License-Identifier: Apache-2.0
#include "s5066d/cas/accept_rules.h"

namespace s5066::cas {

std::optional<RejectReason> refusal(const LinkCensus& census, LinkType requested) {
  if (census.broadcast_only) return RejectReason::broadcast_only_node;
  if (requested == LinkType::exclusive) {
    // STANDARD: no reason is given for a third Exclusive link; "supporting" fits its meaning. A
    // pending call of our own counts, because its success would make a third link.
    const bool full = census.exclusive_made + census.exclusive_pending >= kExclusiveLinksMax;
    return full ? std::optional(RejectReason::supporting_exclusive_link) : std::nullopt;
  }
  if (census.exclusive_made + census.exclusive_pending > 0) {
    return RejectReason::supporting_exclusive_link;
  }
  // STANDARD: the limit on Nonexclusive links has no reason of its own; 0 is always valid.
  if (census.nonexclusive >= census.nonexclusive_max) return RejectReason::unknown;
  return std::nullopt;
}

}  // namespace s5066::cas
