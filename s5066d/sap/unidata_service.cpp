// What the subnetwork interface does with U_PDUs: on their way out from acceptance to their one
// end, and on their way in from S_PDU to indication (A.3.2.4).
#include <algorithm>
#include <utility>

#include "s5066d/sap/subnetwork_interface.h"

namespace s5066::sap {

// --- Out -----------------------------------------------------------------------------------------

void SubnetworkInterface::accept(Instant now, ClientId client, const Binding& binding,
                                 const sis::DeliveryMode& delivery, sis::UnidataRequest& request) {
  const bool arq = delivery.mode == sis::TransmissionMode::arq;
  const std::uint32_t units = std::min(request.time_to_live, sis::kTimeToLiveMax);
  UnidataItem item;
  item.id = UpduId{++last_updu_id_};
  item.client = client;
  item.priority = request.priority;
  item.rank = binding.rank;
  item.service = arq ? cas::Service::arq : cas::Service::nonarq;
  item.destination = request.destination;
  item.in_order = !delivery.as_they_arrive;
  item.repeats = arq ? 0 : delivery.retransmissions;
  item.confirmation = delivery.confirmation;
  // STANDARD: TTL 0 is "infinite" in one sentence and the default maximum in another (D21).
  item.time_to_die = now + (units == 0 ? config_.default_time_to_live : seconds(2 * units));
  item.send_time_to_die = units != 0 || config_.send_default_time_to_die;
  item.charged = StorageLedger::charge(request.updu.size());
  item.spdu =
      DataSpdu{.priority = request.priority,
               .source_sap = binding.sap,
               .destination_sap = request.destination_sap,
               .client_confirm_required = delivery.confirmation == sis::Confirmation::client,
               .time_to_die = std::nullopt,
               .updu = std::move(request.updu)};
  counters_.add(Counter::updus_accepted);
  trace_.on_trace({now,
                   TraceKind::updu_accepted,
                   item.destination,
                   static_cast<std::int64_t>(item.id.value),
                   static_cast<std::int64_t>(item.octets()),
                   {}});
  if (item.destination == config_.address) {
    deliver_to_ourselves(now, std::move(item));
  } else {
    queue_.put(std::move(item));
  }
}

void SubnetworkInterface::deliver_to_ourselves(Instant now, UnidataItem item) {
  const auto& data = std::get<DataSpdu>(item.spdu);
  const auto receiver = saps_.client_at(data.destination_sap);
  if (receiver) {
    const bool arq = item.service == cas::Service::arq;
    counters_.add(Counter::updus_indicated);
    send(*receiver,
         sis::UnidataIndication{item.priority, data.destination_sap, item.destination,
                                arq ? sis::TransmissionMode::arq : sis::TransmissionMode::nonarq,
                                data.source_sap, config_.address, data.updu});
  } else {
    counters_.add(Counter::spdus_unbound);
  }
  if (!receiver && item.confirmation == sis::Confirmation::client) {
    reject(now, std::move(item), sis::RejectReason::destination_sap_not_bound);
  } else {
    confirm(now, std::move(item));
  }
}

// Gives each session, and the unacknowledged service, as much as it may hold at a time: never less
// than one U_PDU, and not so much that a more urgent one has to wait long.
void SubnetworkInterface::feed(Instant now) {
  const auto has_room = [](std::size_t used, std::size_t more, std::size_t limit) {
    return used == 0 || used + more + kSpciOctetsMax <= limit;
  };
  for (const auto& waiting : queue_.waiting()) {
    if (!links_.may_send(waiting.peer) || refused_below_.count(waiting.peer) > 0) continue;
    while (const UnidataItem* front = queue_.front_arq(waiting.peer)) {
      const std::size_t used = deliveries_.octets_below(waiting.peer);
      if (!has_room(used, front->octets(), config_.link_outstanding_octets_max)) break;
      hand_down(now, *queue_.take_arq(waiting.peer));
    }
  }
  while (const UnidataItem* front = queue_.front_nonarq()) {
    if (refused_below_.count(std::nullopt) > 0) break;
    const std::size_t used = deliveries_.nonarq_octets_below();
    if (!has_room(used, front->octets(), config_.nonarq_outstanding_octets_max)) break;
    hand_down(now, *queue_.take_nonarq());
  }
}

void SubnetworkInterface::hand_down(Instant now, UnidataItem item) {
  auto* data = std::get_if<DataSpdu>(&item.spdu);
  // Once given, the date stays: the receiver knows a repetition by it.
  if (data != nullptr && item.send_time_to_die && !data->time_to_die) {
    const auto utc_now = utc_at(now);
    if (utc_now) {
      const auto died_at =
          repeat_marker_.distinct(item.destination, *data, *utc_at(item.time_to_die));
      data->time_to_die = encode_time_to_die(*utc_now, died_at);
    }
  }
  cas::SpduRequest request;
  request.id = CpduId{++last_cpdu_id_};
  request.service = item.service;
  request.destination = item.destination;
  request.spdu = encode(item.spdu);
  request.in_order = item.in_order;
  request.priority = item.priority;
  request.repeats = item.repeats;
  request.time_to_die = item.time_to_die;
  const std::size_t cpdu_octets = request.spdu.size() + 1;  // as the sublayers below count it
  deliveries_.hand_down(request.id, std::move(item), cpdu_octets);
  actions_.push_back(std::move(request));
}

void SubnetworkInterface::on_spdu_confirm(Instant now, const cas::SpduConfirm& confirmed) {
  auto below = deliveries_.take(confirmed.id);
  refused_below_.clear();
  touch(now);
  if (!below) return;
  UnidataItem& item = below->item;
  if (item.service == cas::Service::arq) {
    links_.on_progress(now, item.destination);
    count_of(item.destination).acknowledged += item.octets();
  }
  if (below->settled) return;
  if (item.confirmation == sis::Confirmation::client && !below->client_confirmed) {
    await_client(now, std::move(item));
  } else {
    confirm(now, std::move(item));
  }
}

void SubnetworkInterface::on_spdu_rejected(Instant now, const cas::SpduRejected& rejected) {
  auto below = deliveries_.take(rejected.id);
  const bool no_room = rejected.why == cas::CpduFailure::queue_full;
  if (!no_room) refused_below_.clear();
  touch(now);
  if (!below || below->settled) return;
  if (no_room) {  // nothing was tried, so nothing has failed
    const bool arq = below->item.service == cas::Service::arq;
    refused_below_.insert(arq ? std::optional(below->item.destination) : std::nullopt);
    queue_.put(std::move(below->item));
  } else if (rejected.why == cas::CpduFailure::expired) {
    reject(now, std::move(below->item), sis::RejectReason::ttl_expired);
  } else {
    // Also when a client's confirmation has come: that may have been for one with the same first
    // octets. The receiver knows a repetition and answers it again.
    requeue(now, std::move(below->item));
  }
}

// A session that got something through was no failed attempt for what it left over.
void SubnetworkInterface::requeue(Instant now, UnidataItem item) {
  if (!links_.has_progressed(item.destination)) ++item.attempts;
  if (item.attempts >= config_.attempts_max) {
    reject(now, std::move(item), sis::RejectReason::destination_not_responding);
    return;
  }
  counters_.add(Counter::updus_requeued);
  queue_.put(std::move(item));
}

void SubnetworkInterface::await_client(Instant now, UnidataItem item) {
  if (deliveries_.awaiting() >= config_.awaiting_client_confirm_max) {
    reject(now, *deliveries_.take_oldest_awaiting(), sis::RejectReason::destination_not_responding);
  }
  // The room it took is free for the next: the client need not wait for confirmations.
  if (item.client) ledger_.give_back(*item.client, std::exchange(item.charged, 0));
  const Instant until = std::min(now + config_.client_confirm_wait_max,
                                 item.time_to_die + config_.client_confirm_grace);
  deliveries_.await_client(std::move(item), until);
}

void SubnetworkInterface::expire(Instant now) {
  for (UnidataItem& item : queue_.take_expired(now)) {
    reject(now, std::move(item), sis::RejectReason::ttl_expired);
  }
  for (UnidataItem& item : deliveries_.take_overdue(now)) {
    const bool died = item.time_to_die <= now;
    reject(now, std::move(item),
           died ? sis::RejectReason::ttl_expired : sis::RejectReason::destination_not_responding);
  }
}

// --- The end of a U_PDU --------------------------------------------------------------------------

Bytes SubnetworkInterface::response_part(const UnidataItem& item) const {
  const Bytes& updu = item.updu();
  const std::size_t part = std::min(updu.size(), config_.response_octets_local);
  return {updu.begin(), updu.begin() + static_cast<std::ptrdiff_t>(part)};
}

void SubnetworkInterface::confirm(Instant now, UnidataItem item) {
  finish(now, item, Outcome::confirmed);
  if (!item.client || item.confirmation == sis::Confirmation::none) return;
  send(*item.client, sis::UnidataRequestConfirm{std::get<DataSpdu>(item.spdu).destination_sap,
                                                item.destination, response_part(item)});
}

void SubnetworkInterface::reject(Instant now, UnidataItem item, sis::RejectReason reason) {
  const bool expired = reason == sis::RejectReason::ttl_expired;
  finish(now, item, expired ? Outcome::expired : Outcome::rejected);
  if (!item.client || item.confirmation == sis::Confirmation::none) return;
  send(*item.client,
       sis::UnidataRequestRejected{reason, std::get<DataSpdu>(item.spdu).destination_sap,
                                   item.destination, response_part(item)});
}

void SubnetworkInterface::finish(Instant now, UnidataItem& item, Outcome outcome) {
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
    case Outcome::confirmed:
      return counters_.add(Counter::updus_confirmed);
    case Outcome::rejected:
      return counters_.add(Counter::updus_rejected);
    case Outcome::expired:
      return counters_.add(Counter::updus_expired);
    case Outcome::dropped:
      return counters_.add(Counter::updus_dropped);
  }
}

