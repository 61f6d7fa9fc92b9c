// SPDX-License-Identifier: Apache-2.0
#include "s5066d/sap/peer_counts.h"

#include <algorithm>

namespace s5066::sap {

PeerCounts::Count& PeerCounts::touch(Address peer) {
  if (counts_.size() >= peers_max_ && counts_.count(peer) == 0) {
    counts_.erase(std::min_element(
        counts_.begin(), counts_.end(),
        [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
  }
  Count& count = counts_[peer];
  count.used = ++additions_;
  return count;
}

}  // namespace s5066::sap
