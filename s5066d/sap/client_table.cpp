// SPDX-License-Identifier: Apache-2.0
#include "s5066d/sap/client_table.h"

#include <algorithm>
#include <utility>

#include "s5066d/base/assert.h"
#include "s5066d/base/deadline_table.h"

namespace s5066::sap {
namespace {

constexpr sis::SubnetAvailability kShutOut{sis::NodeStatus::receive_only,
                                           sis::AvailabilityReason::higher_priority_link};

/// Returns the counter of an end that the node caused.
std::optional<Counter> counter_of(ClientEnd end) {
  switch (end) {
    case ClientEnd::dead_peer:
      return Counter::clients_ended_dead_peer;
    case ClientEnd::idle:
      return Counter::clients_ended_idle;
    case ClientEnd::inactive:
      return Counter::clients_ended_inactive;
    case ClientEnd::partial_primitive:
      return Counter::clients_ended_partial_primitive;
    case ClientEnd::unread:
      return Counter::clients_ended_unread;
    case ClientEnd::unpaused:
      return Counter::clients_ended_unpaused;
    case ClientEnd::invalid_primitives:
      return Counter::clients_ended_invalid_primitives;
    case ClientEnd::expedited_requests:
      return Counter::clients_ended_expedited_requests;
    case ClientEnd::preempted:
      return Counter::clients_ended_preempted;
    case ClientEnd::sap_shut:
      return Counter::clients_ended_sap_shut;
    case ClientEnd::broadcast:
      return Counter::clients_ended_broadcast;
    case ClientEnd::displaced:
      return Counter::clients_ended_displaced;
    case ClientEnd::by_operator:
      return Counter::clients_ended_by_operator;
    case ClientEnd::tls:
      return Counter::clients_ended_tls;
    case ClientEnd::octet_order:
      return Counter::clients_ended_octet_order;
    case ClientEnd::unbound:
    case ClientEnd::left:
    case ClientEnd::count:
      break;
  }
  return std::nullopt;
}

Counter counter_of(BindRefusal refusal) {
  switch (refusal) {
    case BindRefusal::bound_already:
      return Counter::binds_rejected_bound_already;
    case BindRefusal::sap_not_allowed:
      return Counter::binds_rejected_sap_not_allowed;
    case BindRefusal::sap_reserved:
      return Counter::binds_rejected_sap_reserved;
    case BindRefusal::sap_shut:
      return Counter::binds_rejected_sap_shut;
    case BindRefusal::sap_taken:
      return Counter::binds_rejected_sap_taken;
    case BindRefusal::no_arq:
      return Counter::binds_rejected_no_arq;
    case BindRefusal::illegal_service:
      return Counter::binds_rejected_illegal_service;
    case BindRefusal::rank_not_allowed:
      return Counter::binds_rejected_rank_not_allowed;
    case BindRefusal::no_room:
    case BindRefusal::count:
      break;
  }
  return Counter::binds_rejected_no_room;
}

}  // namespace

ClientTable::ClientTable(const Config& config, Outbox& outbox, Counters& counters, TraceSink& trace)
    : config_(config),
      outbox_(outbox),
      counters_(counters),
      trace_(trace),
      saps_(config.bind, config.bound_clients_max) {
  saps_.allow_arq(!config.broadcast_only && !config.broadcast_session);
}

std::optional<ClientId> ClientTable::victim_of_connect() const {
  if (clients_.size() - saps_.bound() < config_.unbound_clients_max) return std::nullopt;
  std::map<std::uint64_t, std::vector<ClientId>> unbound;
  for (const auto& [id, client] : clients_) {
    if (binding(id) == nullptr) unbound[client.host_key].push_back(id);
  }
  // Among hosts with equally many, the one with the oldest connection is chosen.
  const auto before = [](const auto& a, const auto& b) {
    if (a.second.size() != b.second.size()) return a.second.size() > b.second.size();
    return a.second.front() < b.second.front();
  };
  return std::min_element(unbound.begin(), unbound.end(), before)->second.front();
}

void ClientTable::connect(Instant now, ClientId client, const ClientOrigin& origin) {
  const bool is_new = clients_
                          .emplace(client, Client{.watch = ClientWatch(config_, now),
                                                  .host_key = origin.host_key,
                                                  .priority_max = origin.priority_max,
                                                  .origin = origin.name})
                          .second;
  S5066_ASSERT(is_new);
  watch_changed_ = true;
  if (origin.access) saps_.grant(client, *origin.access);
  counters_.add(Counter::clients_connected);
}

void ClientTable::forget(ClientId client) {
  saps_.revoke(client);
  clients_.erase(client);
  watch_changed_ = true;
}

bool ClientTable::bind(Instant now, ClientId client, const sis::BindRequest& request) {
  const bool bound_before = binding(client) != nullptr;
  if (const auto refusal = saps_.bind(client, request)) {
    counters_.add(counter_of(*refusal));
    TracedClient refused = traced(client, to_string(*refusal));
    refused.sap.reset();  // the traced SAP and rank are those asked for
    refused.ended_by_node = true;
    trace_.on_trace({.at = now,
                     .kind = TraceKind::bind_rejected,
                     .a = request.sap.value,
                     .b = request.rank,
                     .client = refused});
    outbox_.send(client, sis::BindRejected{reject_reason_of(*refusal)});
    return !bound_before;
  }
  watch(client).on_bound(now);
  news_for_some_ = true;
  counters_.add(Counter::clients_bound);
  TracedClient bound = traced(client, {});
  bound.sap.reset();  // the event has it as a number of its own
  trace_.on_trace({.at = now,
                   .kind = TraceKind::client_bound,
                   .a = request.sap.value,
                   .b = request.rank,
                   .client = bound});
  outbox_.send(client, sis::BindAccepted{request.sap, config_.mtu});
  return true;
}

void ClientTable::unbind(Instant now, ClientId client, ClientEnd why) {
  if (binding(client) == nullptr) return;
  const auto counter = counter_of(why);
  if (counter) counters_.add(*counter);
  TracedClient unbound = traced(client, to_string(why));
  unbound.ended_by_node = counter.has_value();
  trace_.on_trace({.at = now, .kind = TraceKind::client_unbound, .client = unbound});
  saps_.unbind(client);
}

void ClientTable::close(Instant now, ClientId client, ClientEnd why) {
  counters_.add(Counter::clients_dropped);
  if (const auto counter = counter_of(why)) counters_.add(*counter);
  TracedClient closed = traced(client, to_string(why));
  closed.ended_by_node = true;
  trace_.on_trace({.at = now, .kind = TraceKind::client_closed, .client = closed});
  saps_.unbind(client);
  forget(client);
}

void ClientTable::trace_invalid(Instant now, ClientId client, std::uint8_t type) const {
  trace_.on_trace(
      {.at = now, .kind = TraceKind::invalid_primitive, .a = type, .client = traced(client, {})});
}

TracedClient ClientTable::traced(ClientId client, std::string_view reason) const {
  TracedClient traced{.id = client, .origin = clients_.at(client).origin, .reason = reason};
  if (const Binding* bound = binding(client)) traced.sap = bound->sap;
  return traced;
}

void ClientTable::rest(Instant now, ClientId client) {
  Client& record = clients_.at(client);
  record.watch.on_unbound(now);
  watch_changed_ = true;
  record.flow_off = false;
  record.told = kNormal;
  if (std::exchange(record.paused, false)) outbox_.push(PauseData{client, false});
}

std::vector<ClientId> ClientTable::watch_all(Instant now) {
  std::vector<ClientId> inactive;
  const auto due = next_deadline();
  if (!due || now < *due) {
    next_watch_ = due;
    watch_changed_ = false;
    return inactive;
  }
  for (auto& [id, client] : clients_) {
    const auto verdict = client.watch.on_deadline(now);
    if (verdict == ClientWatch::Verdict::send_keep_alive) outbox_.send(id, sis::KeepAlive{});
    if (verdict == ClientWatch::Verdict::inactive) inactive.push_back(id);
  }
  next_watch_ = earliest();
  watch_changed_ = false;
  return inactive;
}

void ClientTable::control_flow(Instant now, StorageLedger& ledger) {
  if (ledger.changed().all) {
    for (auto& [id, client] : clients_) control_flow(now, id, client, ledger);
  } else {
    for (const ClientId id : ledger.changed().clients) {
      const auto client = clients_.find(id);
      if (client != clients_.end()) control_flow(now, id, client->second, ledger);
    }
  }
  ledger.changes_seen();
}

// Sends S_DATA_FLOW_OFF and ON with a gap between their limits (A.2.1.14). If a client goes on all
// the same, or has much in flight, no further U_PDU of it is taken. Other clients may borrow the
// last of the room, so a client can be paused without its own doing. Its other primitives must
// still be served: a keep-alive within 10 s (A.2.1.17(1)), and the end of a hard link always
// (A.2.1.19(4)).
void ClientTable::control_flow(Instant now, ClientId id, Client& client,
                               const StorageLedger& ledger) {
  if (binding(id) == nullptr) return;
  const auto [octets_left, updus_left, percent] = ledger.room(id);
  const bool full = octets_left < StorageLedger::charge(config_.mtu) || updus_left == 0;
  if (!client.flow_off && (percent >= config_.queue.flow_off_percent || full)) {
    client.flow_off = true;
    outbox_.send(id, sis::DataFlowOff{});
  }
  if (!client.paused && full) {
    client.paused = true;
    client.watch.on_paused();
    watch_changed_ = true;
    outbox_.push(PauseData{id, true});
  }
  if (client.paused && !full && percent < config_.queue.flow_off_percent) {
    client.paused = false;
    client.watch.on_resumed(now);
    watch_changed_ = true;
    outbox_.push(PauseData{id, false});
  }
  if (client.flow_off && !full && percent < config_.queue.flow_on_percent) {
    client.flow_off = false;
    outbox_.send(id, sis::DataFlowOn{});
  }
}

void ClientTable::announce(const Availability& availability) {
  if (!std::exchange(news_for_some_, false) && announced_ == availability) return;
  announced_ = availability;
  for (auto& [id, client] : clients_) {
    const Binding* bound = binding(id);
    if (bound == nullptr) continue;
    const bool shut_out = availability.reserved_for && *availability.reserved_for != bound->sap;
    const auto& news = shut_out && availability.node == kNormal ? kShutOut : availability.node;
    if (client.told == news) continue;
    client.told = news;
    outbox_.send(id, news);
  }
}

std::optional<Instant> ClientTable::earliest() const {
  std::optional<Instant> next;
  for (const auto& [id, client] : clients_) next = earlier(next, client.watch.next_deadline());
  return next;
}

}  // namespace s5066::sap