// --- Links ---------------------------------------------------------------------------------------

void SubnetworkInterface::on_link_made(Instant now, const cas::LinkMade& made) {
  links_.on_link_made(now, made.peer, made.we_called);
  repeat_filter_.on_link_made(made.peer);
  touch(now);
}

void SubnetworkInterface::on_link_rejected(Instant now, const cas::LinkRejected& rejected) {
  using cas::RejectReason;
  links_.on_call_failed(now, rejected.peer);
  touch(now);
  // A peer that is busy with something more important is there: the data waits for its time to die.
  const bool busy = rejected.reason == RejectReason::supporting_exclusive_link ||
                    rejected.reason == RejectReason::higher_priority_pending;
  if (busy) return;
  for (UnidataItem& item : queue_.take_after_failure(rejected.peer, config_.attempts_max)) {
    reject(now, std::move(item), sis::RejectReason::destination_not_responding);
  }
}

void SubnetworkInterface::on_link_refused(Instant now, Address peer) {
  links_.on_call_refused(now, peer);
  touch(now);
}

void SubnetworkInterface::on_link_broken(Instant now, const cas::LinkBroken& broken) {
  links_.on_link_broken(now, broken.peer, broken.end);
  touch(now);
}

// --- In ------------------------------------------------------------------------------------------

