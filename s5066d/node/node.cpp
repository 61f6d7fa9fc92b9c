// SPDX-License-Identifier: Apache-2.0
#include "s5066d/node/node.h"

#include <algorithm>
#include <utility>

#include "modem/api/airtime.h"
#include "s5066d/base/deadline_table.h"
#include "s5066d/base/overloaded.h"
#include "s5066d/base/take_front.h"
#include "s5066d/node/link_agreement.h"
#include "s5066d/node/management_text.h"
#include "sis/codec.h"

namespace s5066 {
namespace {

/// Upper bound of the octets of a D_PDU with a control C_PDU.
constexpr std::size_t kControlBurstOctets = 64;
/// Octets of the D_PDUs of the largest C_PDU of a general node, with the smallest segments in use.
constexpr std::size_t kLongestCpduOctets = 2600;
/// Octets given to a framer at a time.
constexpr std::size_t kSliceOctets = 16 * 1024;

/// Computes the values that follow from the modem's mode, and limits that depend on each other.
NodeConfig completed(NodeConfig config) {
  const modem::Mode& mode = config.dts.mode;
  config.cas.exchange_time =
      2 * (modem::airtime(mode, kControlBurstOctets) + config.dts.turnaround);
  config.cas.robust_exchange_time = config.cas.exchange_time;
  if (config.dts.adaptation) {
    for (const modem::Mode& other : dts::modes_in_use(config.dts)) {
      config.cas.robust_exchange_time =
          std::max(config.cas.robust_exchange_time,
                   2 * (modem::airtime(other, kControlBurstOctets) + config.dts.turnaround));
    }
  }
  config.cas.longest_cpdu_time =
      modem::airtime(mode, kLongestCpduOctets) + config.cas.exchange_time;
  config.cas.address = config.dts.address;
  config.cas.broadcast_only = config.cas.broadcast_only || config.sap.broadcast_only;
  config.cas.nonexclusive_links_max =
      std::min(config.cas.nonexclusive_links_max, cas::nonexclusive_room(config.dts.links_max));
  config.sap.links.soft_links_max =
      std::min(config.sap.links.soft_links_max, config.cas.nonexclusive_links_max);
  config.sap.broadcast_only = config.cas.broadcast_only;
  config.dts.fair_turn = config.sap.queue.fair_turn;
  config.sap.address = config.dts.address;
  config.sap.bound_clients_max = config.clients_max;
  config.sap.unbound_clients_max = config.clients_unbound_max;
  config.sap.link_outstanding_octets_max =
      std::min(config.sap.link_outstanding_octets_max, config.dts.link_queue_octets_max);
  config.sap.expedited_outstanding_octets_max =
      std::min(config.sap.expedited_outstanding_octets_max, config.dts.expedited_queue_octets_max);
  // No sublayer can take back data that was handed down, not even in EMCON.
  config.sap.nonarq_outstanding_octets_max =
      std::min({config.sap.nonarq_outstanding_octets_max, config.dts.nonarq_queue_octets_max,
                2 * modem::capacity(mode, config.dts.transmission_max)});
  return config;
}

/// Largest number of actions that one event, or one primitive of a client, can cause. The sublayers
/// hold at most the U_PDUs counted here. At the worst event, the break of a link, each of them
/// takes about 8 actions: both lower sublayers reject it, its client is told or it is handed down
/// again through both, is refused because there is no room and comes back, and its room lets its
/// client continue. kStepsFactor is the distance from there to an endless loop, which reaches the
/// limit within a few seconds.
std::size_t steps_max(const NodeConfig& config) {
  constexpr std::size_t kStepsOfUpdu = 8;
  constexpr std::size_t kStepsFactor = 4;
  return kStepsFactor * kStepsOfUpdu *
         (config.sap.queue.updus_max + config.sap.queue.responses_max +
          config.sap.awaiting_client_confirm_max + config.cas.spdus_outstanding_max);
}

/// Returns a size that is enough for nearly every primitive, so that its encoding allocates once.
std::size_t octets_hint(const sis::Primitive& primitive) {
  constexpr std::size_t kFields = 64;
  const auto* indication = std::get_if<sis::UnidataIndication>(&primitive);
  return kFields + (indication == nullptr ? 0 : indication->updu.size());
}

/// True for a client's primitives that carry a U_PDU.
bool carries_updu(std::optional<std::uint8_t> type) {
  return type == static_cast<std::uint8_t>(sis::Type::unidata_request) ||
         type == static_cast<std::uint8_t>(sis::Type::expedited_request);
}

/// Returns whether the modem works, if the event tells it.
std::optional<bool> modem_works(const modem::Event& event) {
  if (const auto* fault = std::get_if<modem::Fault>(&event)) {
    if (fault->kind == modem::FaultKind::device_lost) return false;
    if (fault->kind == modem::FaultKind::device_back) return true;
    return std::nullopt;
  }
  if (std::holds_alternative<modem::CarrierUp>(event)) return true;
  if (std::holds_alternative<modem::TransmitStarted>(event)) return true;
  return std::nullopt;
}

}  // namespace

Node::Node(const NodeConfig& config, Rng& rng, TraceSink& trace)
    : config_(completed(config)),
      dts_(config_.dts, rng, counters_, trace),
      cas_(config_.cas, rng, counters_, trace),
      sap_(config_.sap, counters_, trace),
      steps_("Node::pump ends", steps_max(config_)) {
  if (sap_.in_broadcast_session()) {
    cas_.set_broadcast(now_, true);
    dts_.set_broadcast(true);
  }
  if (sap_.is_silent()) {
    cas_.set_silent(now_, true);
    dts_.set_silent(now_, true);
    pump(now_);
  }
  S5066_ASSERT(config_.client_input_octets_max >= sis::kHeaderOctets + sis::kBodyOctetsMax);
}

// --- Clients -------------------------------------------------------------------------------------

ClientId Node::on_client_connected(Instant now, const sap::ClientOrigin& origin) {
  const ClientId id{++last_client_id_};
  sap_.on_client_connected(now, id, origin);
  clients_.emplace(id, Client(config_.client_rate));
  drain(now);
  return id;
}

// Gathers all input of one read into one transmission, so that the first U_PDU is not sent alone.
void Node::on_client_bytes(Instant now, ClientId id, ByteSpan bytes) {
  dts_.gather(now, true);
  take_bytes(now, id, bytes);
  dts_.gather(now, false);
  drain(now);
}

void Node::take_bytes(Instant now, ClientId id, ByteSpan bytes) {
  while (!bytes.empty()) {
    const auto client = clients_.find(id);
    if (client == clients_.end()) return;
    const ByteSpan slice = bytes.first(std::min(bytes.size(), kSliceOctets));
    bytes = bytes.subspan(slice.size());
    // Only a driver that goes on reading in spite of PauseClient gets here.
    const std::size_t held = client->second.framer.buffered() + slice.size();
    if (held > config_.client_input_octets_max) return fail(now, id, ClientEnd::unpaused);
    // Octets of a driver that was already reading when it was told to pause.
    if (client->second.held_since && client->second.framer.buffered() == 0) {
      client->second.held_since = now;
    }
    client->second.framer.push(slice);
    serve(now, id);
    drain(now);
  }
}

// Serves frame by frame, because each may pause or close the client.
void Node::serve(Instant now, ClientId id) {
  for (;;) {
    const auto client = clients_.find(id);
    if (client == clients_.end()) return;
    client->second.rate.refill(now);
    tell_pause(now, id, client->second);
    if (client->second.told_to_pause) return;
    if (!client->second.understood && refuse_mistaken(now, id, client->second)) return;
    const auto item = client->second.framer.poll();
    if (!item) {
      client->second.held_since.reset();
      auto& since = client->second.partial_since;
      if (!client->second.framer.partial()) since.reset();
      if (client->second.framer.partial() && !since) since = now;
      note_deadline(client->second);
      return;
    }
    client->second.partial_since.reset();
    const auto* frame = std::get_if<sis::Framer::Frame>(&*item);
    client->second.understood |= frame != nullptr;
    client->second.rate.take(now, sis::kHeaderOctets + (frame == nullptr ? 0 : frame->body.size()));
    note_deadline(client->second);
    steps_.begin();
    take_frame(now, id, *item, now - client->second.held_since.value_or(now));
    pump(now);
  }
}

/// The driver stops reading while the client is above its rate, and while the next primitive is a
/// U_PDU that may not be taken yet. A client that is not read cannot complete its primitive, so the
/// timeout for it starts again when it is read again.
void Node::tell_pause(Instant now, ClientId id, Client& client) {
  const bool blocked = client.data_paused && carries_updu(client.framer.next_type());
  const bool wanted = blocked || client.rate.exhausted();
  if (wanted) client.partial_since.reset();
  if (wanted && !client.held_since) client.held_since = now;
  if (std::exchange(client.told_to_pause, wanted) != wanted) {
    actions_.push_back(PauseClient{id, wanted});
  }
}

void Node::take_frame(Instant now, ClientId id, const sis::Framer::Item& item, Duration held) {
  const auto* frame = std::get_if<sis::Framer::Frame>(&item);
  if (frame == nullptr) return sap_.on_invalid_primitive(now, id, 0);
  auto primitive = sis::decode(frame->body);
  if (primitive) {
    sap_.on_primitive(now, id, std::move(*primitive), held);
  } else {
    sap_.on_invalid_primitive(now, id, frame->body[0]);
  }
}

// Refuses a client of another protocol at once. Otherwise the client would wait for an answer, and
// we for the rest of its primitive, until a timeout. A TLS client gets the alert protocol_version,
// which its library can report.
bool Node::refuse_mistaken(Instant now, ClientId id, const Client& client) {
  static const Bytes kTlsAlert = {21, 3, 1, 0, 2, 2, 70};  // RFC 8446, 6: fatal, protocol_version
  const auto mistake = client.framer.mistake();
  if (!mistake) return false;
  const bool tls = *mistake == sis::Framer::Mistake::tls;
  SendToClient refusal{id, tls ? kTlsAlert : Bytes{}};
  if (!tls) sis::encode(sis::BindRejected{}, refusal.bytes);
  actions_.push_back(std::move(refusal));
  fail(now, id, tls ? ClientEnd::tls : ClientEnd::octet_order);
  return true;
}

void Node::on_client_taken(Instant now, ClientId id, std::size_t octets) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  Client& client = found->second;
  client.taken_octets += octets;
  while (!client.receipts.empty() && client.receipts.front().end <= client.taken_octets) {
    sap_.on_indication_taken(now, client.receipts.front().id);
    client.receipts.pop_front();
  }
  drain(now);
}

