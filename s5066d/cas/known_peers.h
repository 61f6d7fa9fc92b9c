// SPDX-License-Identifier: Apache-2.0
// Peers whose ARQ D_PDUs were received on a link. Their calls and answers go before those of
// unknown addresses.
#pragma once

#include <cstddef>
#include <deque>

#include "s5066d/base/ids.h"

namespace s5066::cas {

inline constexpr std::size_t kKnownPeersMax = 64;

class KnownPeers {
 public:
  /// Adds a peer, or makes it the newest. If there are more than kKnownPeersMax, the oldest is
  /// forgotten.
  void add(Address peer);
  bool contains(Address peer) const;

 private:
  std::deque<Address> peers_;  // the oldest peer comes first
};

}  // namespace s5066::cas
