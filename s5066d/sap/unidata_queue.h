// SPDX-License-Identifier: Apache-2.0
// U_PDUs that wait for their turn: one line for each destination for ARQ, one line for non-ARQ, and
// separate lines for expedited data. Larger priority goes first, then larger rank, then age
// (A.2.1.6, A.2.1.10). Each U_PDU has a time to die.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "s5066d/base/fair_turn.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/time.h"
#include "s5066d/cas/channel_access.h"
#include "s5066d/sap/spdu.h"
#include "sis/primitives.h"

namespace s5066::sap {

/// Urgency of destinations with expedited data, above any priority of other data.
inline constexpr std::uint8_t kExpeditedUrgency = 16;

/// The line in which a U_PDU waits.
struct Lane {
  bool expedited = false;
  std::optional<Address> peer;  // empty: non-ARQ
  friend bool operator<(const Lane& a, const Lane& b) {
    return a.expedited != b.expedited ? a.expedited : a.peer < b.peer;
  }
};

/// An outgoing U_PDU, or a delivery confirmation of our own for another node's U_PDU.
struct UnidataItem {
  UpduId id;                       // grows with arrival
  std::optional<ClientId> client;  // empty: our own, or its client has gone
  bool own = false;                // a delivery confirmation
  std::uint8_t priority = 0;
  std::uint8_t rank = 0;
  cas::Service service = cas::Service::arq;
  Address destination;
  bool in_order = true;
  bool with_errors = false;
  std::uint8_t repeats = 0;
  sis::Confirmation confirmation = sis::Confirmation::none;
  Instant accepted_at{};
  Instant time_to_die{};
  bool send_time_to_die = true;
  Spdu spdu;
  std::size_t charged = 0;          // charged to the client's account
  bool handed_down = false;         // the sublayers below had it, so it may have been on the air
  unsigned attempts = 0;            // failed calls and link breaks survived
  std::uint64_t served_before = 0;  // value of `served` of its client before this turn

  /// SAPs of the clients here and at the other node.
  SapId local_sap() const;
  SapId remote_sap() const;
  bool arq() const { return is_arq(service); }
  bool expedited() const { return is_expedited(service); }
  Lane lane() const { return {expedited(), arq() ? std::optional(destination) : std::nullopt}; }
  const Bytes& updu() const;
  std::size_t octets() const { return updu().size(); }
};

/// Selects U_PDUs for an operator: those that fit every given field.
struct UpduFilter {
  std::optional<UpduId> id;
  std::optional<ClientId> client;
  std::optional<Address> destination;
  bool fits(const UnidataItem& item) const;
};

/// True if the first octets agree with the part that a delivery S_PDU copied from the U_PDU; always
/// if it copied none.
bool starts_with(const Bytes& updu, ByteSpan part);

class UnidataQueue {
 public:
  explicit UnidataQueue(unsigned fair_turn = 0) : fair_turn_(fair_turn) {}

  void put(UnidataItem item);
  std::optional<UnidataItem> take(const Lane& lane);
  /// True if the next item taken from this line is of the client served longest ago.
  bool is_fair_turn(const Lane& lane) const {
    const auto line = lines_.find(lane);
    return line != lines_.end() && s5066::is_fair_turn(line->second.takes, fair_turn_);
  }
  /// Takes an item of the queue, as first() returned it.
  UnidataItem take_this(const UnidataItem& item);
  /// Puts back an item that was taken and could not go, as if it had never been taken, its turn
  /// included.
  void put_back(UnidataItem item);
  /// Returns the first item that may go, or null. The order is priority, rank and age. In a fair
  /// turn it is the client that has waited longest since it was served, or since it came to this
  /// line. `allowed` is asked about one item of each route, because a hard link may hold back
  /// thousands.
  template <typename Allowed>
  const UnidataItem* first(const Lane& lane, const Allowed& allowed) const {
    const auto found = lines_.find(lane);
    if (found == lines_.end()) return nullptr;
    const Line& line = found->second;
    const bool fair = s5066::is_fair_turn(line.takes, fair_turn_);
    const UnidataItem& front = line.items.begin()->second;
    if (!fair && allowed(front)) return &front;
    const UnidataItem* best = nullptr;
    std::uint64_t best_served = 0;
    for (const auto& [client, share] : line.shares) {
      const std::uint64_t served = fair ? share.served : 0;
      if (best != nullptr && served > best_served) continue;
      for (const auto& [route, items] : share.routes) {
        const auto& [key, item] = *items.begin();
        const bool later = best != nullptr && served == best_served && key_of(*best) < key;
        if (later || !allowed(*item)) continue;
        best = item;
        best_served = served;
      }
    }
    return best;
  }