/// Reports the indications that were certainly not written. The client may have read the rest, so
/// nothing is reported about it.
void Node::lose_unwritten(Instant now, ClientId id, std::size_t unwritten) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  Client& client = found->second;
  const std::uint64_t written =
      client.sent_octets - std::min<std::uint64_t>(client.sent_octets, unwritten);
  std::vector<sap::ReceiptId> lost;
  for (const Client::Receipt& receipt : std::exchange(client.receipts, {})) {
    if (receipt.end > written) lost.push_back(receipt.id);
  }
  sap_.on_indications_lost(now, lost);
}

void Node::on_client_closed(Instant now, ClientId id, ClientEnd why, std::size_t unwritten) {
  lose_unwritten(now, id, unwritten);
  clients_.erase(id);
  sap_.on_client_closed(now, id, why);
  drain(now);
}

void Node::on_client_backlog(Instant now, ClientId id, std::size_t unsent_octets) {
  const auto client = clients_.find(id);
  if (client == clients_.end() || unsent_octets <= config_.client_output_octets_max) return;
  client->second.backlogged = true;
  lose_unwritten(now, id, unsent_octets);
  fail(now, id, ClientEnd::unread);
}

void Node::fail(Instant now, ClientId id, ClientEnd why) {
  sap_.on_client_failed(now, id, why);
  drain(now);
}

