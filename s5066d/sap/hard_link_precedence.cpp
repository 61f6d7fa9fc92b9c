// SPDX-License-Identifier: Apache-2.0
#include "s5066d/sap/hard_link_precedence.h"

namespace s5066::sap {

bool takes_precedence(const HardLinkClaim& fresh, const HardLinkClaim& existing) {
  if (fresh.rank != existing.rank) return fresh.rank > existing.rank;
  if (fresh.priority != existing.priority) return fresh.priority > existing.priority;
  if (fresh.peer != existing.peer) return false;
  return fresh.type > existing.type;
}

bool equal_in_rank_and_priority(const HardLinkClaim& a, const HardLinkClaim& b) {
  return a.rank == b.rank && a.priority == b.priority;
}

// STANDARD: the text does not cover crossing requests. Neither node knows the rank of the other's
// client, so a comparison by rank can make both give way, or neither. The comparison uses what both
// know: priority, then type, then address.
bool wins_crossing(const HardLinkClaim& ours, const HardLinkClaim& theirs, Address own) {
  if (ours.priority != theirs.priority) return ours.priority > theirs.priority;
  if (ours.type != theirs.type) return ours.type > theirs.type;
  return own > ours.peer;
}

}  // namespace s5066::sap
