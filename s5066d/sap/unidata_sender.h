// SPDX-License-Identifier: Apache-2.0
// Outgoing U_PDUs: queued, handed down when a session with their destination is up, acknowledged,
// and perhaps confirmed by the other client (A.3.2.4(1) to (19), (28)). When a link breaks, U_PDUs
// that were not acknowledged are queued again. Each U_PDU ends once, in finish().
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "s5066d/base/ids.h"
#include "s5066d/base/node_counters.h"
#include "s5066d/base/time.h"
#include "s5066d/base/trace.h"
#include "s5066d/base/utc_clock.h"
#include "s5066d/cas/channel_access.h"
#include "s5066d/sap/actions.h"
#include "s5066d/sap/config.h"
#include "s5066d/sap/delivery_table.h"
#include "s5066d/sap/hard_links.h"
#include "s5066d/sap/link_manager.h"
#include "s5066d/sap/peer_counts.h"
#include "s5066d/sap/repeats.h"
#include "s5066d/sap/sap_table.h"
#include "s5066d/sap/spdu.h"
#include "s5066d/sap/storage_ledger.h"
#include "s5066d/sap/submission.h"
#include "s5066d/sap/unidata_queue.h"
#include "sis/primitives.h"

namespace s5066::sap {

class UnidataSender {
 public:
  UnidataSender(const Config& config, const UtcClock& utc, PeerCounts& counts, Outbox& outbox,
                Counters& counters, TraceSink& trace);

  /// Charges the client's account for submit(). Returns false and charges nothing if there is no
  /// room.
  [[nodiscard]] bool book(ClientId client, std::size_t updu_octets);
  /// Makes an item of a checked request for which book() found room. It is neither queued nor ended
  /// yet.
  UnidataItem accept(Instant now, ClientId client, const Binding& binding,
                     const sis::DeliveryMode& delivery, Submission submission);
  /// Counts the refused request, and reports it if `report` has a reason.
  void refuse(Instant now, ClientId client, SapId source, const Submission& submission,
              std::optional<sis::RejectReason> report, DiscardReason why);
  void queue(UnidataItem item) { queue_.put(std::move(item)); }
  /// Queues an S_PDU of type 1 or 2 as a U_PDU of our own. It has the priority of the S_PDU that it
  /// answers, and goes to `source` by the service in which that came.
  void answer(Instant now, Address source, cas::Service service, const DataSpdu& data,
              bool delivered);
  /// Call when the U_PDU is with the node of its destination and the client there has still to
  /// confirm it.
  void await_client(Instant now, UnidataItem item);

  // Results from the sublayers below.
  void on_spdu_arrived(CpduId id) { deliveries_.on_arrived(id); }
  void on_spdu_confirm(Instant now, const cas::SpduConfirm& confirm, LinkManager& links);
  void on_spdu_rejected(Instant now, const cas::SpduRejected& rejected);
  /// Call when the link to this peer has ended. `excused` means that its unfinished U_PDUs count no
  /// failed attempt. on_spdu_rejected() names those U_PDUs before or after this.
  void on_link_ended(Address peer, bool excused) {
    ended_[peer] |= excused;
    transmission_octets_.erase(peer);
  }
  /// Sets how many octets a transmission of full length over the link to this peer holds.
  void on_link_capacity(Address peer, std::size_t octets) { transmission_octets_[peer] = octets; }
  /// Call when all reports of an event are in: returned U_PDUs are queued again, or rejected after
  /// attempts_max.
  void settle_returned(Instant now, const LinkManager& links, const HardLinks& hard_links);
  void on_answer(Instant now, Address peer, SapId source, SapId destination, ByteSpan part,
                 bool delivered);
  /// Call when a call to this peer failed: U_PDUs that have reached attempts_max are rejected.
  void on_call_failed(Instant now, Address peer);
  void confirm(Instant now, UnidataItem item);
  void reject(Instant now, UnidataItem item, sis::RejectReason reason);
  /// Takes clients' U_PDUs that fit the filter out of the queue and rejects them. Returns their
  /// number.
  std::size_t purge(Instant now, const UpduFilter& filter);
  /// Drops all U_PDUs of the client without reports. U_PDUs that the sublayers below hold go on to
  /// their end.
  void forget_client(Instant now, ClientId client);

  /// Allows or forbids ARQ. Without it, as in a broadcast session, U_PDUs that need it are
  /// rejected, now and when they come back from the sublayers below (A.3.2.3).
  void allow_arq(Instant now, bool allowed);
  /// While nothing may be transmitted, a link that ends counts no failed attempt.
  void set_silent(bool silent) { silent_ = silent; }

  void expire(Instant now);
  std::optional<Instant> next_deadline() const;
  /// Returns all peers with any load, the most urgent first.
  std::vector<PeerLoad> loads() const;
  /// Hands down to each session, and to the non-ARQ service, as much as it may hold at a time.
  void feed(Instant now, const LinkManager& links, const HardLinks& hard_links);

  const StorageLedger& ledger() const { return ledger_; }
  StorageLedger& ledger() { return ledger_; }
  const UnidataQueue& queue() const { return queue_; }
  const DeliveryTable& deliveries() const { return deliveries_; }

 private:
  std::size_t enough_below(const Lane& lane) const;
  template <typename Allowed>
  bool feed_lane(Instant now, const Lane& lane, const Allowed& allowed);
  void hand_down(Instant now, UnidataItem item);
  void finish(Instant now, UnidataItem& item, UpduOutcome outcome);
  void trace_discarded(Instant now, const UnidataItem& item, DiscardReason why);
  Bytes response_part(const Bytes& updu) const;
  ReportSubject subject_of(const UnidataItem& item) const;

  const Config& config_;
  const UtcClock& utc_;
  PeerCounts& counts_;
  Outbox& outbox_;
  Counters& counters_;
  TraceSink& trace_;
  StorageLedger ledger_;
  UnidataQueue queue_;
  DeliveryTable deliveries_;
  std::vector<UnidataItem> returned_;  // U_PDUs that came back since the last settle_returned()
  std::map<Address, bool> ended_;      // links that ended since then; true if excused
  std::map<Address, std::size_t> transmission_octets_;  // octets of each link
  RepeatMarker repeat_marker_;
  /// Lanes whose S_PDU was refused because the sublayers below had no room. They wait until an
  /// S_PDU there has ended.
  std::set<Lane> refused_below_;
  bool arq_allowed_ = true;
  bool silent_ = false;
  std::uint64_t last_updu_id_ = 0;
};

}  // namespace s5066::sap
