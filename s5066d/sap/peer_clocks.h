// Tells data that died on its way from data whose sender has another time of day.
//
// STANDARD: A.3.2.4(21) discards what arrives after its TIME TO DIE, and says nothing of clocks
// that are not the same. A sender puts no S_PDU on the air that has died by its own clock. So what
// had died before the link was made, or longer ago than anything is on its way, has not died: the
// clocks are apart by at least that much, and what comes from this peer is judged with that
// difference. Only the end whose clock is ahead can see it, because the other takes a time to die
// that is too late for a long time to live.
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
    Duration tolerance;         // a difference that is no matter
    Duration on_its_way_max;    // no S_PDU takes longer from its last transmission to us
    std::size_t peers_max = 0;  // beyond it the one heard of longest ago is forgotten
  };
  /// Our clock is ahead of the peer's by at least so much.
  struct Difference {
    Address peer;
    std::chrono::seconds at_least{};
    Instant at{};  // when that was seen last
  };

  explicit PeerClocks(const Config& config) : config_(config) {}

  void on_link_made(Instant now, Address peer);
  /// An S_PDU of the peer came so long after its TIME TO DIE. Returns true if it has died.
  bool has_died(Instant now, Address peer, std::chrono::seconds late);
  /// Returns a difference to tell the operator about: at most one in `kTellEvery` for each peer.
  std::optional<Difference> take_news();
  std::vector<Difference> differences() const;

 private:
  static constexpr Duration kTellEvery = std::chrono::hours(1);
  struct Peer {
    std::optional<Instant> link_made;
    std::chrono::seconds ahead{};  // on this link
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
