// SPDX-License-Identifier: Apache-2.0
// Decides which of two hard links gives way (A.3.2.2.1), and which of two crossing requests.
#pragma once

#include <cstdint>

#include "s5066d/base/ids.h"
#include "sis/primitives.h"

namespace s5066::sap {

/// Fields by which hard links are compared. One node of a hard link is always ours.
struct HardLinkClaim {
  std::uint8_t rank = 0;  // rank of the client; for a peer's client, the rank that we assume
  std::uint8_t priority = 0;
  Address peer;
  sis::HardLinkType type = sis::HardLinkType::link_reservation;
};

/// True if the new link wins against the existing one. The first difference decides, and a tie
/// keeps the existing one (A.3.2.2.1(1)-(6)).
bool takes_precedence(const HardLinkClaim& fresh, const HardLinkClaim& existing);

/// True if rank and priority do not decide between the two.
bool equal_in_rank_and_priority(const HardLinkClaim& a, const HardLinkClaim& b);

/// True if our request stands when two nodes asked each other at the same time. Both nodes come to
/// the same answer.
bool wins_crossing(const HardLinkClaim& ours, const HardLinkClaim& theirs, Address own);

}  // namespace s5066::sap
