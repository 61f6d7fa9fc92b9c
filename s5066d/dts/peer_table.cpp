// SPDX-License-Identifier: Apache-2.0
#include "s5066d/dts/peer_table.h"

namespace s5066::dts {

Peer* PeerTable::find(Address peer) {
  const auto found = peers_.find(peer);
  return found == peers_.end() ? nullptr : &found->second;
}

const Peer* PeerTable::find(Address peer) const {
  const auto found = peers_.find(peer);
  return found == peers_.end() ? nullptr : &found->second;
}

Peer* PeerTable::touch(Address peer, const std::function<bool(Address)>& in_use,
                       const std::function<Peer()>& make) {
  Peer* record = find(peer);
  if (!record) {
    if (peers_.size() >= peers_max_ && !make_room(in_use)) return nullptr;
    record = &peers_.emplace(peer, make()).first->second;
  }
  record->heard = ++heard_count_;
  return record;
}

bool PeerTable::make_room(const std::function<bool(Address)>& in_use) {
  auto oldest = peers_.end();
  for (auto it = peers_.begin(); it != peers_.end(); ++it) {
    if (it->second.control.connected() || in_use(it->first)) continue;
    if (oldest == peers_.end() || it->second.heard < oldest->second.heard) oldest = it;
  }
  if (oldest == peers_.end()) return false;
  peers_.erase(oldest);
  return true;
}

}  // namespace s5066::dts