void SubnetworkInterface::on_spdu(Instant now, cas::SpduIndication indication) {
  touch(now);
  links_.on_traffic(now, indication.source);
  auto spdu = decode(indication.spdu);
  if (!spdu.ok()) {
    const bool unsupported = spdu.error().code == ErrorCode::unsupported;
    counters_.add(unsupported ? Counter::spdus_unsupported : Counter::spdus_malformed);
    return;
  }
  if (auto* data = std::get_if<DataSpdu>(&*spdu)) {
    on_data(now, indication, std::move(*data));
  } else if (const auto* confirmed = std::get_if<DeliveryConfirm>(&*spdu)) {
    on_answer(now, indication.source, confirmed->source_sap, confirmed->destination_sap,
              confirmed->updu_part, true);
  } else if (const auto* failed = std::get_if<DeliveryFail>(&*spdu)) {
    on_answer(now, indication.source, failed->source_sap, failed->destination_sap,
              failed->updu_part, false);
  }
}

void SubnetworkInterface::on_data(Instant now, const cas::SpduIndication& from, DataSpdu data) {
  const bool arq = from.service == cas::Service::arq;
  if (!arq && from.service != cas::Service::nonarq) {
    counters_.add(Counter::spdus_unsupported);  // expedited data
    return;
  }
  if (!is_for_us(from.destination)) {
    counters_.add(Counter::spdus_not_for_us);
    return;
  }
  if (has_died(now, data)) {
    counters_.add(Counter::spdus_expired);  // no answer has a reason for this; the sender times out
    return;
  }
  const auto client = saps_.client_at(data.destination_sap);
  if (!client) {
    counters_.add(Counter::spdus_unbound);
  } else if (arq && repeat_filter_.is_repeat(from.source, data)) {
    counters_.add(Counter::updus_repeated);
  } else {
    if (arq) repeat_filter_.on_delivered(from.source, data);
    counters_.add(Counter::updus_indicated);
    count_of(from.source).received += data.updu.size();
    send(*client,
         sis::UnidataIndication{data.priority, data.destination_sap, from.destination,
                                arq ? sis::TransmissionMode::arq : sis::TransmissionMode::nonarq,
                                data.source_sap, from.source, data.updu});
  }
  if (data.client_confirm_required && arq) answer(now, from.source, data, client.has_value());
}

