// SPDX-License-Identifier: Apache-2.0
#include "s5066d/cas/known_peers.h"

#include <algorithm>

namespace s5066::cas {

void KnownPeers::add(Address peer) {
  std::erase(peers_, peer);
  peers_.push_back(peer);
  if (peers_.size() > kKnownPeersMax) peers_.pop_front();
}

bool KnownPeers::contains(Address peer) const {
  return std::find(peers_.begin(), peers_.end(), peer) != peers_.end();
}

}  // namespace s5066::cas