// --- Modem and time ------------------------------------------------------------------------------

void Node::on_modem_event(Instant now, const modem::Event& event) {
  if (const auto working = modem_works(event); working && *working != modem_working_) {
    modem_working_ = *working;
    sap_.on_modem_state(now, modem_working_);
    dts_.set_modem_works(now, modem_working_);
  }
  dts_.on_modem_event(now, event);
  drain(now);
}

void Node::on_utc(Instant now, UtcSeconds utc) {
  sap_.on_utc(now, utc);
  drain(now);
}

void Node::on_deadline(Instant now) {
  const auto is_due = [now](std::optional<Instant> at) { return at && *at <= now; };
  if (is_due(dts_.next_deadline())) dts_.on_deadline(now);
  drain(now);
  if (is_due(cas_.next_deadline())) cas_.on_deadline(now);
  drain(now);
  if (is_due(sap_.next_deadline())) sap_.on_deadline(now);
  drain(now);
  if (is_due(next_client_deadline_)) on_client_deadline(now);
}

void Node::on_client_deadline(Instant now) {
  std::vector<ClientId> stuck;
  next_client_deadline_.reset();
  for (auto& [id, client] : clients_) {
    const bool waited = client.rate.exhausted();
    client.rate.refill(now);
    if (waited && !client.rate.exhausted()) resumed_.push_back(id);
    const auto fails_at = fails_at_of(client);
    if (fails_at && *fails_at <= now) {
      stuck.push_back(id);
    } else {
      note_deadline(client);
    }
  }
  for (const ClientId id : stuck) fail(now, id, ClientEnd::partial_primitive);
  drain(now);
}

