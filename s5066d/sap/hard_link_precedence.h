// Which of two hard links has to give way (A.3.2.2.1), and which of two requests that cross.
#pragma once

#include <cstdint>

#include "s5066d/base/ids.h"
#include "sis/primitives.h"

namespace s5066::sap {

/// What a hard link is weighed by. One of its nodes is always ourselves.
struct HardLinkClaim {
  std::uint8_t rank = 0;  // of the client; for a peer's client, what we take it to be
  std::uint8_t priority = 0;
  Address peer;
  sis::HardLinkType type = sis::HardLinkType::link_reservation;
};

/// Whether the new link wins against the existing one; the first difference decides, and a tie
/// leaves the existing one (A.3.2.2.1(1)-(6)).
bool takes_precedence(const HardLinkClaim& fresh, const HardLinkClaim& existing);

/// Both say nothing about who of the two is the more important.
bool equal_in_rank_and_priority(const HardLinkClaim& a, const HardLinkClaim& b);

/// Whether ours stands of two requests that two nodes made of each other at the same time. Both
/// nodes come to the same answer.
bool wins_crossing(const HardLinkClaim& ours, const HardLinkClaim& theirs, Address own);

}  // namespace s5066::sap
