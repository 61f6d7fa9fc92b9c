// SPDX-License-Identifier: Apache-2.0
// Records of other stations apart from their data. A new station takes the place of the one that
// was heard longest ago, unless that is in use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "s5066d/base/ids.h"
#include "s5066d/base/time.h"
#include "s5066d/dts/data_rate.h"
#include "s5066d/dts/long_data_memory.h"
#include "s5066d/dts/peer_adaptation.h"
#include "s5066d/dts/peer_control.h"
#include "s5066d/dts/transfer_state.h"
#include "s5066d/pdu/dpdu.h"

namespace s5066::dts {

/// News about the next connection that came in the headers of link control, before the connection
/// was there.
struct SetUpNews {
  std::optional<std::uint8_t> offered;  // bits of EOW type 14
  std::optional<pdu::Eow> advice;       // EOW type 13
  Instant at{};                         // time at which the last of it came
};

struct Peer {
  PeerControl control;
  PeerAdaptation adaptation;
  TransferMachine state;
  LongDataMemory long_data;
  SetUpNews set_up;
  std::optional<modem::Mode> heard_in;  // mode of its last link control
  std::uint64_t heard = 0;              // counter value when it was heard last
  /// Its call was answered in a less robust mode than it came in, and no data has followed yet. If
  /// it calls again, the answer was probably not heard.
  bool answered_quickly = false;

  /// Link control for it goes in this mode.
  void note_answered_in(const modem::Mode& mode) {
    if (heard_in && less_robust(mode, *heard_in)) answered_quickly = true;
  }
};

class PeerTable {
 public:
  explicit PeerTable(std::size_t peers_max) : peers_max_(peers_max) {}

  Peer* find(Address peer);
  const Peer* find(Address peer) const;
  Peer& at(Address peer) { return peers_.at(peer); }
  const Peer& at(Address peer) const { return peers_.at(peer); }
  std::size_t size() const { return peers_.size(); }
  auto begin() { return peers_.begin(); }
  auto end() { return peers_.end(); }
  auto begin() const { return peers_.begin(); }
  auto end() const { return peers_.end(); }

  /// Returns the record of a station that is heard or addressed now, made by `make` if it is new.
  /// If there is no room, the station without a connection that was quiet longest makes room, even
  /// if an answer to it is owed, but not if `in_use` holds. Returns null if nobody makes room.
  Peer* touch(Address peer, const std::function<bool(Address)>& in_use,
              const std::function<Peer()>& make);

 private:
  bool make_room(const std::function<bool(Address)>& in_use);

  const std::size_t peers_max_;
  std::map<Address, Peer> peers_;
  std::uint64_t heard_count_ = 0;
};

}  // namespace s5066::dts
