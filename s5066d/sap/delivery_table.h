// SPDX-License-Identifier: Apache-2.0
// U_PDUs that were handed down: those that the sublayers below hold, and those that are
// acknowledged but not yet confirmed by the client at their destination (A.3.2.4(12) to (19),
// (28)).
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "s5066d/base/ids.h"
#include "s5066d/base/time.h"
#include "s5066d/sap/unidata_queue.h"

namespace s5066::sap {

class DeliveryTable {
 public:
  struct Below {
    UnidataItem item;
    std::size_t octets = 0;         // length of the S_PDU
    bool client_confirmed = false;  // the S_PDU type 1 came before the acknowledgement
    bool settled = false;           // reported already, or its client has gone
    bool arrived = false;           // the peer has it and waits for older ones
    std::optional<Instant> report_by = std::nullopt;
  };

  /// `report_by` is when the client is to be told that the U_PDU failed, although it is still
  /// below.
  void hand_down(CpduId id, UnidataItem item, std::size_t octets,
                 std::optional<Instant> report_by = std::nullopt);
  /// Call when no part of it has to be sent again. Repeated calls and unknown IDs are harmless.
  void on_arrived(CpduId id);
  std::optional<Below> take(CpduId id);
  void await_client(UnidataItem item, Instant until);

  /// The oldest U_PDU that a delivery S_PDU with these fields can mean. `below` stays in the table
  /// for the caller to mark; `awaiting` has been taken out.
  struct Match {
    Below* below = nullptr;
    std::optional<UnidataItem> awaiting;
  };
  Match match(Address peer, SapId source, SapId destination, ByteSpan part);

  std::vector<UnidataItem> take_overdue(Instant now);
  /// A U_PDU below whose report is due; settle_overdue() marks it as settled.
  struct Overdue {
    UnidataItem item;
    bool client_confirmed = false;
  };
  std::vector<Overdue> settle_overdue(Instant now);
  /// Takes the oldest U_PDU of the client that has most of them.
  std::optional<UnidataItem> take_oldest_awaiting();
  std::optional<Instant> next_deadline() const;
  /// Settles U_PDUs of the client that are below, takes out those that await a confirmation, and
  /// returns the IDs of both.
  std::vector<UpduId> forget_client(ClientId client);

  /// Calls `visit(item, acknowledged)` for each U_PDU of a client that has not ended.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (const auto& [id, below] : below_) {
      if (!below.settled && !below.item.own) visit(below.item, false);
    }
    for (const auto& [id, awaiting] : awaiting_) visit(awaiting.item, true);
  }

  std::size_t octets_below(const Lane& lane) const;
  /// Returns the octets of them that have to be sent, now or again, for U_PDUs of at least this
  /// priority.
  std::size_t octets_to_send(const Lane& lane, std::uint8_t priority) const;
  /// Returns the octets sent by ARQ, expedited or not.
  std::size_t octets_below(Address peer) const;
  /// Returns the urgency of the most urgent of those octets; 0 if there are none.
  std::uint8_t urgency_below(Address peer) const;
  /// Returns the destinations for which the sublayers below hold ARQ octets.
  std::vector<Address> peers_below() const;
  /// Returns the peers whose clients have U_PDUs to confirm, and how many.
  const std::map<Address, std::size_t>& peers_awaited() const { return awaiting_by_peer_; }
  bool awaits_answer_of(Address peer) const { return awaiting_by_peer_.count(peer) > 0; }
  std::size_t awaiting() const { return awaiting_.size(); }
  std::size_t below() const { return below_.size(); }
  /// Returns the octets of U_PDUs for this peer that are not settled.
  std::size_t updu_octets_below(Address peer) const;

 private:
  struct Awaiting {
    UnidataItem item;
    Instant until{};
  };
  /// U_PDUs of one line that the sublayers below hold.
  struct Lot {
    std::size_t octets = 0;
    std::array<std::size_t, kExpeditedUrgency> to_send{};  // octets by priority
    std::array<std::size_t, kExpeditedUrgency> updus{};    // U_PDUs of each priority
  };
  /// A peer, and the local and remote SAP of a U_PDU.
  using Between = std::tuple<Address, SapId, SapId>;

  UnidataItem remove_awaiting(UpduId id);
  void expect_client(const UnidataItem& item, std::optional<CpduId> below);
  void expect_client_no_more(const UnidataItem& item);

  std::map<CpduId, Below> below_;
  std::map<Lane, Lot> lots_;
  std::set<std::pair<Instant, CpduId>> report_by_;
  std::map<UpduId, Awaiting> awaiting_;
  std::map<std::optional<ClientId>, std::set<UpduId>> awaiting_by_client_;
  std::set<std::pair<Instant, UpduId>> overdue_at_;
  std::map<Address, std::size_t> awaiting_by_peer_;
  /// Every U_PDU that its client is to confirm, in order of age, with its C_PDU if it is below.
  std::map<Between, std::map<UpduId, std::optional<CpduId>>> unconfirmed_;
};

}  // namespace s5066::sap
