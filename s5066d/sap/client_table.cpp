#include "s5066d/sap/client_table.h"

#include <algorithm>
#include <utility>

#include "s5066d/base/assert.h"
#include "s5066d/base/deadline_table.h"

namespace s5066::sap {
namespace {

constexpr sis::SubnetAvailability kShutOut{sis::NodeStatus::receive_only,
                                           sis::AvailabilityReason::higher_priority_link};

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
    if (binding(id) == nullptr) unbound[client.household].push_back(id);
  }
  // Where several have as many, the one that was here first.
  const auto before = [](const auto& a, const auto& b) {
    if (a.second.size() != b.second.size()) return a.second.size() > b.second.size();
    return a.second.front() < b.second.front();
  };
  return std::min_element(unbound.begin(), unbound.end(), before)->second.front();
}

void ClientTable::connect(Instant now, ClientId client, const ClientOrigin& origin) {
  const bool is_new =
      clients_.emplace(client, Client{ClientWatch(config_, now), origin.household}).second;
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
  if (const auto reason = saps_.bind(client, request)) {
    outbox_.send(client, sis::BindRejected{*reason});
    return !bound_before;
  }
  watch(client).on_bound(now);
  news_for_some_ = true;
  counters_.add(Counter::clients_bound);
  trace_.on_trace(
      {now, TraceKind::client_bound, config_.address, request.sap.value, request.rank, {}});
  outbox_.send(client, sis::BindAccepted{request.sap, config_.mtu});
  return true;
}

void ClientTable::unbind(Instant now, ClientId client, std::uint8_t reason) {
  const Binding* bound = binding(client);
  if (bound == nullptr) return;
  trace_.on_trace({now, TraceKind::client_unbound, config_.address, bound->sap.value, reason, {}});
  saps_.unbind(client);
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

// S_DATA_FLOW_OFF and ON with a gap between them (A.2.1.14); of a client that goes on all the same,
// or has much in flight, no further U_PDU is taken. Others may borrow the last of the room, so that
// this comes without its doing, and its other primitives have to be served: a keep-alive has 10 s
// (A.2.1.17(1)), a hard link is ended always (A.2.1.19(4)).
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
