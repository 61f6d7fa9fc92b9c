// SPDX-License-Identifier: Apache-2.0
#include "s5066d/sap/subnetwork_interface.h"

#include <algorithm>
#include <utility>

#include "s5066d/base/deadline_table.h"
#include "s5066d/sap/damage.h"

namespace s5066::sap {
namespace {

constexpr std::uint8_t kRankOfManagers = 15;

/// Returns the reason that a bound client is told when the node ends its bind; nothing if the
/// standard has none.
std::optional<sis::UnbindReason> told_reason_of(ClientEnd end) {
  using Reason = sis::UnbindReason;
  switch (end) {
    case ClientEnd::inactive:
      return Reason::inactivity;
    case ClientEnd::invalid_primitives:
      return Reason::too_many_invalid_primitives;
    case ClientEnd::expedited_requests:
      return Reason::too_many_expedited_requests;
    case ClientEnd::broadcast:
      return Reason::arq_unsupportable_in_broadcast;
    // STANDARD: no reason is given for the actions of a manager or an operator; both have the
    // highest rank, so the client is told that it was pre-empted.
    case ClientEnd::preempted:
    case ClientEnd::sap_shut:
    case ClientEnd::by_operator:
      return Reason::preempted;
    default:
      return std::nullopt;
  }
}

/// True if the header is intact. Only the U_PDU after it may be damaged.
bool has_whole_header(const cas::SpduIndication& indication, const Spdu& spdu) {
  const auto* data = std::get_if<DataSpdu>(&spdu);
  if (data == nullptr) return false;
  const std::size_t header = indication.spdu.size() - data->updu.size();
  return !touches_header(indication.errored, header) && !touches_header(indication.missing, header);
}

/// True if the peer does respond: it had forgotten the link, or broke it for something more
/// important, or it called and we let the link make way before anything came.
bool is_no_failure_of_the_peer(const cas::LinkBroken& broken) {
  return broken.end == cas::LinkEnd::not_connected || broken.end == cas::LinkEnd::called_anew ||
         broken.end == cas::LinkEnd::displaced ||
         broken.reason == cas::BreakReason::higher_priority_pending;
}

}  // namespace

SubnetworkInterface::SubnetworkInterface(const Config& config, Counters& counters, TraceSink& trace)
    : config_(config),
      counters_(counters),
      trace_(trace),
      outbox_(counters),
      counts_(config.peers_counted_max),
      clients_(config_, outbox_, counters, trace),
      sender_(config_, utc_, counts_, outbox_, counters, trace),
      receiver_(config_, clients_, utc_, counts_, outbox_, counters, trace),
      links_(config.links),
      hard_links_({config.hard_links, config.address}, outbox_, counters, trace),
      broadcast_(config.broadcast_only || config.broadcast_session),
      silent_(config.emcon) {
  sender_.allow_arq({}, !broadcast_);
  sender_.set_silent(silent_);
  hard_links_.allow({}, !broadcast_);
  hard_links_.set_silent({}, silent_);
  S5066_ASSERT(!config.address.group);
  S5066_ASSERT(config.attempts_max > 0);
  S5066_ASSERT(config.unbound_clients_max > 0);
  S5066_ASSERT(config.queue.client_octets_reserved >= StorageLedger::charge(config.mtu));
}

// --- Connections ---------------------------------------------------------------------------------

void SubnetworkInterface::on_client_connected(Instant now, ClientId client,
                                              const ClientOrigin& origin) {
  if (const auto victim = clients_.victim_of_connect()) {
    receiver_.on_client_gone(*victim);
    clients_.close(now, *victim, ClientEnd::displaced);
    outbox_.push(CloseClient{*victim, true});
  }
  clients_.connect(now, client, origin);
  outbox_.on_input(now);
}

// Closing the connection unbinds the client (A.2.1.2).
void SubnetworkInterface::on_client_closed(Instant now, ClientId client, ClientEnd why) {
  if (!clients_.knows(client)) return;
  const bool bound = clients_.binding(client) != nullptr;
  if (!bound && why != ClientEnd::left) return close_client(now, client, why);
  if (bound) {
    end_service(now, client);
    clients_.unbind(now, client, why);
  }
  receiver_.on_client_gone(client);
  clients_.forget(client);
  outbox_.on_input(now);
}

void SubnetworkInterface::on_client_failed(Instant now, ClientId client, ClientEnd why) {
  if (!clients_.knows(client)) return;
  close_client(now, client, why);
  outbox_.on_input(now);
}

void SubnetworkInterface::on_indication_taken(Instant now, ReceiptId receipt) {
  const auto subject = receiver_.on_taken(receipt);
  if (!subject) return;
  answer(now, *subject, true);
  outbox_.on_input(now);
}

// STANDARD: a delivery S_PDU has one reason, "destination SAP not bound". It fits here too, because
// the client that was bound has gone without the U_PDU.
void SubnetworkInterface::on_indications_lost(Instant now, std::span<const ReceiptId> receipts) {
  for (const UntakenIndications::Subject& subject : receiver_.on_lost(receipts)) {
    counters_.add(Counter::updus_untaken);
    answer(now, subject, false);
    outbox_.on_input(now);
  }
}

void SubnetworkInterface::answer(Instant now, const UntakenIndications::Subject& subject,
                                 bool delivered) {
  const DataSpdu& data = subject.data;
  if (subject.source == config_.address) {
    sender_.on_answer(now, subject.source, data.source_sap, data.destination_sap, data.updu,
                      delivered);
  } else {
    sender_.answer(now, subject.source, subject.service, data, delivered);
  }
}

void SubnetworkInterface::close_client(Instant now, ClientId client, ClientEnd why,
                                       bool discard_unsent) {
  const auto told = told_reason_of(why);
  if (clients_.binding(client) != nullptr) {
    if (told) outbox_.send(client, sis::UnbindIndication{*told});
    end_service(now, client);
  }
  receiver_.on_client_gone(client);
  clients_.close(now, client, why);
  outbox_.push(CloseClient{client, discard_unsent});
}

// Ends the bind but not the connection, so that the client may bind again. S_UNBIND_INDICATION is
// the only report for U_PDUs whose end it had not been told.
void SubnetworkInterface::unbind_client(Instant now, ClientId client, ClientEnd why) {
  S5066_ASSERT(clients_.binding(client) != nullptr);
  const auto told = told_reason_of(why);
  S5066_ASSERT(told);
  outbox_.send(client, sis::UnbindIndication{*told});
  end_service(now, client);
  clients_.unbind(now, client, why);
  clients_.rest(now, client);
}

// Drops the client's U_PDUs without reports. C_PDUs that the sublayers below hold go on to their
// end.
void SubnetworkInterface::end_service(Instant now, ClientId client) {
  hard_links_.on_client_gone(now, client);
  sender_.forget_client(now, client);
}

// --- Primitives ----------------------------------------------------------------------------------

void SubnetworkInterface::on_primitive(Instant now, ClientId client, sis::Primitive primitive,
                                       Duration held) {
  if (!clients_.knows(client)) return;
  counters_.add(Counter::primitives_received);
  const bool needs_bind = !std::holds_alternative<sis::BindRequest>(primitive) &&
                          !std::holds_alternative<sis::KeepAlive>(primitive);
  if (needs_bind && clients_.binding(client) == nullptr) {
    invalid(now, client, static_cast<std::uint8_t>(sis::type_of(primitive)));
  } else {
    if (clients_.binding(client) != nullptr) clients_.on_heard(now, client);
    if (std::holds_alternative<sis::KeepAlive>(primitive)) {
      on_keep_alive(now, client, held);
    } else {
      std::visit([&](auto& request) { on_request(now, client, request); }, primitive);
    }
  }
  outbox_.on_input(now);
}

void SubnetworkInterface::on_invalid_primitive(Instant now, ClientId client, std::uint8_t type) {
  if (!clients_.knows(client)) return;
  invalid(now, client, type);
  outbox_.on_input(now);
}

// Handles an invalid primitive: discards and counts it, and closes a client that sends too many.
void SubnetworkInterface::invalid(Instant now, ClientId client, std::uint8_t type) {
  counters_.add(Counter::primitives_invalid);
  clients_.trace_invalid(now, client, type);
  if (clients_.watch(client).on_invalid(now)) return;
  close_client(now, client, ClientEnd::invalid_primitives);
}

template <typename NotForServers>
void SubnetworkInterface::on_request(Instant now, ClientId client, const NotForServers& request) {
  invalid(now, client, static_cast<std::uint8_t>(sis::type_of(request)));
}

void SubnetworkInterface::on_request(Instant now, ClientId client,
                                     const sis::BindRequest& request) {
  if (const auto victim = clients_.victim_of(client, request)) {
    unbind_client(now, *victim, ClientEnd::preempted);
  }
  if (clients_.bind(now, client, request)) return;
  invalid(now, client, static_cast<std::uint8_t>(sis::Type::bind_request));
}

void SubnetworkInterface::on_request(Instant now, ClientId client,
                                     sis::ManagementRequest& request) {
  if (clients_.binding(client)->rank < kRankOfManagers) {  // A.2.1.15(3)
    return invalid(now, client, static_cast<std::uint8_t>(sis::Type::management_request));
  }
  outbox_.push(ManagementAsked{client, request.message_type, std::move(request.body)});
}

// The standard defines no answer (A.2.1.2); the connection stays and the client may bind again.
void SubnetworkInterface::on_request(Instant now, ClientId client, const sis::UnbindRequest&) {
  if (clients_.binding(client) != nullptr) {
    end_service(now, client);
    clients_.unbind(now, client, ClientEnd::unbound);
  }
  clients_.rest(now, client);
}

void SubnetworkInterface::on_keep_alive(Instant now, ClientId client, Duration held) {
  if (clients_.watch(client).on_keep_alive(now, held)) outbox_.send(client, sis::KeepAlive{});
}

void SubnetworkInterface::on_request(Instant now, ClientId client, sis::UnidataRequest& request) {
  submit(now, client, submission_of(std::move(request)));
}

void SubnetworkInterface::on_request(Instant now, ClientId client,
                                     sis::ExpeditedUnidataRequest& request) {
  if (!clients_.watch(client).on_expedited_request(now)) {
    counters_.add(Counter::updus_refused);
    return unbind_client(now, client, ClientEnd::expedited_requests);
  }
  submit(now, client, submission_of(std::move(request)));
}

void SubnetworkInterface::submit(Instant now, ClientId client, Submission submission) {
  const Binding binding = *clients_.binding(client);
  const std::uint8_t asked_priority = submission.priority;
  submission.priority = std::min(asked_priority, clients_.priority_max(client));
  const bool lowered = submission.priority < asked_priority;
  const auto type =
      submission.expedited ? sis::Type::expedited_request : sis::Type::unidata_request;
  const auto verdict = judge(submission, binding.service,
                             {.mtu = config_.mtu,
                              .own = config_.address,
                              .loopback = config_.loopback,
                              .arq_allowed = !broadcast_});
  if (!verdict.accepted) {
    const bool too_large = verdict.report == sis::RejectReason::larger_than_mtu;
    if (verdict.report || !verdict.invalid) {
      sender_.refuse(now, client, binding.sap, submission, verdict.report,
                     too_large ? DiscardReason::too_large : DiscardReason::refused);
    }
    if (verdict.invalid) invalid(now, client, static_cast<std::uint8_t>(type));
    return;
  }
  if (!sender_.book(client, submission.updu.size())) {
    // Only a client comes here that goes on after S_DATA_FLOW_OFF and whose connection is not
    // paused.
    const bool tell = verdict.delivery.confirmation != sis::Confirmation::none;
    return sender_.refuse(
        now, client, binding.sap, submission,
        tell ? std::optional(sis::RejectReason::destination_not_responding) : std::nullopt,
        DiscardReason::no_room);
  }
  if (lowered) counters_.add(Counter::updus_lowered);
  UnidataItem item = sender_.accept(now, client, binding, verdict.delivery, std::move(submission));
  if (item.destination == config_.address) {
    deliver_to_ourselves(now, std::move(item));
  } else {
    sender_.queue(std::move(item));
  }
}

void SubnetworkInterface::deliver_to_ourselves(Instant now, UnidataItem item) {
  const bool delivered = receiver_.on_local(now, item);
  if (!delivered && item.confirmation == sis::Confirmation::client) {
    sender_.reject(now, std::move(item), sis::RejectReason::destination_sap_not_bound);
  } else if (item.confirmation == sis::Confirmation::client) {
    sender_.await_client(now, std::move(item));
  } else {
    sender_.confirm(now, std::move(item));
  }
}

void SubnetworkInterface::on_request(Instant now, ClientId client,
                                     const sis::HardLinkEstablish& request) {
  const Binding& binding = *clients_.binding(client);
  if (hard_links_.request_establish(now, {client, binding.sap, binding.rank}, request.link)) return;
  invalid(now, client, static_cast<std::uint8_t>(sis::Type::hard_link_establish));
}

void SubnetworkInterface::on_request(Instant now, ClientId client,
                                     const sis::HardLinkTerminate& request) {
  if (hard_links_.request_terminate(now, client, request.remote)) return;
  invalid(now, client, static_cast<std::uint8_t>(sis::Type::hard_link_terminate));
}

void SubnetworkInterface::on_request(Instant now, ClientId client,
                                     const sis::HardLinkAccept& request) {
  if (hard_links_.request_accept(now, client, request.link)) return;
  invalid(now, client, static_cast<std::uint8_t>(sis::Type::hard_link_accept));
}

void SubnetworkInterface::on_request(Instant now, ClientId client,
                                     const sis::HardLinkReject& request) {
  if (hard_links_.request_reject(now, client, request)) return;
  invalid(now, client, static_cast<std::uint8_t>(sis::Type::hard_link_reject));
}

// --- From the channel access sublayer ------------------------------------------------------------

void SubnetworkInterface::on_link_made(Instant now, const cas::LinkMade& made) {
  if (made.type == cas::LinkType::exclusive) {
    links_.on_taken(now, made.peer);
    if (made.we_called) links_.end_all();  // B.3.2.1(19): they are already being broken
    hard_links_.on_link_made(now, made);
  } else {
    links_.on_link_made(now, made.peer, made.we_called);
  }
  receiver_.on_link_made(now, made.peer);
  outbox_.on_input(now);
}

void SubnetworkInterface::on_link_capacity(Instant now, Address peer, std::size_t octets) {
  sender_.on_link_capacity(peer, octets);
  outbox_.on_input(now);
}

void SubnetworkInterface::on_link_rejected(Instant now, const cas::LinkRejected& rejected) {
  using cas::RejectReason;
  outbox_.on_input(now);
  if (hard_links_.on_link_rejected(now, rejected)) return;
  if (silent_) return links_.on_call_refused(now, rejected.peer);
  links_.on_call_failed(now, rejected.peer);
  // A peer that refuses for now has responded, so the data waits for its time to die. Its links may
  // be at their maximum, for which it has no reason but "unknown" (B.3.1.4).
  const bool hopeless = !rejected.reason || rejected.reason == RejectReason::broadcast_only_node;
  if (hopeless) sender_.on_call_failed(now, rejected.peer);
}

void SubnetworkInterface::on_link_refused(Instant now, Address peer) {
  outbox_.on_input(now);
  if (!hard_links_.on_link_refused(now, peer)) links_.on_call_refused(now, peer);
}

void SubnetworkInterface::on_link_closing(Instant now, const cas::LinkClosing& closing) {
  if (closing.type == cas::LinkType::nonexclusive) links_.on_link_closing(closing.peer);
  hard_links_.on_link_closing(now, closing);
  outbox_.on_input(now);
}

// A session in which the peer acknowledged data is no failed attempt for the rest of its data. Nor
// is one that ended because of a message of the peer, because the peer is on the air.
void SubnetworkInterface::on_link_broken(Instant now, const cas::LinkBroken& broken) {
  sender_.on_link_ended(broken.peer,
                        links_.has_progressed(broken.peer) || is_no_failure_of_the_peer(broken));
  hard_links_.on_link_broken(now, broken);
  links_.on_link_broken(now, broken);
  outbox_.on_input(now);
}

void SubnetworkInterface::on_peer_active(Instant now, Address peer) {
  links_.on_traffic(now, peer);
  hard_links_.on_traffic(now, peer);
}

void SubnetworkInterface::on_spdu(Instant now, cas::SpduIndication indication) {
  outbox_.on_input(now);
  // Non-ARQ data tells nothing about a link, because its sender may have forgotten the link.
  if (is_arq(indication.service)) on_peer_active(now, indication.source);
  auto spdu = decode(indication.spdu);
  if (!indication.intact() && (!spdu.ok() || !has_whole_header(indication, *spdu))) {
    counters_.add(Counter::spdus_damaged);
    return trace_discarded(now, indication, DiscardReason::damaged);
  }
  if (!spdu.ok()) {
    const bool unsupported = spdu.error().code == ErrorCode::unsupported;
    counters_.add(unsupported ? Counter::spdus_unsupported : Counter::spdus_malformed);
    return trace_discarded(now, indication,
                           unsupported ? DiscardReason::unsupported : DiscardReason::malformed);
  }
  if (auto* data = std::get_if<DataSpdu>(&*spdu)) {
    const auto delivered = receiver_.on_data(now, indication, *data);
    if (delivered) {
      sender_.answer(now, indication.source, indication.service, *data, *delivered);
    }
  } else if (const auto* confirmed = std::get_if<DeliveryConfirm>(&*spdu)) {
    sender_.on_answer(now, indication.source, confirmed->source_sap, confirmed->destination_sap,
                      confirmed->updu_part, true);
  } else if (const auto* failed = std::get_if<DeliveryFail>(&*spdu)) {
    sender_.on_answer(now, indication.source, failed->source_sap, failed->destination_sap,
                      failed->updu_part, false);
  } else if (is_arq(indication.service)) {
    on_hard_link_spdu(now, indication.source, *spdu);
  } else {
    counters_.add(Counter::spdus_unsupported);  // an answer could not reach its sender
    trace_discarded(now, indication, DiscardReason::unsupported);
  }
}

void SubnetworkInterface::trace_discarded(Instant now, const cas::SpduIndication& from,
                                          DiscardReason why) {
  trace_.on_trace(
      {.at = now,
       .kind = TraceKind::spdu_discarded,
       .peer = from.source,
       .discarded = Discarded{.reason = why, .octets = from.spdu.size(), .clients = {}}});
}

void SubnetworkInterface::on_hard_link_spdu(Instant now, Address peer, const Spdu& spdu) {
  if (const auto* request = std::get_if<HardLinkRequest>(&spdu)) {
    hard_links_.on_spdu(now, peer, *request, party_at(request->remote_sap),
                        links_.is_in_session(peer));
  } else if (const auto* confirm = std::get_if<HardLinkConfirm>(&spdu)) {
    hard_links_.on_spdu(now, peer, *confirm);
  } else if (const auto* refused = std::get_if<HardLinkRefused>(&spdu)) {
    hard_links_.on_spdu(now, peer, *refused);
  } else if (const auto* end = std::get_if<HardLinkTerminate>(&spdu)) {
    hard_links_.on_spdu(now, peer, *end);
  } else {
    hard_links_.on_spdu(now, peer, std::get<HardLinkTerminateConfirm>(spdu));
  }
}

std::optional<HardLinks::Party> SubnetworkInterface::party_at(SapId sap) const {
  const auto client = clients_.client_at(sap);
  if (!client) return std::nullopt;
  return HardLinks::Party{*client, sap, clients_.binding(*client)->rank};
}

void SubnetworkInterface::on_spdu_arrived(Instant now, CpduId id) {
  outbox_.on_input(now);
  sender_.on_spdu_arrived(id);
}

void SubnetworkInterface::on_spdu_confirm(Instant now, const cas::SpduConfirm& confirm) {
  outbox_.on_input(now);
  sender_.on_spdu_confirm(now, confirm, links_);
}

void SubnetworkInterface::on_spdu_rejected(Instant now, const cas::SpduRejected& rejected) {
  outbox_.on_input(now);
  hard_links_.on_spdu_rejected(rejected);
  sender_.on_spdu_rejected(now, rejected);
}

// --- After every event ---------------------------------------------------------------------------

void SubnetworkInterface::on_utc(Instant now, UtcSeconds utc) {
  utc_.set(now, utc);
  outbox_.on_input(now);
}

void SubnetworkInterface::on_deadline(Instant now) {
  outbox_.on_input(now);
}

// Runs once after the inputs of an event: when a link ends, its U_PDUs come back one by one, with
// the report about the link among them.
void SubnetworkInterface::settle(Instant now) {
  if (const auto client = receiver_.take_overfull(); client && clients_.knows(*client)) {
    close_client(now, *client, ClientEnd::unread, true);
  }
  for (const ClientId id : clients_.watch_all(now)) {
    const bool bound = clients_.binding(id) != nullptr;
    close_client(now, id, bound ? ClientEnd::inactive : ClientEnd::idle);
  }
  sender_.settle_returned(now, links_, hard_links_);
  sender_.expire(now);
  hard_links_.on_deadline(now);
  for (const Address peer : hard_links_.linked_peers()) links_.on_taken(now, peer);
  if (!silent_) {
    if (hard_links_.end_soft_links()) links_.end_all();
    links_.plan(now, sender_.loads(), !hard_links_.hold_calls());
    while (auto action = links_.poll_action()) {
      std::visit([this](const auto& a) { outbox_.push(a); }, *action);
    }
    sender_.feed(now, links_, hard_links_);
  }
  clients_.control_flow(now, sender_.ledger());
  clients_.announce(availability());
}

std::optional<Instant> SubnetworkInterface::next_deadline() const {
  const auto next = earlier(sender_.next_deadline(), clients_.next_deadline());
  const auto with_hard_links = earlier(next, hard_links_.next_deadline());
  return outbox_.deadline(silent_ ? with_hard_links
                                  : earlier(with_hard_links, links_.next_deadline()));
}

std::optional<Action> SubnetworkInterface::poll_action() {
  return outbox_.poll([this](Instant now) { settle(now); });
}

// --- For operators -------------------------------------------------------------------------------

std::vector<ClientInfo> SubnetworkInterface::clients() const {
  std::vector<ClientInfo> all;
  for (const auto& [id, client] : clients_.all()) {
    ClientInfo info{.id = id, .flow_off = client.flow_off, .stored = sender_.ledger().usage(id)};
    info.origin = client.origin;
    if (const Binding* binding = clients_.binding(id)) info.binding = *binding;
    all.push_back(info);
  }
  return all;
}

Holdings SubnetworkInterface::holdings() const {
  return {.updus_queued = sender_.queue().size(),
          .updus_below = sender_.deliveries().below(),
          .updus_awaiting = sender_.deliveries().awaiting(),
          .octets_charged = sender_.ledger().octets_charged(),
          .untaken = receiver_.untaken()};
}

PeerInfo SubnetworkInterface::peer(Address address) const {
  PeerInfo info{.peer = address,
                .queued_octets = sender_.queue().octets(address) +
                                 sender_.deliveries().updu_octets_below(address),
                .outstanding_octets = sender_.deliveries().octets_below(address)};
  const auto count = counts_.all().find(address);
  if (count != counts_.all().end()) {
    info.acknowledged_octets = count->second.acknowledged;
    info.received_octets = count->second.received;
  }
  return info;
}

std::vector<Address> SubnetworkInterface::peers_with_links() const {
  std::vector<Address> all = links_.peers();
  for (const Address peer : hard_links_.physical_peers()) all.push_back(peer);
  return all;
}

std::vector<PeerInfo> SubnetworkInterface::peers() const {
  std::vector<PeerInfo> all;
  for (const auto& waiting : sender_.queue().waiting()) all.push_back(peer(waiting.peer));
  for (const Address address : sender_.deliveries().peers_below()) {
    if (!sender_.queue().waits_for(address)) all.push_back(peer(address));
  }
  for (const auto& [address, count] : counts_.all()) {
    const bool listed =
        sender_.queue().waits_for(address) || sender_.deliveries().octets_below(address) > 0;
    if (!listed) all.push_back(peer(address));
  }
  return all;
}

// --- State of the whole node (A.1.1.3, A.2.1.15, A.2.1.16, A.2.1.26, A.3.2.3) --------------------

Result<void> SubnetworkInterface::check_broadcast_session(bool on) const {
  if (!on && config_.broadcast_only) {
    return Error{ErrorCode::refused, "a broadcast-only node cannot end its broadcast session"};
  }
  return {};
}

Result<void> SubnetworkInterface::request_broadcast_session(Instant now, bool on) {
  if (const auto allowed = check_broadcast_session(on); !allowed) return allowed;
  if (on == broadcast_) return {};
  broadcast_ = on;
  clients_.allow_arq(!on);
  std::vector<ClientId> bound_for_arq;
  for (const auto& [id, client] : clients_.all()) {
    const Binding* binding = clients_.binding(id);
    const bool arq = binding != nullptr && binding->service.mode == sis::TransmissionMode::arq;
    if (on && arq) bound_for_arq.push_back(id);
  }
  for (const ClientId id : bound_for_arq) {
    unbind_client(now, id, ClientEnd::broadcast);
  }
  hard_links_.allow(now, !on);
  sender_.allow_arq(now, !on);
  outbox_.on_input(now);
  return {};
}

void SubnetworkInterface::request_silence(Instant now, bool on) {
  silent_ = on;
  sender_.set_silent(on);
  hard_links_.set_silent(now, on);
  outbox_.on_input(now);
}

void SubnetworkInterface::on_modem_state(Instant now, bool working) {
  modem_works_ = working;
  outbox_.on_input(now);
}

// STANDARD: the contents are implementation-dependent. In a broadcast session no peer acknowledges
// anything, so clients are told that the node only transmits, although it still receives non-ARQ
// data. A broadcast-only node is always in that state and does not announce it.
sis::SubnetAvailability SubnetworkInterface::node_availability() const {
  using sis::AvailabilityReason;
  using sis::NodeStatus;
  if (!modem_works_) return {NodeStatus::off, AvailabilityReason::unspecified};
  if (silent_) return {NodeStatus::receive_only, AvailabilityReason::emcon};
  const bool for_good = config_.broadcast_only;
  if (broadcast_ && !for_good) return {NodeStatus::transmit_only, AvailabilityReason::unspecified};
  return ClientTable::kNormal;
}

// A.2.1.26, A.1.1.2.2, A.1.1.2.3: only Types 1 and 2 block other clients. A Type 1 of the peer is
// for all clients here.
ClientTable::Availability SubnetworkInterface::availability() const {
  ClientTable::Availability now{.node = node_availability(), .reserved_for = std::nullopt};
  for (const HardLinkInfo& link : hard_links_.links()) {
    const bool for_one = link.type == sis::HardLinkType::full_bandwidth ||
                         (link.type == sis::HardLinkType::partial_bandwidth && link.we_called);
    if (for_one && link.state == HardLinkState::active) now.reserved_for = link.local_sap;
  }
  return now;
}

Result<void> SubnetworkInterface::request_sap_open(Instant now, SapId sap, bool open) {
  if (sap.value > SapId::kMax) return Error{ErrorCode::not_found, "no such SAP"};
  clients_.open(sap, open);
  const auto holder = clients_.client_at(sap);
  if (!open && holder) unbind_client(now, *holder, ClientEnd::sap_shut);
  outbox_.on_input(now);
  return {};
}

// --- For an operator -----------------------------------------------------------------------------

Result<void> SubnetworkInterface::request_disconnect(Instant now, ClientId client) {
  if (!clients_.knows(client)) {
    return Error{ErrorCode::not_found, "no client " + std::to_string(client.value)};
  }
  close_client(now, client, ClientEnd::by_operator);
  outbox_.on_input(now);
  return {};
}

Result<void> SubnetworkInterface::request_break(Instant now, Address peer) {
  for (const HardLinkInfo& link : hard_links_.links()) {
    if (link.peer != peer || link.state == HardLinkState::closed) continue;
    return Error{ErrorCode::refused, "a client has a hard link with " + to_string(peer) +
                                         "; disconnect the client to end it"};
  }
  if (!links_.request_end(peer)) {
    return Error{ErrorCode::not_found, "no link with " + to_string(peer) + " and no call to it"};
  }
  outbox_.on_input(now);
  return {};
}

UpduList SubnetworkInterface::updus(const UpduFilter& filter, std::size_t listed_max) const {
  UpduList list;
  const Instant now = outbox_.now();
  const auto add = [&](const UnidataItem& item, bool queued, std::string_view waits_for) {
    if (item.own || !filter.fits(item)) return;
    list.updus.push_back({.id = item.id,
                          .client = item.client,
                          .destination = item.destination,
                          .source_sap = item.local_sap(),
                          .destination_sap = item.remote_sap(),
                          .priority = item.priority,
                          .octets = item.octets(),
                          .age = now - item.accepted_at,
                          .time_left = item.time_to_die - now,
                          .attempts = item.attempts,
                          .queued = queued,
                          .waits_for = waits_for});
  };
  sender_.queue().for_each([&](const UnidataItem& item) { add(item, true, waits_for(item)); });
  sender_.deliveries().for_each([&](const UnidataItem& item, bool acknowledged) {
    add(item, false,
        acknowledged ? "the confirmation of the other client"
        : item.arq() ? "its acknowledgement"
                     : "its transmission");
  });
  list.total = list.updus.size();
  const auto listed =
      list.updus.begin() + static_cast<std::ptrdiff_t>(std::min(list.total, listed_max));
  std::partial_sort(list.updus.begin(), listed, list.updus.end(),
                    [](const UpduInfo& a, const UpduInfo& b) { return a.id < b.id; });
  list.updus.erase(listed, list.updus.end());
  return list;
}

std::string_view SubnetworkInterface::waits_for(const UnidataItem& item) const {
  if (!modem_works_) return "the modem";
  if (silent_) return "the end of EMCON";
  const Address peer = item.destination;
  if (!item.arq()) {
    const bool allowed = hard_links_.allows_nonarq(peer, item.local_sap(), item.remote_sap());
    return allowed ? "its turn in the queue" : "the end of a hard link";
  }
  if (hard_links_.governs(peer)) {
    const bool carried = hard_links_.carries(peer, item.local_sap(), item.remote_sap());
    return carried ? "its turn in the queue" : "the end of a hard link";
  }
  if (!links_.is_in_session(peer) && hard_links_.hold_calls()) return "the end of a hard link";
  return links_.waits_for(outbox_.now(), peer);
}

std::size_t SubnetworkInterface::request_purge(Instant now, const UpduFilter& filter) {
  const std::size_t purged = sender_.purge(now, filter);
  outbox_.on_input(now);
  return purged;
}

void SubnetworkInterface::on_management_answer(Instant now, ClientId client,
                                               std::uint8_t message_type,
                                               const std::vector<std::string>& lines) {
  if (clients_.binding(client) == nullptr) return;
  constexpr std::size_t kPartLineOctets = 32;
  const std::size_t room = config_.management_octets_max - kPartLineOctets;
  std::vector<std::string> parts(1);
  for (const std::string& line : lines) {
    const std::string_view kept = std::string_view(line).substr(0, room - 1);
    if (parts.back().size() + kept.size() + 1 > room) parts.emplace_back();
    parts.back().append(kept).append("\n");
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string text =
        "part=" + std::to_string(i + 1) + "/" + std::to_string(parts.size()) + "\n" + parts[i];
    outbox_.send(client, sis::ManagementIndication{message_type, Bytes(text.begin(), text.end())});
  }
  outbox_.on_input(now);
}

}  // namespace s5066::sap
