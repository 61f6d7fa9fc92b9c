// U_PDUs on their way out: queued, handed down when a session with their destination is up,
// acknowledged, perhaps confirmed by the other client (A.3.2.4(1) to (19), (28)). When a link
// breaks, what was not acknowledged is queued again. Whatever way a U_PDU ends, it ends in
// finish(), once.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "s5066d/base/ids.h"
#include "s5066d/base/metrics.h"
#include "s5066d/base/time.h"
#include "s5066d/base/trace.h"
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
#include "s5066d/sap/utc_clock.h"
#include "sis/primitives.h"

namespace s5066::sap {

class UnidataSender {
 public:
  UnidataSender(const Config& config, const UtcClock& utc, PeerCounts& counts, Outbox& outbox,
                Counters& counters, TraceSink& trace);

  /// Room in the client's account, for submit(). False, and nothing taken, when there is none.
  [[nodiscard]] bool book(ClientId client, std::size_t updu_octets);
  /// A checked request for which book() found room. It is neither queued nor ended yet.
  UnidataItem accept(Instant now, ClientId client, const Binding& binding,
                     const sis::DeliveryMode& delivery, Submission submission);
  /// Counted, and reported if there is a reason to report.
  void refuse(Instant now, ClientId client, SapId source, const Submission& submission,
              std::optional<sis::RejectReason> report, DiscardReason why);
  void queue(UnidataItem item) { queue_.put(std::move(item)); }
  /// S_PDU types 1 and 2: U_PDUs of our own, queued with the priority of what they answer and sent
  /// to `source` by the service in which that came.
  void answer(Instant now, Address source, cas::Service service, const DataSpdu& data,
              bool delivered);
  /// The U_PDU is with the node of its destination, and the client there has still to confirm it.
  void await_client(Instant now, UnidataItem item);

  // What became of it.
  void on_spdu_arrived(CpduId id) { deliveries_.on_arrived(id); }
  void on_spdu_confirm(Instant now, const cas::SpduConfirm& confirm, LinkManager& links);
  void on_spdu_rejected(Instant now, const cas::SpduRejected& rejected);
  /// The link to this peer has ended. `excused`: that was no failed attempt for what it left over.
  /// Which U_PDUs those are is said before or after this, by on_spdu_rejected().
  void on_link_ended(Address peer, bool excused) {
    ended_[peer] |= excused;
    transmission_octets_.erase(peer);
  }
  /// A transmission of full length over the link to this peer holds so many octets.
  void on_link_capacity(Address peer, std::size_t octets) { transmission_octets_[peer] = octets; }
  /// Call when all news of an event are there: what came back is queued again, or has had enough.
  void settle_returned(Instant now, const LinkManager& links, const HardLinks& hard_links);
  void on_answer(Instant now, Address peer, SapId source, SapId destination, ByteSpan part,
                 bool delivered);
  /// A call to this peer failed: some of what waits for it has waited in vain often enough.
  void on_call_failed(Instant now, Address peer);
  void confirm(Instant now, UnidataItem item);
  void reject(Instant now, UnidataItem item, sis::RejectReason reason);
  /// Takes clients' U_PDUs that fit out of the queue. Each is rejected. Returns how many.
  std::size_t purge(Instant now, const UpduFilter& filter);
  /// Drops all of the client's U_PDUs without reports; what the sublayers below hold runs to its
  /// end.
  void forget_client(Instant now, ClientId client);

  /// Without ARQ, as in a broadcast session, what needs it is rejected, now and when it comes back
  /// from the sublayers below (A.3.2.3).
  void allow_arq(Instant now, bool allowed);
  /// While nothing may be transmitted, a link that ends is nobody's failed attempt.
  void set_silent(bool silent) { silent_ = silent; }

  void expire(Instant now);
  std::optional<Instant> next_deadline() const;
  /// All peers with any load, the most urgent first.
  std::vector<PeerLoad> loads() const;
  /// Gives each session, and the unacknowledged service, as much as it may hold at a time.
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
  std::vector<UnidataItem> returned_;  // since the last settle_returned()
  std::map<Address, bool> ended_;      // links, since then; whether that is excused
  std::map<Address, std::size_t> transmission_octets_;  // of links
  RepeatMarker repeat_marker_;
  /// Lanes whose S_PDU was refused for want of room below; they wait until
  /// something there has ended.
  std::set<Lane> refused_below_;
  bool arq_allowed_ = true;
  bool silent_ = false;
  std::uint64_t last_updu_id_ = 0;
};

}  // namespace s5066::sap