  /// Destination with ARQ U_PDUs; waiting() sorts by the best U_PDU.
  struct Waiting {
    Address peer;
    std::uint8_t urgency = 0;  // priority of the U_PDU, or kExpeditedUrgency
    std::uint8_t rank = 0;
    UpduId oldest_of_best;
  };
  std::vector<Waiting> waiting() const;

  std::vector<UnidataItem> take_expired(Instant now);
  std::optional<Instant> next_expiry() const;
  /// Counts one more failed attempt for every item that waits for this peer; returns those that
  /// have reached `attempts_max`.
  std::vector<UnidataItem> take_after_failure(Address peer, unsigned attempts_max);
  std::vector<UnidataItem> take_of_client(ClientId client);
  /// Takes items of clients that fit, not our own.
  std::vector<UnidataItem> take_fitting(const UpduFilter& filter);
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (const auto& [lane, line] : lines_) {
      for (const auto& [key, item] : line.items) visit(item);
    }
  }
  /// Takes every item that needs a link.
  std::vector<UnidataItem> take_arq();

  bool empty() const { return lines_.empty(); }
  std::size_t size() const { return expiry_.size(); }
  std::size_t octets(Address peer) const;
  bool waits_for(Address peer) const;
  std::size_t own_items() const { return own_items_; }

 private:
  struct Key {
    std::uint8_t priority = 0;
    std::uint8_t rank = 0;
    UpduId id;
    friend bool operator==(const Key&, const Key&) = default;
    /// True if `a` goes first.
    friend bool operator<(const Key& a, const Key& b) {
      if (a.priority != b.priority) return a.priority > b.priority;
      if (a.rank != b.rank) return a.rank > b.rank;
      return a.id < b.id;
    }
  };
  /// Fields by which a hard link distinguishes data.
  struct Route {
    Address destination;
    SapId local;
    SapId remote;
    friend auto operator<=>(const Route&, const Route&) = default;
  };
  /// Items of one client in a line; our own count as a client.
  struct Share {
    std::map<Route, std::map<Key, const UnidataItem*>> routes;
    // Value of `takes` when the last item was taken; before that, when the first item came.
    std::uint64_t served = 0;
  };
  struct Line {
    std::map<Key, UnidataItem> items;
    std::map<std::optional<ClientId>, Share> shares;
    std::size_t octets = 0;
    std::uint64_t takes = 0;
  };
  struct Expiry {
    Instant at{};
    Lane lane;
    Key key;
    friend bool operator<(const Expiry& a, const Expiry& b) {
      return a.at != b.at ? a.at < b.at : a.key.id < b.key.id;
    }
  };

  static Key key_of(const UnidataItem& item);
  static Route route_of(const UnidataItem& item);
  UnidataItem remove(const Lane& lane, const Key& key);
  template <typename Condition>
  std::vector<UnidataItem> take_if(Condition condition);

  const unsigned fair_turn_;
  std::map<Lane, Line> lines_;
  std::set<Expiry> expiry_;
  std::size_t own_items_ = 0;
};

}  // namespace s5066::sap
