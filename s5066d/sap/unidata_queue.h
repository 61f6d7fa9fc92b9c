// U_PDUs that wait for their turn: per destination for ARQ, in one line for non-ARQ; larger
// priority first, then larger rank, then age (A.2.1.6). Each has a time to die.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "s5066d/base/ids.h"
#include "s5066d/base/time.h"
#include "s5066d/cas/channel_access.h"
#include "s5066d/sap/spdu.h"
#include "sis/primitives.h"

namespace s5066::sap {

/// A U_PDU on its way out, or a delivery confirmation of our own for another node's U_PDU.
struct UnidataItem {
  UpduId id;                       // grows with arrival
  std::optional<ClientId> client;  // none: our own, or its client has gone
  bool own = false;                // a delivery confirmation
  std::uint8_t priority = 0;
  std::uint8_t rank = 0;
  cas::Service service = cas::Service::arq;
  Address destination;
  bool in_order = true;
  std::uint8_t repeats = 0;
  sis::Confirmation confirmation = sis::Confirmation::none;
  Instant time_to_die{};
  bool send_time_to_die = true;
  Spdu spdu;
  std::size_t charged = 0;  // to the client's account
  unsigned attempts = 0;    // failed calls and link breaks survived

  const Bytes& updu() const;
  std::size_t octets() const { return updu().size(); }
};

/// The first octets agree with what a delivery S_PDU copied from the U_PDU (none: always).
bool starts_with(const Bytes& updu, ByteSpan part);

class UnidataQueue {
 public:
  void put(UnidataItem item);
  std::optional<UnidataItem> take_arq(Address peer) { return take(peer); }
  std::optional<UnidataItem> take_nonarq() { return take(std::nullopt); }
  const UnidataItem* front_arq(Address peer) const { return front(peer); }
  const UnidataItem* front_nonarq() const { return front(std::nullopt); }

  /// Destinations with ARQ U_PDUs, the one with the best first.
  struct Waiting {
    Address peer;
    std::uint8_t priority = 0;
    std::uint8_t rank = 0;
    UpduId oldest_of_best;
  };
  std::vector<Waiting> waiting() const;

  std::vector<UnidataItem> take_expired(Instant now);
  std::optional<Instant> next_expiry() const;
  /// Counts one more failed attempt for all that waits for this peer; returns what has had enough.
  std::vector<UnidataItem> take_after_failure(Address peer, unsigned attempts_max);
  std::vector<UnidataItem> take_of_client(ClientId client);

  bool empty() const { return lanes_.empty(); }
  std::size_t size() const { return expiry_.size(); }
  std::size_t octets(Address peer) const;
  std::size_t own_items() const { return own_items_; }

 private:
  struct Key {
    std::uint8_t priority = 0;
    std::uint8_t rank = 0;
    UpduId id;
    friend bool operator==(const Key&, const Key&) = default;
    /// True: a goes first.
    friend bool operator<(const Key& a, const Key& b) {
      if (a.priority != b.priority) return a.priority > b.priority;
      if (a.rank != b.rank) return a.rank > b.rank;
      return a.id < b.id;
    }
  };
  using LaneId = std::optional<Address>;  // none: the non-ARQ line
  struct Lane {
    std::map<Key, UnidataItem> items;
    std::size_t octets = 0;
  };
  struct Expiry {
    Instant at{};
    LaneId lane;
    Key key;
    friend bool operator<(const Expiry& a, const Expiry& b) {
      return a.at != b.at ? a.at < b.at : a.key.id < b.key.id;
    }
  };

  static LaneId lane_of(const UnidataItem& item);
  static Key key_of(const UnidataItem& item);
  std::optional<UnidataItem> take(const LaneId& lane);
  const UnidataItem* front(const LaneId& lane) const;
  UnidataItem remove(const LaneId& lane, const Key& key);

  std::map<LaneId, Lane> lanes_;
  std::set<Expiry> expiry_;
  std::size_t own_items_ = 0;
};

}  // namespace s5066::sap