// S_PDU types 1 and 2. They are U_PDUs of our own: queued with the priority of what they answer.
void SubnetworkInterface::answer(Instant now, Address peer, const DataSpdu& data, bool delivered) {
  if (queue_.own_items() >= config_.queue.responses_max) return;  // the sender times out
  const std::size_t octets = std::min(data.updu.size(), config_.response_octets_air);
  Bytes part(data.updu.begin(), data.updu.begin() + static_cast<std::ptrdiff_t>(octets));
  UnidataItem item;
  item.id = UpduId{++last_updu_id_};
  item.own = true;
  item.priority = data.priority;
  item.destination = peer;
  item.in_order = false;
  item.time_to_die = now + config_.client_confirm_wait_max;
  if (delivered) {
    item.spdu = DeliveryConfirm{data.source_sap, data.destination_sap, std::move(part)};
  } else {
    item.spdu = DeliveryFail{1, data.source_sap, data.destination_sap, std::move(part)};
  }
  queue_.put(std::move(item));
}

void SubnetworkInterface::on_answer(Instant now, Address peer, SapId source, SapId destination,
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

bool SubnetworkInterface::is_for_us(Address destination) const {
  return destination == config_.address || destination == Address::all_stations() ||
         std::find(config_.groups.begin(), config_.groups.end(), destination) !=
             config_.groups.end();
}

bool SubnetworkInterface::has_died(Instant now, const DataSpdu& data) const {
  const auto utc_now = utc_at(now);
  if (!config_.enforce_received_time_to_die || !data.time_to_die || !utc_now) return false;
  const auto died_at = decode_time_to_die(*utc_now, *data.time_to_die);
  const auto tolerance = std::chrono::duration_cast<seconds>(config_.time_to_die_tolerance).count();
  return died_at && died_at->value + tolerance < utc_now->value;
}

// --- Common parts --------------------------------------------------------------------------------

std::optional<UtcSeconds> SubnetworkInterface::utc_at(Instant at) const {
  if (!utc_) return std::nullopt;
  const auto since = std::chrono::floor<seconds>(at - utc_->at);
  return UtcSeconds{utc_->value.value + since.count()};
}

// Addresses come from the air, so their number is bounded: a count of a peer without data goes.
SubnetworkInterface::PeerCount& SubnetworkInterface::count_of(Address peer) {
  if (counts_.size() >= config_.peers_counted_max && counts_.count(peer) == 0) {
    auto victim = std::find_if(counts_.begin(), counts_.end(), [this](const auto& entry) {
      return deliveries_.octets_below(entry.first) == 0;
    });
    counts_.erase(victim == counts_.end() ? counts_.begin() : victim);
  }
  return counts_[peer];
}

}  // namespace s5066::sap
