// SPDX-License-Identifier: Apache-2.0
#include "s5066d/sap/unidata_receiver.h"

#include <algorithm>
#include <utility>

#include "s5066d/sap/damage.h"

namespace s5066::sap {

UnidataReceiver::UnidataReceiver(const Config& config, const ClientTable& clients,
                                 const UtcClock& utc, PeerCounts& counts, Outbox& outbox,
                                 Counters& counters, TraceSink& trace)
    : config_(config),
      clients_(clients),
      utc_(utc),
      counts_(counts),
      outbox_(outbox),
      counters_(counters),
      trace_(trace),
      repeat_filter_(config.repeats_remembered_max),
      clocks_({config.time_to_die_tolerance, config.on_its_way_max, config.peers_counted_max}) {}

// STANDARD: nothing on the air tells "non-ARQ" and "non-ARQ with errors" apart, so the receiving
// client's bind decides. A U_PDU without errors is delivered as non-ARQ to every client; one with
// errors is delivered only to a client bound with them (A.2.1.9(9)).
std::optional<bool> UnidataReceiver::on_data(Instant now, const cas::SpduIndication& from,
                                             DataSpdu& data) {
  const bool arq = is_arq(from.service);
  if (!is_for_us(from.destination)) {
    counters_.add(Counter::spdus_not_for_us);
    return std::nullopt;
  }
  if (has_died(now, from.source, data)) {
    // No answer has a reason for this, so the sender times out.
    discard(now, from.source, data, Counter::spdus_expired, DiscardReason::expired);
    return std::nullopt;
  }
  const auto client = clients_.client_at(data.destination_sap);
  const bool takes_damage = client && clients_.binding(*client)->service.mode ==
                                          sis::TransmissionMode::nonarq_with_errors;
  if (!client) {
    discard(now, from.source, data, Counter::spdus_unbound, DiscardReason::not_bound);
  } else if (!from.intact() && !takes_damage) {
    discard(now, from.source, data, Counter::spdus_damaged, DiscardReason::damaged);
  } else if (arq && repeat_filter_.is_repeat(now, from.source, data)) {
    discard(now, from.source, data, Counter::updus_repeated, DiscardReason::repeated);
  } else {
    if (arq) repeat_filter_.on_delivered(from.source, data, last_repeat(now, data));
    counts_.add_received(from.source, data.updu.size());
    Origin origin{.expedited = is_expedited(from.service),
                  .mode = arq ? sis::TransmissionMode::arq : sis::TransmissionMode::nonarq,
                  .source = from.source,
                  .destination = from.destination,
                  .service = from.service};
    if (!from.intact()) {
      const std::size_t header = from.spdu.size() - data.updu.size();
      origin.mode = sis::TransmissionMode::nonarq_with_errors;
      origin.errored = within_updu(from.errored, header, data.updu.size());
      origin.missing = within_updu(from.missing, header, data.updu.size());
    }
    const bool confirmed_later = data.client_confirm_required && arq;
    Bytes updu = data.client_confirm_required ? data.updu : std::move(data.updu);
    indicate(*client, data, std::move(updu), std::move(origin));
    if (confirmed_later) return std::nullopt;
  }
  if (!data.client_confirm_required || !arq) return std::nullopt;
  if (const auto key = RepeatFilter::key_of(from.source, data); key && untaken_.awaits(*key)) {
    return std::nullopt;  // a repetition that its client has not taken yet
  }
  return client.has_value();
}

bool UnidataReceiver::on_local(Instant now, const UnidataItem& item) {
  const auto& data = std::get<DataSpdu>(item.spdu);
  const auto client = clients_.client_at(data.destination_sap);
  if (!client) {
    discard(now, config_.address, data, Counter::spdus_unbound, DiscardReason::not_bound);
    return false;
  }
  indicate(*client, data, data.updu,
           {.expedited = item.expedited(),
            .mode = item.arq() ? sis::TransmissionMode::arq : sis::TransmissionMode::nonarq,
            .source = config_.address,
            .destination = item.destination,
            .service = item.service});
  return true;
}

std::vector<UntakenIndications::Subject> UnidataReceiver::on_lost(
    std::span<const ReceiptId> receipts) {
  std::vector<UntakenIndications::Subject> lost;
  for (const ReceiptId receipt : receipts) {
    if (auto subject = untaken_.take(receipt)) lost.push_back(std::move(*subject));
  }
  forget_repeats(lost);
  return lost;
}

void UnidataReceiver::on_client_gone(ClientId client) {
  forget_repeats(untaken_.take_of(client));
}

// One call for all of them, because the filter searches its whole memory each time.
void UnidataReceiver::forget_repeats(const std::vector<UntakenIndications::Subject>& subjects) {
  std::unordered_set<std::uint64_t> keys;
  for (const auto& subject : subjects) {
    if (subject.repeat_key) keys.insert(*subject.repeat_key);
  }
  repeat_filter_.forget(keys);
}

std::optional<ReceiptId> UnidataReceiver::receipt_for(ClientId client, const DataSpdu& data,
                                                      Origin& origin) {
  if (!data.client_confirm_required || !is_arq(origin.service)) return std::nullopt;
  UntakenIndications::Subject subject{.source = origin.source,
                                      .service = origin.service,
                                      .data = {.priority = data.priority,
                                               .source_sap = data.source_sap,
                                               .destination_sap = data.destination_sap,
                                               .client_confirm_required = true,
                                               .time_to_die = data.time_to_die,
                                               .updu = {}},
                                      .repeat_key = RepeatFilter::key_of(origin.source, data)};
  const std::size_t part = std::min(data.updu.size(), config_.response_octets_air);
  subject.data.updu.assign(data.updu.begin(),
                           data.updu.begin() + static_cast<std::ptrdiff_t>(part));
  const ReceiptId receipt = untaken_.add(client, std::move(subject));
  if (untaken_.count(client) > config_.untaken_confirms_max) overfull_ = client;
  return receipt;
}

void UnidataReceiver::indicate(ClientId client, const DataSpdu& data, Bytes updu, Origin origin) {
  counters_.add(Counter::updus_indicated);
  const auto receipt = receipt_for(client, data, origin);
  const auto send = [&](auto indication) {
    indication.destination_sap = data.destination_sap;
    indication.destination = origin.destination;
    indication.mode = origin.mode;
    indication.source_sap = data.source_sap;
    indication.source = origin.source;
    indication.errored = std::move(origin.errored);
    indication.missing = std::move(origin.missing);
    indication.updu = std::move(updu);
    outbox_.send(client, std::move(indication), receipt);
  };
  if (origin.expedited) return send(sis::ExpeditedUnidataIndication{});
  sis::UnidataIndication indication;
  indication.priority = data.priority;
  send(std::move(indication));
}

void UnidataReceiver::discard(Instant now, Address from, const DataSpdu& data, Counter counter,
                              DiscardReason why) {
  counters_.add(counter);
  trace_.on_trace({.at = now,
                   .kind = TraceKind::spdu_discarded,
                   .peer = from,
                   .discarded = Discarded{
                       .reason = why,
                       .octets = data.updu.size(),
                       .clients = {{data.source_sap, data.destination_sap, data.priority}}}});
}

bool UnidataReceiver::is_for_us(Address destination) const {
  return destination == config_.address || destination == Address::all_stations() ||
         std::find(config_.groups.begin(), config_.groups.end(), destination) !=
             config_.groups.end();
}

bool UnidataReceiver::has_died(Instant now, Address from, const DataSpdu& data) {
  const auto utc_now = utc_.known_utc(now);
  if (!config_.enforce_received_time_to_die || !data.time_to_die || !utc_now) return false;
  const auto died_at = decode_time_to_die(*utc_now, *data.time_to_die);
  if (!died_at) return false;
  const bool died = clocks_.has_died(now, from, seconds(utc_now->value - died_at->value));
  if (const auto news = clocks_.take_news()) {
    trace_.on_trace({.at = now,
                     .kind = TraceKind::clocks_apart,
                     .peer = news->peer,
                     .a = news->at_least.count()});
  }
  return died;
}

// Returns the time after which the sender sends the S_PDU no more: it repeats none that has died by
// its own clock.
Instant UnidataReceiver::last_repeat(Instant now, const DataSpdu& data) const {
  constexpr seconds kClocksApart = std::chrono::days(1);
  constexpr seconds kLivesMax = std::chrono::days(kTimeToDieDaysMax + 1);
  const auto utc_now = utc_.known_utc(now);
  if (!utc_now || !data.time_to_die) return now + kLivesMax;
  const auto dies_at = decode_time_to_die(*utc_now, *data.time_to_die);
  if (!dies_at) return now + kLivesMax;
  const seconds lives(dies_at->value - utc_now->value);
  return now + std::max(lives, seconds(0)) + kClocksApart;
}

}  // namespace s5066::sap