std::optional<Instant> Node::fails_at_of(const Client& client) const {
  if (!client.partial_since) return std::nullopt;
  return *client.partial_since + config_.partial_primitive_timeout;
}

void Node::note_deadline(const Client& client) {
  next_client_deadline_ = earlier(next_client_deadline_, client.rate.next_deadline());
  next_client_deadline_ = earlier(next_client_deadline_, fails_at_of(client));
}

std::optional<Instant> Node::next_deadline() const {
  const auto next = earlier(dts_.next_deadline(), cas_.next_deadline());
  return earlier(next, earlier(sap_.next_deadline(), next_client_deadline_));
}

std::optional<NodeAction> Node::poll_action() {
  return take_front(actions_);
}

// --- What the whole node may do ------------------------------------------------------------------

Result<void> Node::request_broadcast_session(Instant now, bool on) {
  const auto done = switch_broadcast(now, on);
  drain(now);
  return done;
}

Result<void> Node::switch_broadcast(Instant now, bool on) {
  if (const auto done = sap_.request_broadcast_session(now, on); !done) return done;
  cas_.set_broadcast(now, on);
  dts_.set_broadcast(on);
  return {};
}

void Node::request_silence(Instant now, bool on) {
  switch_silence(now, on);
  drain(now);
}

// The sublayer above is told first, so that it asks nothing of one that is already silent, and
// holds what comes back from below.
void Node::switch_silence(Instant now, bool on) {
  sap_.request_silence(now, on);
  cas_.set_silent(now, on);
  dts_.set_silent(now, on);
}

Result<void> Node::request_mode(Instant now, Address peer, const modem::Mode& mode) {
  const auto link = dts_.connection_status(peer);
  if (!link) return Error{ErrorCode::link_down, "no link with " + to_string(peer)};
  if (config_.dts.adaptation) {
    return Error{ErrorCode::refused, "adaptation is enabled and chooses the modes"};
  }
  if (link->mode == mode) return Error{ErrorCode::refused, "the link already uses that mode"};
  const auto done = dts_.request_data_rate(now, peer, mode);
  drain(now);
  return done;
}

Result<void> Node::request_sap_open(Instant now, SapId sap, bool open) {
  const auto done = sap_.request_sap_open(now, sap, open);
  drain(now);
  return done;
}

Result<void> Node::request_disconnect(Instant now, ClientId client) {
  const auto done = sap_.request_disconnect(now, client);
  drain(now);
  return done;
}

