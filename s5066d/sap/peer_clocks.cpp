// SPDX-License-Identifier: Apache-2.0
#include "s5066d/sap/peer_clocks.h"

#include <algorithm>
#include <utility>

namespace s5066::sap {

PeerClocks::Peer& PeerClocks::peer_of(Instant now, Address peer) {
  Peer& found = peers_[peer];
  found.heard_at = now;
  if (peers_.size() > config_.peers_max) {
    peers_.erase(std::min_element(peers_.begin(), peers_.end(), [&](const auto& a, const auto& b) {
      if ((a.first == peer) != (b.first == peer)) return b.first == peer;
      return a.second.heard_at < b.second.heard_at;
    }));
  }
  return found;
}

// Starts without a known difference, because a clock may have been set since the link before.
void PeerClocks::on_link_made(Instant now, Address peer) {
  Peer& of = peer_of(now, peer);
  of.link_made = now;
  of.ahead = {};
}

bool PeerClocks::has_died(Instant now, Address peer, std::chrono::seconds late) {
  if (late <= config_.tolerance) return false;
  Peer& of = peer_of(now, peer);
  const Duration died_for = late - of.ahead;
  if (died_for <= config_.tolerance) return false;
  const bool before_the_link = of.link_made && died_for > now - *of.link_made;
  if (!before_the_link && died_for <= config_.on_its_way_max) return true;
  of.ahead = late;
  of.seen = Difference{peer, late, now};
  if (!of.told_at || now - *of.told_at >= kTellEvery) {
    of.told_at = now;
    news_ = of.seen;
  }
  return false;
}

std::optional<PeerClocks::Difference> PeerClocks::take_news() {
  return std::exchange(news_, std::nullopt);
}

std::vector<PeerClocks::Difference> PeerClocks::differences() const {
  std::vector<Difference> all;
  for (const auto& [peer, of] : peers_) {
    if (of.seen) all.push_back(*of.seen);
  }
  return all;
}

}  // namespace s5066::sap
