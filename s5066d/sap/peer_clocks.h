// SPDX-License-Identifier: Apache-2.0
// Tells data that died on its way from data whose sender has another time of day.
//
// STANDARD: A.3.2.4(21) discards S_PDUs that arrive after their TIME TO DIE, and does not cover
// clocks that differ. A sender puts no S_PDU on the air that has died by its own clock. An S_PDU
// that seems to have died before the link was made, or longer ago than on_its_way_max, has
// therefore not died: the clocks differ by at least that much, and later S_PDUs of this peer are
// judged with that difference. Only the node whose clock is ahead can see it, because the other
// node takes a late time to die for a long time to live.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "s5066d/base/ids.h"
#include "s5066d/base/time.h"

namespace s5066::sap {

class PeerClocks {
 public:
  struct Config {
    Duration tolerance;         // difference that does not matter
    Duration on_its_way_max;    // longest time from the last transmission of an S_PDU to us
    std::size_t peers_max = 0;  // beyond it the peer heard of longest ago is forgotten
  };
  /// Our clock is ahead of the peer's by at least this much.
  struct Difference {
    Address peer;
    std::chrono::seconds at_least{};
    Instant at{};  // last time at which that was seen
  };

  explicit PeerClocks(const Config& config) : config_(config) {}

  void on_link_made(Instant now, Address peer);
  /// Call for an S_PDU that came `late` after its TIME TO DIE. Returns true if it has died.
  bool has_died(Instant now, Address peer, std::chrono::seconds late);
  /// Returns a difference to tell the operator, at most one in `kTellEvery` for each peer.
  std::optional<Difference> take_news();
  std::vector<Difference> differences() const;

 private:
  static constexpr Duration kTellEvery = std::chrono::hours(1);
  struct Peer {
    std::optional<Instant> link_made;
    std::chrono::seconds ahead{};  // difference on this link
    std::optional<Difference> seen;
    std::optional<Instant> told_at;
    Instant heard_at{};
  };
  Peer& peer_of(Instant now, Address peer);

  const Config config_;
  std::map<Address, Peer> peers_;
  std::optional<Difference> news_;
};

}  // namespace s5066::sap