Result<void> Node::request_break(Instant now, Address peer) {
  const auto done = sap_.request_break(now, peer);
  drain(now);
  return done;
}

std::size_t Node::request_purge(Instant now, const sap::UpduFilter& filter) {
  const std::size_t purged = sap_.request_purge(now, filter);
  drain(now);
  return purged;
}

void Node::manage(Instant now, const sap::ManagementAsked& asked) {
  std::function<void()> then;
  const auto lines = answer_to(now, asked, then);
  if (lines) {
    sap_.on_management_answer(now, asked.client, asked.message_type, *lines);
  } else {
    sap_.on_management_answer(now, asked.client, static_cast<std::uint8_t>(ManagementType::error),
                              error_lines(asked.message_type, lines.error()));
  }
  if (then) then();
}

// `then` is the part that must wait for the answer, because it may end the bind of the manager.
Result<std::vector<std::string>> Node::answer_to(Instant now, const sap::ManagementAsked& asked,
                                                 std::function<void()>& then) {
  switch (static_cast<ManagementType>(asked.message_type)) {
    case ManagementType::status:
      return status_lines(status());
    case ManagementType::statistics:
      return statistics_lines(counters_);
    case ManagementType::links:
      return link_lines(status());
    case ManagementType::clients:
      return client_lines(status());
    case ManagementType::shut_sap:
    case ManagementType::open_sap: {
      const auto sap = number_in(asked.body, "sap", SapId::kMax);
      if (!sap) return sap.error();
      const bool open = asked.message_type == static_cast<std::uint8_t>(ManagementType::open_sap);
      if (!open && sap_.holds(asked.client, SapId{static_cast<std::uint8_t>(*sap)})) {
        return Error{ErrorCode::refused, "a manager cannot shut its own SAP"};
      }
      const auto done = sap_.request_sap_open(now, SapId{static_cast<std::uint8_t>(*sap)}, open);
      if (!done) return done.error();
      return ManagementLines{"sap=" + std::to_string(*sap)};
    }
    case ManagementType::broadcast_session: {
      const auto on = number_in(asked.body, "on", 1);
      if (!on) return on.error();
      if (const auto done = sap_.check_broadcast_session(*on != 0); !done) return done.error();
      then = [this, now, begin = *on != 0] {
        const auto done = switch_broadcast(now, begin);
        S5066_ASSERT(done.ok());
      };
      return ManagementLines{"on=" + std::to_string(*on)};
    }
    case ManagementType::emcon: {
      const auto on = number_in(asked.body, "on", 1);
      if (!on) return on.error();
      switch_silence(now, *on != 0);
      return ManagementLines{"on=" + std::to_string(*on)};
    }
    case ManagementType::error:
      break;
  }
  return Error{ErrorCode::unsupported, "message type"};
}

// --- Between the sublayers -----------------------------------------------------------------------

// Actions that go up are handled first: when a link ends, the sublayer above must know it before it
// is asked what to send next.
void Node::pump(Instant now) {
  now_ = now;
  for (;;) {
    if (auto up = dts_.poll_action()) {
      from_dts(now, *up);
    } else if (auto middle = cas_.poll_action()) {
      from_cas(now, *middle);
    } else if (auto down = sap_.poll_action()) {
      from_sap(now, *down);
    } else {
      return;
    }
    steps_.count();
  }
}

void Node::drain(Instant now) {
  steps_.begin();
  pump(now);
  while (!resumed_.empty()) {
    steps_.count();
    const ClientId id = resumed_.back();
    resumed_.pop_back();
    serve(now, id);
  }
}

