// SPDX-License-Identifier: Apache-2.0
#include "s5066d/sap/unidata_sender.h"

#include <algorithm>
#include <utility>

#include "s5066d/base/deadline_table.h"

namespace s5066::sap {
namespace {

DiscardReason reason_of(sis::RejectReason reason) {
  switch (reason) {
    case sis::RejectReason::ttl_expired:
      return DiscardReason::expired;
    case sis::RejectReason::destination_sap_not_bound:
      return DiscardReason::not_bound;
    case sis::RejectReason::destination_not_responding:
      return DiscardReason::not_responding;
    case sis::RejectReason::larger_than_mtu:
      return DiscardReason::too_large;
    case sis::RejectReason::mode_not_specified:
      return DiscardReason::no_arq;
  }
  return DiscardReason::refused;
}

}  // namespace

UnidataSender::UnidataSender(const Config& config, const UtcClock& utc, PeerCounts& counts,
                             Outbox& outbox, Counters& counters, TraceSink& trace)
    : config_(config),
      utc_(utc),
      counts_(counts),
      outbox_(outbox),
      counters_(counters),
      trace_(trace),
      ledger_(config.queue, config.bound_clients_max),
      queue_(config.queue.fair_turn),
      repeat_marker_(config.repeats_remembered_max) {}

// --- In from clients -----------------------------------------------------------------------------

bool UnidataSender::book(ClientId client, std::size_t updu_octets) {
  return ledger_.take(client, StorageLedger::charge(updu_octets));
}

UnidataItem UnidataSender::accept(Instant now, ClientId client, const Binding& binding,
                                  const sis::DeliveryMode& delivery, Submission submission) {
  using cas::Service;
  const bool arq = delivery.mode == sis::TransmissionMode::arq;
  const std::uint32_t units = std::min(submission.time_to_live, sis::kTimeToLiveMax);
  UnidataItem item;
  item.id = UpduId{++last_updu_id_};
  item.accepted_at = now;
  item.client = client;
  item.priority = submission.priority;
  item.rank = binding.rank;
  if (submission.expedited) {
    item.service = arq ? Service::expedited_arq : Service::expedited_nonarq;
  } else {
    item.service = arq ? Service::arq : Service::nonarq;
  }
  item.destination = submission.destination;
  item.in_order = !delivery.as_they_arrive;
  item.with_errors = delivery.mode == sis::TransmissionMode::nonarq_with_errors;
  item.repeats = arq ? 0 : delivery.retransmissions;
  item.confirmation = delivery.confirmation;
  // STANDARD: TTL 0 is "infinite" in one sentence and the default maximum in another (D21).
  item.time_to_die = now + (units == 0 ? config_.default_time_to_live : seconds(2 * units));
  item.send_time_to_die = units != 0 || config_.send_default_time_to_die;
  item.charged = StorageLedger::charge(submission.updu.size());
  item.spdu =
      DataSpdu{.priority = submission.priority,
               .source_sap = binding.sap,
               .destination_sap = submission.destination_sap,
               .client_confirm_required = delivery.confirmation == sis::Confirmation::client,
               .time_to_die = std::nullopt,
               .updu = std::move(submission.updu)};
  counters_.add(Counter::updus_accepted);
  trace_.on_trace({now,
                   TraceKind::updu_accepted,
                   item.destination,
                   static_cast<std::int64_t>(item.id.value),
                   static_cast<std::int64_t>(item.octets()),
                   {}});
  return item;
}

void UnidataSender::refuse(Instant now, ClientId client, SapId source, const Submission& submission,
                           std::optional<sis::RejectReason> report, DiscardReason why) {
  counters_.add(Counter::updus_refused);
  trace_.on_trace({.at = now,
                   .kind = TraceKind::updu_discarded,
                   .peer = submission.destination,
                   .discarded = Discarded{
                       .reason = why,
                       .octets = submission.updu.size(),
                       .clients = {{source, submission.destination_sap, submission.priority}}}});
  if (!report) return;
  outbox_.send(client, rejection_of({submission.expedited, submission.destination_sap,
                                     submission.destination, response_part(submission.updu)},
                                    *report));
}

void UnidataSender::allow_arq(Instant now, bool allowed) {
  arq_allowed_ = allowed;
  if (allowed) return;
  for (UnidataItem& item : queue_.take_arq()) {
    reject(now, std::move(item), sis::RejectReason::mode_not_specified);
  }
}

void UnidataSender::answer(Instant now, Address source, cas::Service service, const DataSpdu& data,
                           bool delivered) {
  const std::size_t octets = std::min(data.updu.size(), config_.response_octets_air);
  Bytes part(data.updu.begin(), data.updu.begin() + static_cast<std::ptrdiff_t>(octets));
  UnidataItem item;
  item.id = UpduId{++last_updu_id_};
  item.own = true;
  item.priority = data.priority;
  item.service = service;
  item.destination = source;
  item.in_order = false;
  item.time_to_die = now + config_.client_confirm_wait_max;
  if (delivered) {
    item.spdu = DeliveryConfirm{data.source_sap, data.destination_sap, std::move(part)};
  } else {
    item.spdu = DeliveryFail{1, data.source_sap, data.destination_sap, std::move(part)};
  }
  // The answer is dropped without ARQ, and the sender times out.
  if (!arq_allowed_) return trace_discarded(now, item, DiscardReason::no_arq);
  const bool room = queue_.own_items() < config_.queue.responses_max;
  if (!room) return trace_discarded(now, item, DiscardReason::no_room);
  queue_.put(std::move(item));
}

// --- Down to the links ---------------------------------------------------------------------------

// Returns the largest number of octets that may be below and go before a U_PDU. If the capacity of
// the link is not known, there is no limit.
std::size_t UnidataSender::enough_below(const Lane& lane) const {
  const auto octets =
      lane.peer ? transmission_octets_.find(*lane.peer) : transmission_octets_.end();
  if (octets == transmission_octets_.end()) return SIZE_MAX;
  return config_.link_transmissions_max * octets->second;
}

// Hands down at least one U_PDU, but not so many that a more urgent one has to wait long. A fair
// turn does not wait for room among more urgent U_PDUs, because it would then have no effect.
// Returns true if anything of this lane is left, here or below.
template <typename Allowed>
bool UnidataSender::feed_lane(Instant now, const Lane& lane, const Allowed& allowed) {
  const std::size_t limit = !lane.peer       ? config_.nonarq_outstanding_octets_max
                            : lane.expedited ? std::min(config_.expedited_outstanding_octets_max,
                                                        config_.link_outstanding_octets_max)
                                             : config_.link_outstanding_octets_max;
  const std::size_t enough = enough_below(lane);
  const UnidataItem* front = queue_.first(lane, allowed);
  while (front != nullptr && refused_below_.count(lane) == 0) {
    const bool fair_turn = config_.queue.fair_turn > 1 && queue_.is_fair_turn(lane);
    if (!fair_turn && deliveries_.octets_to_send(lane, front->priority) >= enough) break;
    const std::size_t used = deliveries_.octets_below(lane);
    const std::size_t next = lane.peer ? front->octets() + kSpciOctetsMax : 1;
    if (used > 0 && used + next > limit) break;
    hand_down(now, queue_.take_this(*front));
    front = queue_.first(lane, allowed);
  }
  return front != nullptr || deliveries_.octets_below(lane) > 0;
}

// While expedited data for a destination waits or is on its way, other data for it pauses
// (A.2.1.10, note).
void UnidataSender::feed(Instant now, const LinkManager& links, const HardLinks& hard_links) {
  for (const auto& waiting : queue_.waiting()) {
    const Address peer = waiting.peer;
    const bool by_hard_link = hard_links.governs(peer);
    if (!by_hard_link && !links.may_send(peer)) continue;
    // Data that a hard link does not carry waits for the end of the link, or for its own time to
    // die.
    const auto carried = [&](const UnidataItem& item) {
      return !by_hard_link || hard_links.carries(peer, item.local_sap(), item.remote_sap());
    };
    if (!feed_lane(now, {true, peer}, carried)) feed_lane(now, {false, peer}, carried);
  }
  const auto allowed = [&](const UnidataItem& item) {
    return hard_links.allows_nonarq(item.destination, item.local_sap(), item.remote_sap());
  };
  if (!feed_lane(now, {true, std::nullopt}, allowed)) {
    feed_lane(now, {false, std::nullopt}, allowed);
  }
}

void UnidataSender::hand_down(Instant now, UnidataItem item) {
  auto* data = std::get_if<DataSpdu>(&item.spdu);
  item.handed_down = true;
  // The date stays once it is set, because the receiver recognises a repetition by it.
  if (data != nullptr && item.send_time_to_die && !data->time_to_die) {
    const auto utc_now = utc_.known_utc(now);
    if (utc_now) {
      const auto died_at =
          repeat_marker_.distinct(item.destination, *data, *utc_.known_utc(item.time_to_die));
      data->time_to_die = encode_time_to_die(*utc_now, died_at);
    }
  }
  cas::SpduRequest request;
  request.id = outbox_.new_cpdu_id();
  request.service = item.service;
  request.destination = item.destination;
  request.spdu = encode(item.spdu);
  request.in_order = item.in_order;
  request.with_errors = item.with_errors;
  request.priority = item.priority;
  request.flow = item.client ? item.client->value : 0;
  request.repeats = item.repeats;
  request.time_to_die = item.time_to_die;
  const std::size_t cpdu_octets = request.spdu.size() + 1;  // the sublayers below count it so
  std::optional<Instant> report_by;
  if (item.client && item.confirmation != sis::Confirmation::none) {
    report_by = std::min(now + config_.node_confirm_wait_max,
                         item.time_to_die + config_.client_confirm_grace);
  }
  deliveries_.hand_down(request.id, std::move(item), cpdu_octets, report_by);
  outbox_.push(std::move(request));
}

void UnidataSender::on_spdu_confirm(Instant now, const cas::SpduConfirm& confirmed,
                                    LinkManager& links) {
  auto below = deliveries_.take(confirmed.id);
  refused_below_.clear();
  if (!below) return;
  UnidataItem& item = below->item;
  if (item.arq()) {
    links.on_progress(now, item.destination);
    counts_.add_acknowledged(item.destination, item.octets());
  }
  if (below->settled) return;
  if (item.confirmation == sis::Confirmation::client && !below->client_confirmed) {
    await_client(now, std::move(item));
  } else {
    confirm(now, std::move(item));
  }
}

void UnidataSender::on_spdu_rejected(Instant now, const cas::SpduRejected& rejected) {
  auto below = deliveries_.take(rejected.id);
  const bool no_room = rejected.why == cas::CpduFailure::queue_full;
  if (!no_room) refused_below_.clear();
  if (!below) return;
  if (below->settled) {  // the client was told before, if it is still there
    const bool expired = rejected.why == cas::CpduFailure::expired;
    if (below->item.client || below->item.own) return;
    return trace_discarded(now, below->item,
                           expired ? DiscardReason::expired : DiscardReason::client_gone);
  }
  if (no_room) {  // nothing was tried, so nothing has failed
    refused_below_.insert(below->item.lane());
    queue_.put_back(std::move(below->item));
  } else if (rejected.why == cas::CpduFailure::expired) {
    reject(now, std::move(below->item), sis::RejectReason::ttl_expired);
  } else {
    // The U_PDU is queued again even if a client's confirmation has come, because that may have
    // been for one with the same first octets. The receiver recognises a repetition and answers it
    // again.
    returned_.push_back(std::move(below->item));
  }
}

// Queues returned U_PDUs again or rejects them. A session that made way for a hard link to the same
// peer is no failed attempt. A U_PDU that came back although its link does not end would be handed
// down again at once; that counts as an attempt in any case, so that it cannot go on for ever.
void UnidataSender::settle_returned(Instant now, const LinkManager& links,
                                    const HardLinks& hard_links) {
  for (UnidataItem& item : std::exchange(returned_, {})) {
    if (!arq_allowed_) {
      reject(now, std::move(item), sis::RejectReason::mode_not_specified);
      continue;
    }
    const auto ended = ended_.find(item.destination);
    const bool by_its_link =
        ended != ended_.end() ? ended->second : links.has_progressed(item.destination);
    const bool excused = by_its_link || hard_links.is_calling(item.destination) || silent_;
    const bool goes_down_again =
        hard_links.governs(item.destination)
            ? hard_links.carries(item.destination, item.local_sap(), item.remote_sap())
            : links.may_send(item.destination);
    const bool for_no_reason = ended == ended_.end() && goes_down_again;
    if (!excused || for_no_reason) ++item.attempts;
    if (item.attempts >= config_.attempts_max) {
      reject(now, std::move(item), sis::RejectReason::destination_not_responding);
    } else {
      counters_.add(Counter::updus_requeued);
      queue_.put(std::move(item));
    }
  }
  ended_.clear();
}

void UnidataSender::on_call_failed(Instant now, Address peer) {
  for (UnidataItem& item : queue_.take_after_failure(peer, config_.attempts_max)) {
    reject(now, std::move(item), sis::RejectReason::destination_not_responding);
  }
}

void UnidataSender::await_client(Instant now, UnidataItem item) {
  if (deliveries_.awaiting() >= config_.awaiting_client_confirm_max) {
    reject(now, *deliveries_.take_oldest_awaiting(), sis::RejectReason::destination_not_responding);
  }
  // Its room is free for the next U_PDU: the client need not wait for confirmations.
  if (item.client) ledger_.give_back(*item.client, std::exchange(item.charged, 0));
  const Instant until = std::min(now + config_.client_confirm_wait_max,
                                 item.time_to_die + config_.client_confirm_grace);
  deliveries_.await_client(std::move(item), until);
}

void UnidataSender::on_answer(Instant now, Address peer, SapId source, SapId destination,
                              ByteSpan part, bool delivered) {
  constexpr auto kNotBound = sis::RejectReason::destination_sap_not_bound;
  auto match = deliveries_.match(peer, source, destination, part);
  if (match.below != nullptr) {
    if (delivered) {
      match.below->client_confirmed = true;  // the link's acknowledgement is still to come
      return;
    }
    match.below->settled = true;
    reject(now, match.below->item, kNotBound);
    return;
  }
  auto item = std::move(match.awaiting);
  if (!item) return;
  if (delivered) {
    confirm(now, std::move(*item));
  } else {
    reject(now, std::move(*item), kNotBound);
  }
}

void UnidataSender::expire(Instant now) {
  for (UnidataItem& item : queue_.take_expired(now)) {
    reject(now, std::move(item), sis::RejectReason::ttl_expired);
  }
  for (auto& overdue : deliveries_.settle_overdue(now)) {
    const bool died = overdue.item.time_to_die <= now;
    if (overdue.client_confirmed) {  // A.3.2.4(17): the link's acknowledgement got lost
      confirm(now, std::move(overdue.item));
    } else {
      reject(now, std::move(overdue.item),
             died ? sis::RejectReason::ttl_expired : sis::RejectReason::destination_not_responding);
    }
  }
  for (UnidataItem& item : deliveries_.take_overdue(now)) {
    const bool died = item.time_to_die <= now;
    reject(now, std::move(item),
           died ? sis::RejectReason::ttl_expired : sis::RejectReason::destination_not_responding);
  }
}

// --- The end of a U_PDU --------------------------------------------------------------------------

Bytes UnidataSender::response_part(const Bytes& updu) const {
  const std::size_t part = std::min(updu.size(), config_.response_octets_local);
  return {updu.begin(), updu.begin() + static_cast<std::ptrdiff_t>(part)};
}

ReportSubject UnidataSender::subject_of(const UnidataItem& item) const {
  return {item.expedited(), std::get<DataSpdu>(item.spdu).destination_sap, item.destination,
          response_part(item.updu())};
}

void UnidataSender::confirm(Instant now, UnidataItem item) {
  finish(now, item, UpduOutcome::confirmed);
  if (!item.client || item.confirmation == sis::Confirmation::none) return;
  outbox_.send(*item.client, confirm_of(subject_of(item)));
}

// "Mode not specified" tells a client that nothing left the node, so it is replaced if something
// may have.
void UnidataSender::reject(Instant now, UnidataItem item, sis::RejectReason reason) {
  if (reason == sis::RejectReason::mode_not_specified && item.handed_down) {
    reason = sis::RejectReason::destination_not_responding;
  }
  trace_discarded(now, item, reason_of(reason));
  const bool expired = reason == sis::RejectReason::ttl_expired;
  finish(now, item, expired ? UpduOutcome::expired : UpduOutcome::rejected);
  if (!item.client || item.confirmation == sis::Confirmation::none) return;
  outbox_.send(*item.client, rejection_of(subject_of(item), reason));
}

// STANDARD: no reason fits a purge. This reason tells the client that the U_PDU's time has ended,
// so that it does not send it again at once.
std::size_t UnidataSender::purge(Instant now, const UpduFilter& filter) {
  std::vector<UnidataItem> purged = queue_.take_fitting(filter);
  for (UnidataItem& item : purged) {
    trace_discarded(now, item, DiscardReason::purged);
    finish(now, item, UpduOutcome::purged);
    if (!item.client || item.confirmation == sis::Confirmation::none) continue;
    outbox_.send(*item.client, rejection_of(subject_of(item), sis::RejectReason::ttl_expired));
  }
  return purged.size();
}

void UnidataSender::trace_discarded(Instant now, const UnidataItem& item, DiscardReason why) {
  trace_.on_trace(
      {.at = now,
       .kind = item.own ? TraceKind::answer_discarded : TraceKind::updu_discarded,
       .peer = item.destination,
       .a = item.own ? 0 : static_cast<std::int64_t>(item.id.value),
       .b = item.handed_down ? 1 : 0,
       .discarded = Discarded{.reason = why,
                              .octets = item.octets(),
                              .clients = {{item.local_sap(), item.remote_sap(), item.priority}}}});
}

void UnidataSender::finish(Instant now, UnidataItem& item, UpduOutcome outcome) {
  if (item.own) return;
  if (item.client && item.charged > 0) ledger_.give_back(*item.client, item.charged);
  item.charged = 0;
  trace_.on_trace({now,
                   TraceKind::updu_ended,
                   item.destination,
                   static_cast<std::int64_t>(item.id.value),
                   static_cast<std::int64_t>(outcome),
                   {}});
  switch (outcome) {
    case UpduOutcome::confirmed:
      return counters_.add(Counter::updus_confirmed);
    case UpduOutcome::rejected:
      return counters_.add(Counter::updus_rejected);
    case UpduOutcome::expired:
      return counters_.add(Counter::updus_expired);
    case UpduOutcome::dropped:
      return counters_.add(Counter::updus_dropped);
    case UpduOutcome::purged:
      return counters_.add(Counter::updus_purged);
    case UpduOutcome::count:
      break;
  }
}

void UnidataSender::forget_client(Instant now, ClientId client) {
  for (UnidataItem& item : queue_.take_of_client(client)) {
    trace_discarded(now, item, DiscardReason::client_gone);
    finish(now, item, UpduOutcome::dropped);
  }
  for (const UpduId id : deliveries_.forget_client(client)) {
    UnidataItem gone;
    gone.id = id;
    finish(now, gone, UpduOutcome::dropped);
  }
  ledger_.forget(client);
}

// --- For the link manager and the timer ----------------------------------------------------------

std::vector<PeerLoad> UnidataSender::loads() const {
  std::vector<PeerLoad> loads;
  for (const auto& waiting : queue_.waiting()) {
    loads.push_back({.peer = waiting.peer,
                     .waiting = true,
                     .priority = std::max(waiting.urgency, deliveries_.urgency_below(waiting.peer)),
                     .outstanding = deliveries_.octets_below(waiting.peer) > 0,
                     .expects_answer = deliveries_.awaits_answer_of(waiting.peer)});
  }
  const auto is_listed = [&loads](Address peer) {
    return std::any_of(loads.begin(), loads.end(),
                       [peer](const PeerLoad& load) { return load.peer == peer; });
  };
  for (const Address peer : deliveries_.peers_below()) {
    if (is_listed(peer)) continue;
    loads.push_back({.peer = peer,
                     .priority = deliveries_.urgency_below(peer),
                     .outstanding = true,
                     .expects_answer = deliveries_.awaits_answer_of(peer)});
  }
  for (const auto& [peer, count] : deliveries_.peers_awaited()) {
    if (is_listed(peer) || peer == config_.address) continue;
    loads.push_back({.peer = peer, .expects_answer = true});
  }
  return loads;
}

std::optional<Instant> UnidataSender::next_deadline() const {
  return earlier(queue_.next_expiry(), deliveries_.next_deadline());
}

}  // namespace s5066::sap
