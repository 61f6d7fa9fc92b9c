// SPDX-License-Identifier: Apache-2.0
// Counts U_PDU octets exchanged with each other node. Addresses come from the air, so their number
// is bounded: a new node replaces the one that was counted longest ago.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "s5066d/base/ids.h"

namespace s5066::sap {

class PeerCounts {
 public:
  explicit PeerCounts(std::size_t peers_max) : peers_max_(peers_max) {}

  struct Count {
    std::uint64_t acknowledged = 0;
    std::uint64_t received = 0;
    std::uint64_t used = 0;  // value of `additions_` when it was counted last
  };
  void add_acknowledged(Address peer, std::size_t octets) { touch(peer).acknowledged += octets; }
  void add_received(Address peer, std::size_t octets) { touch(peer).received += octets; }

  const std::map<Address, Count>& all() const { return counts_; }

 private:
  Count& touch(Address peer);

  const std::size_t peers_max_;
  std::uint64_t additions_ = 0;
  std::map<Address, Count> counts_;
};

}  // namespace s5066::sap
