// Clients: their connections, binds, requests and limits. What happens to an accepted U_PDU is in
// unidata_service.cpp.
#include "s5066d/sap/subnetwork_interface.h"

#include <algorithm>
#include <utility>

#include "s5066d/base/deadline_table.h"

namespace s5066::sap {
namespace {

constexpr std::uint8_t kUnbindRequested = 0;  // for the trace: no S_UNBIND_INDICATION was sent

}  // namespace

SubnetworkInterface::SubnetworkInterface(const Config& config, Counters& counters, TraceSink& trace)
    : config_(config),
      counters_(counters),
      trace_(trace),
      saps_(config.bind, config.broadcast_only),
      ledger_(config.queue),
      links_(config.links),
      repeat_marker_(config.repeats_remembered_max),
      repeat_filter_(config.repeats_remembered_max) {
  S5066_ASSERT(!config.address.group);
  S5066_ASSERT(config.attempts_max > 0);
  S5066_ASSERT(config.queue.client_octets_reserved >= StorageLedger::charge(config.mtu));
}

// --- Connections ---------------------------------------------------------------------------------

Result<void> SubnetworkInterface::on_client_connected(Instant now, ClientId client) {
  if (clients_.size() >= config_.clients_max) return Error{ErrorCode::queue_full, "clients"};
  const bool is_new = clients_.emplace(client, Client{ClientWatch(config_, now)}).second;
  S5066_ASSERT(is_new);
  counters_.add(Counter::clients_connected);
  touch(now);
  return {};
}

// Closing the connection unbinds (A.2.1.2).
void SubnetworkInterface::on_client_closed(Instant now, ClientId client) {
  if (clients_.count(client) == 0) return;
  release(now, client, kUnbindRequested);
  clients_.erase(client);
  touch(now);
}

void SubnetworkInterface::on_client_failed(Instant now, ClientId client) {
  if (clients_.count(client) == 0) return;
  close_client(now, client, std::nullopt);
  touch(now);
}

void SubnetworkInterface::close_client(Instant now, ClientId client,
                                       std::optional<sis::UnbindReason> reason) {
  if (saps_.binding(client) != nullptr && reason) send(client, sis::UnbindIndication{*reason});
  release(now, client, reason ? static_cast<std::uint8_t>(*reason) : kUnbindRequested);
  clients_.erase(client);
  counters_.add(Counter::clients_dropped);
  actions_.push_back(CloseClient{client});
}

// The SAP is free at once; what the client left behind is dropped without reports, and C_PDUs that
// the sublayers below hold run to their end.
void SubnetworkInterface::release(Instant now, ClientId client, std::uint8_t reason) {
  const Binding* binding = saps_.binding(client);
  if (binding == nullptr) return;
  trace_.on_trace(
      {now, TraceKind::client_unbound, config_.address, binding->sap.value, reason, {}});
  for (UnidataItem& item : queue_.take_of_client(client)) finish(now, item, Outcome::dropped);
  for (const UpduId id : deliveries_.forget_client(client)) {
    UnidataItem gone;
    gone.id = id;
    finish(now, gone, Outcome::dropped);
  }
  ledger_.forget(client);
  saps_.unbind(client);
}

// --- Primitives ----------------------------------------------------------------------------------

void SubnetworkInterface::on_primitive(Instant now, ClientId client, sis::Primitive primitive) {
  if (clients_.count(client) == 0) return;
  counters_.add(Counter::primitives_received);
  const bool needs_bind = !std::holds_alternative<sis::BindRequest>(primitive) &&
                          !std::holds_alternative<sis::KeepAlive>(primitive);
  if (needs_bind && saps_.binding(client) == nullptr) {
    invalid(now, client, static_cast<std::uint8_t>(sis::type_of(primitive)));
  } else {
    std::visit([&](auto& request) { on_request(now, client, request); }, primitive);
  }
  touch(now);
}

void SubnetworkInterface::on_invalid_primitive(Instant now, ClientId client, std::uint8_t type) {
  if (clients_.count(client) == 0) return;
  invalid(now, client, type);
  touch(now);
}

// The procedure for invalid primitives: discard, count, and end a client that does it too often.
void SubnetworkInterface::invalid(Instant now, ClientId client, std::uint8_t type) {
  counters_.add(Counter::primitives_invalid);
  trace_.on_trace({now, TraceKind::invalid_primitive, config_.address, client.value, type, {}});
  if (clients_.at(client).watch.on_invalid(now)) return;
  close_client(now, client, sis::UnbindReason::too_many_invalid_primitives);
}

template <typename NotForServers>
void SubnetworkInterface::on_request(Instant now, ClientId client, const NotForServers& request) {
  invalid(now, client, static_cast<std::uint8_t>(sis::type_of(request)));
}

void SubnetworkInterface::on_request(Instant now, ClientId client,
                                     const sis::BindRequest& request) {
  ClientWatch& watch = clients_.at(client).watch;
  const bool bound_before = saps_.binding(client) != nullptr;
  if (const auto reason = saps_.bind(client, request)) {
    send(client, sis::BindRejected{*reason});
    if (bound_before) invalid(now, client, static_cast<std::uint8_t>(sis::Type::bind_request));
    return;
  }
  watch.on_bound(now);
  counters_.add(Counter::clients_bound);
  trace_.on_trace(
      {now, TraceKind::client_bound, config_.address, request.sap.value, request.rank, {}});
  send(client, sis::BindAccepted{request.sap, config_.mtu});
}

// No answer is defined (A.2.1.2); the connection stays and the client may bind again.
void SubnetworkInterface::on_request(Instant now, ClientId client, const sis::UnbindRequest&) {
  release(now, client, kUnbindRequested);
  Client& record = clients_.at(client);
  record.watch.on_unbound(now);
  record.flow_off = false;
  if (std::exchange(record.paused, false)) actions_.push_back(PauseClient{client, false});
}

void SubnetworkInterface::on_request(Instant now, ClientId client, const sis::KeepAlive&) {
  if (clients_.at(client).watch.on_keep_alive(now)) send(client, sis::KeepAlive{});
}

// The checks of A.2.1.6 and A.2.2.28, in the order in which they tell the client most.
void SubnetworkInterface::on_request(Instant now, ClientId client, sis::UnidataRequest& request) {
  using sis::Confirmation;
  using sis::RejectReason;
  const Binding binding = *saps_.binding(client);
  const auto type = static_cast<std::uint8_t>(sis::Type::unidata_request);
  clients_.at(client).watch.on_heard(now);

  if (request.updu.size() > config_.mtu) {
    return refuse(client, request, RejectReason::larger_than_mtu, true);
  }
  const bool use_service = request.delivery.mode == sis::TransmissionMode::unspecified;
  sis::DeliveryMode delivery = use_service ? binding.service : request.delivery;
  if (!use_service && (delivery.extended || delivery.confirmation == Confirmation::undefined)) {
    return invalid(now, client, type);
  }
  if (delivery.mode < sis::TransmissionMode::arq ||
      delivery.mode > sis::TransmissionMode::nonarq_with_errors) {
    return refuse(client, request, RejectReason::mode_not_specified, true);
  }
  const bool arq = delivery.mode == sis::TransmissionMode::arq;
  if (!arq) delivery.confirmation = Confirmation::none;  // A.2.2.3(9)
  const bool tell = delivery.confirmation != Confirmation::none;
  if (arq && request.destination.group) {
    refuse(client, request, RejectReason::destination_not_responding, tell);
    return invalid(now, client, type);
  }
  if (arq && config_.broadcast_only) {
    return refuse(client, request, RejectReason::mode_not_specified, tell);
  }
  if (request.destination == config_.address && !config_.loopback) {
    return refuse(client, request, RejectReason::destination_not_responding, tell);
  }
  if (!ledger_.take(client, StorageLedger::charge(request.updu.size()))) {
    // Only a client that goes on after S_DATA_FLOW_OFF and whose connection is not paused.
    return refuse(client, request, RejectReason::destination_not_responding, tell);
  }
  accept(now, client, binding, delivery, request);
}

void SubnetworkInterface::refuse(ClientId client, const sis::UnidataRequest& request,
                                 sis::RejectReason reason, bool tell) {
  counters_.add(Counter::updus_refused);
  if (!tell) return;
  const std::size_t part = std::min(request.updu.size(), config_.response_octets_local);
  send(client,
       sis::UnidataRequestRejected{
           reason, request.destination_sap, request.destination,
           Bytes(request.updu.begin(), request.updu.begin() + static_cast<std::ptrdiff_t>(part))});
}

void SubnetworkInterface::send(ClientId client, sis::Primitive primitive) {
  counters_.add(Counter::primitives_sent);
  actions_.push_back(SendPrimitive{client, std::move(primitive)});
}

// --- After every event ---------------------------------------------------------------------------

void SubnetworkInterface::on_utc(Instant now, UtcSeconds utc) {
  utc_ = Utc{now, utc};
  touch(now);
}

void SubnetworkInterface::on_deadline(Instant now) {
  touch(now);
}

void SubnetworkInterface::touch(Instant now) {
  S5066_ASSERT(now >= now_);
  now_ = now;
  unsettled_ = true;
}

void SubnetworkInterface::settle(Instant now) {
  watch_clients(now);
  expire(now);
  plan_links(now);
  feed(now);
  control_flow();
}

void SubnetworkInterface::watch_clients(Instant now) {
  std::vector<ClientId> inactive;
  for (auto& [id, client] : clients_) {
    const auto verdict = client.watch.on_deadline(now);
    if (verdict == ClientWatch::Verdict::send_keep_alive) send(id, sis::KeepAlive{});
    if (verdict == ClientWatch::Verdict::inactive) inactive.push_back(id);
  }
  for (const ClientId id : inactive) close_client(now, id, sis::UnbindReason::inactivity);
}

void SubnetworkInterface::plan_links(Instant now) {
  std::vector<PeerLoad> loads;
  for (const auto& waiting : queue_.waiting()) {
    loads.push_back({.peer = waiting.peer,
                     .waiting = true,
                     .priority = waiting.priority,
                     .outstanding = deliveries_.octets_below(waiting.peer) > 0,
                     .expects_answer = deliveries_.awaits_answer_of(waiting.peer)});
  }
  const auto is_listed = [&loads](Address peer) {
    return std::any_of(loads.begin(), loads.end(),
                       [peer](const PeerLoad& load) { return load.peer == peer; });
  };
  for (const auto& [peer, octets] : deliveries_.peers_below()) {
    if (is_listed(peer)) continue;
    loads.push_back(
        {.peer = peer, .outstanding = true, .expects_answer = deliveries_.awaits_answer_of(peer)});
  }
  for (const auto& [peer, count] : deliveries_.peers_awaited()) {
    if (!is_listed(peer)) loads.push_back({.peer = peer, .expects_answer = true});
  }
  links_.plan(now, loads);
  while (auto action = links_.poll_action()) {
    std::visit([this](const auto& a) { actions_.push_back(a); }, *action);
  }
}

// S_DATA_FLOW_OFF and ON with a gap between them (A.2.1.14); a client that goes on all the same, or
// has much in flight, is stopped by not reading its connection.
void SubnetworkInterface::control_flow() {
  const std::size_t one_updu = StorageLedger::charge(config_.mtu);
  for (auto& [id, client] : clients_) {
    if (saps_.binding(id) == nullptr) continue;
    const unsigned percent = ledger_.percent_used(id);
    const bool full = ledger_.octets_left(id) < one_updu || ledger_.updus_left(id) == 0;
    if (!client.flow_off && (percent >= config_.queue.flow_off_percent || full)) {
      client.flow_off = true;
      send(id, sis::DataFlowOff{});
    }
    if (!client.paused && full) {
      client.paused = true;
      actions_.push_back(PauseClient{id, true});
    }
    if (client.paused && percent < config_.queue.flow_off_percent) {
      client.paused = false;
      actions_.push_back(PauseClient{id, false});
    }
    if (client.flow_off && percent < config_.queue.flow_on_percent) {
      client.flow_off = false;
      send(id, sis::DataFlowOn{});
    }
  }
}

std::optional<Instant> SubnetworkInterface::next_deadline() const {
  std::optional<Instant> next = earlier(queue_.next_expiry(), deliveries_.next_deadline());
  next = earlier(next, links_.next_deadline());
  for (const auto& [id, client] : clients_) next = earlier(next, client.watch.next_deadline());
  return next;
}

std::optional<Action> SubnetworkInterface::poll_action() {
  if (actions_.empty() && std::exchange(unsettled_, false)) settle(now_);
  if (actions_.empty()) return std::nullopt;
  Action action = std::move(actions_.front());
  actions_.pop_front();
  return action;
}

// --- For operators -------------------------------------------------------------------------------

std::vector<ClientInfo> SubnetworkInterface::clients() const {
  std::vector<ClientInfo> all;
  for (const auto& [id, client] : clients_) {
    ClientInfo info{.id = id, .flow_off = client.flow_off, .stored = ledger_.usage(id)};
    if (const Binding* binding = saps_.binding(id)) info.binding = *binding;
    all.push_back(info);
  }
  return all;
}

PeerInfo SubnetworkInterface::peer(Address address) const {
  PeerInfo info{.peer = address,
                .queued_octets = queue_.octets(address) + deliveries_.updu_octets_below(address),
                .outstanding_octets = deliveries_.octets_below(address)};
  const auto count = counts_.find(address);
  if (count != counts_.end()) {
    info.acknowledged_octets = count->second.acknowledged;
    info.received_octets = count->second.received;
  }
  return info;
}

std::vector<PeerInfo> SubnetworkInterface::peers() const {
  std::vector<PeerInfo> all;
  for (const auto& waiting : queue_.waiting()) all.push_back(peer(waiting.peer));
  for (const auto& [address, octets] : deliveries_.peers_below()) {
    if (queue_.front_arq(address) == nullptr) all.push_back(peer(address));
  }
  for (const auto& [address, count] : counts_) {
    const bool listed =
        queue_.front_arq(address) != nullptr || deliveries_.octets_below(address) > 0;
    if (!listed) all.push_back(peer(address));
  }
  return all;
}

}  // namespace s5066::sap