void Node::from_dts(Instant now, dts::Action& action) {
  std::visit(Overloaded{
                 [&](modem::Command& command) { actions_.push_back(std::move(command)); },
                 [&](const dts::CpduArrived& arrived) { sap_.on_spdu_arrived(now, arrived.id); },
                 [&](const dts::CpduConfirm& confirm) { cas_.on_cpdu_confirm(now, confirm); },
                 [&](const dts::CpduRejected& rejected) { cas_.on_cpdu_rejected(now, rejected); },
                 [&](dts::CpduIndication& indication) { cas_.on_cpdu(now, std::move(indication)); },
                 [&](const dts::ConnectionLost& lost) { cas_.on_connection_lost(now, lost); },
                 [&](const dts::ConnectionReset& reset) { sap_.on_connection_reset(reset.peer); },
                 [&](const dts::PeerActive& active) { on_peer_active(now, active); },
                 [&](const dts::WarningReceived& warning) { cas_.on_warning(now, warning); },
                 [&](const dts::TransmitModeChanged& changed) {
                   if (dts_.connection_status(changed.peer)) tell_capacity(now, changed.peer);
                 },
                 // The data transfer sublayer has traced these itself, and its connection_status()
                 // shows them.
                 [](const dts::WarningTransmitted&) {},
                 [](const dts::DataRateAdvised&) {},
                 [](const dts::DataRateRefused&) {},
             },
             action);
}

void Node::on_peer_active(Instant now, const dts::PeerActive& active) {
  if (!active.frame) return sap_.on_peer_maybe_active(now, active.peer);
  sap_.on_peer_active(now, active.peer);
  cas_.on_connection_heard(now, active.peer);
}

void Node::tell_capacity(Instant now, Address peer) {
  sap_.on_link_capacity(now, peer,
                        modem::capacity(dts_.mode_to(peer), config_.dts.transmission_max));
}

void Node::from_cas(Instant now, cas::Action& action) {
  std::visit(Overloaded{
                 [&](dts::CpduRequest& cpdu) { dts_.request_cpdu(now, std::move(cpdu)); },
                 [&](const cas::MakeConnection& make) {
                   dts_.on_connection_made(now, make.peer, make.reset);
                 },
                 [&](const cas::TerminateConnection& end) {
                   dts_.on_connection_terminated(now, end.peer);
                 },
                 [&](const cas::LinkMade& made) {
                   idle_since_.erase(made.peer);
                   tell_capacity(now, made.peer);
                   sap_.on_link_made(now, made);
                 },
                 [&](const cas::LinkRejected& rejected) {
                   note_idle(now, rejected.peer);
                   sap_.on_link_rejected(now, rejected);
                 },
                 [&](const cas::LinkClosing& closing) { sap_.on_link_closing(now, closing); },
                 [&](const cas::LinkBroken& broken) {
                   note_idle(now, broken.peer);
                   sap_.on_link_broken(now, broken);
                 },
                 [&](cas::SpduIndication& spdu) { sap_.on_spdu(now, std::move(spdu)); },
                 [&](const cas::SpduConfirm& confirm) { sap_.on_spdu_confirm(now, confirm); },
                 [&](const cas::SpduRejected& rejected) { sap_.on_spdu_rejected(now, rejected); },
             },
             action);
}

// Keeps at most as many peers as are counted; the one that has been idle longest is forgotten.
void Node::note_idle(Instant now, Address peer) {
  idle_since_[peer] = now;
  if (idle_since_.size() <= config_.sap.peers_counted_max) return;
  idle_since_.erase(
      std::min_element(idle_since_.begin(), idle_since_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; }));
}

void Node::from_sap(Instant now, sap::Action& action) {
  std::visit(Overloaded{
                 [&](const sap::SendPrimitive& send) { send_to_client(send); },
                 [&](const sap::CloseClient& close) { close_client(close); },
                 [&](const sap::PauseData& pause) { pause_client(now, pause); },
                 [&](const sap::RequestLink& link) {
                   const auto asked = cas_.request_link(now, link.peer, link.type);
                   if (!asked) sap_.on_link_refused(now, link.peer);
                 },
                 [&](const sap::KeepLink& keep) { cas_.keep_link(keep.peer); },
                 [&](const sap::ManagementAsked& asked) { manage(now, asked); },
                 // If there is no such link, the report of its end is already on its way up.
                 [&](const sap::RequestBreak& end) {
                   static_cast<void>(cas_.request_break(now, end.peer, end.reason));
                 },
                 [&](cas::SpduRequest& spdu) { cas_.request_unidata(now, std::move(spdu)); },
             },
             action);
}

void Node::send_to_client(const sap::SendPrimitive& send) {
  SendToClient to{send.client, {}};
  to.bytes.reserve(octets_hint(send.primitive));
  sis::encode(send.primitive, to.bytes);
  if (const auto client = clients_.find(send.client); client != clients_.end()) {
    client->second.sent_octets += to.bytes.size();
    if (send.receipt) {
      client->second.receipts.push_back({client->second.sent_octets, *send.receipt});
    }
  }
  actions_.push_back(std::move(to));
}

void Node::close_client(const sap::CloseClient& close) {
  const auto client = clients_.find(close.client);
  const bool backlogged = client != clients_.end() && client->second.backlogged;
  if (client != clients_.end()) clients_.erase(client);
  actions_.push_back(CloseClient{close.client, close.discard_unsent || backlogged});
}

void Node::pause_client(Instant now, const sap::PauseData& pause) {
  Client& client = clients_.at(pause.client);
  client.data_paused = pause.paused;
  tell_pause(now, pause.client, client);
  if (!pause.paused) resumed_.push_back(pause.client);
}

// --- For operators -------------------------------------------------------------------------------

std::vector<Address> Node::links_in_disagreement() const {
  std::vector<Address> found;
  const auto check = [&](const std::optional<cas::LinkInfo>& below, Address peer) {
    if (!link_views_agree(below, sap_.link_view(peer))) found.push_back(peer);
  };
  for (const cas::LinkInfo& link : cas_.links()) check(link, link.peer);
  for (const Address peer : sap_.peers_with_links()) {
    if (!cas_.link(peer)) check(std::nullopt, peer);
  }
  return found;
}

NodeStatus Node::status() const {
  NodeStatus status{.address = config_.dts.address,
                    .mode = config_.dts.mode,
                    .transmitting = dts_.transmitting(),
                    .channel_busy = dts_.channel_busy(now_),
                    .channel_occupied = dts_.channel_occupied(),
                    .modem_working = modem_working_,
                    .duplex = dts_.duplex(),
                    .broadcast_session = sap_.in_broadcast_session(),
                    .emcon = sap_.is_silent(),
                    .holdings = sap_.holdings(),
                    .hard_links = sap_.hard_links(),
                    .clocks_apart = sap_.clocks_apart()};
  for (const sap::ClientInfo& client : sap_.clients()) {
    ClientStatus& entry = status.clients.emplace_back();
    entry.id = client.id;
    entry.origin = client.origin;
    entry.bound = client.binding.has_value();
    if (client.binding) entry.sap = client.binding->sap;
    if (client.binding) entry.rank = client.binding->rank;
    entry.flow_off = client.flow_off;
    entry.queued_updus = client.stored.updus;
    entry.queued_octets = client.stored.octets;
  }
  std::map<Address, LinkStatus> links;
  for (const sap::PeerInfo& peer : sap_.peers()) {
    LinkStatus& entry = links[peer.peer];
    entry.queued_octets = peer.queued_octets;
    entry.outstanding_octets = peer.outstanding_octets;
    entry.acknowledged_octets = peer.acknowledged_octets;
    entry.received_octets = peer.received_octets;
  }
  for (const cas::LinkInfo& link : cas_.links()) {
    LinkStatus& entry = links[link.peer];
    entry.state = link.state;
    entry.type = link.type;
    entry.we_called = link.we_called;
    entry.since = link.since;
    if (const auto status_below = dts_.connection_status(link.peer)) {
      entry.transmit_mode = status_below->mode;
      entry.advised_mode = status_below->advised;
      entry.mode_refused = status_below->refused;
      entry.capabilities = status_below->capabilities;
    }
  }
  for (auto& [peer, entry] : links) {
    entry.peer = peer;
    const auto idle = idle_since_.find(peer);
    if (!entry.since && idle != idle_since_.end()) entry.since = idle->second;
    status.links.push_back(entry);
  }
  return status;
}

const Counters& Node::counters() const {
  return counters_;
}

}  // namespace s5066
