// SPDX-License-Identifier: Apache-2.0
#include "s5066d/cas/channel_access.h"

#include <algorithm>
#include <utility>

namespace s5066::cas {
namespace {

/// True if the octet of the C_PDU at `offset` arrived intact.
bool is_whole(const dts::CpduIndication& indication, std::size_t offset) {
  const auto holds = [offset](const OctetRange& range) {
    return range.offset <= offset && offset < std::size_t{range.offset} + range.octets;
  };
  return std::none_of(indication.errored.begin(), indication.errored.end(), holds) &&
         std::none_of(indication.missing.begin(), indication.missing.end(), holds);
}

/// Converts positions in the C_PDU to positions in its S_PDU. None of them may be that of the
/// C_PCI.
std::vector<OctetRange> behind_pci(std::vector<OctetRange> ranges) {
  for (OctetRange& range : ranges) --range.offset;
  return ranges;
}

bool is_made(LinkState state) {
  return state == LinkState::made || state == LinkState::made_wait;
}

}  // namespace

ChannelAccess::ChannelAccess(const Config& config, Rng& rng, Counters& counters, TraceSink& trace)
    : config_(config),
      rng_(rng),
      counters_(counters),
      trace_(trace),
      answers_(config.answer_wait()),
      broadcast_(config.broadcast_only) {
  S5066_ASSERT(config.exchange_time > Duration::zero());
  S5066_ASSERT(config.requests_max > 0);
  S5066_ASSERT(config.breaks_max > 0);
}

// --- Requests from the subnetwork interface ------------------------------------------------------

Result<void> ChannelAccess::request_link(Instant now, Address peer, LinkType type) {
  actions_.on_input(now);
  S5066_ASSERT(!peer.group);
  Link* link = find(peer);
  const bool breaking = link != nullptr && link->info.state == LinkState::breaking;
  if (breaking && type == LinkType::nonexclusive) {
    return Error{ErrorCode::link_down, "the link is being broken"};
  }
  const bool other_type =
      link != nullptr && type == LinkType::exclusive && link->info.type == LinkType::nonexclusive;
  if (link != nullptr && !breaking && !other_type) {
    if (link->info.state == LinkState::calling) return {};
    actions_.push(LinkMade{peer, link->info.we_called, link->info.type});
    return {};
  }
  if (const auto reason = refusal_after_displacing(now, config_.address, peer, type)) {
    const bool full = *reason == RejectReason::unknown;
    return Error{
        full ? ErrorCode::queue_full : ErrorCode::refused,
        full ? "all physical links are in use" : "the links in use do not allow this call"};
  }
  if (link == nullptr) {
    call(now, peer, type);
  } else {
    make_way_for_exclusive(now, *link);
  }
  return {};
}

bool ChannelAccess::is_without_cas_1(Address peer) const {
  const auto& external = config_.linked_externally;
  return std::find(external.begin(), external.end(), peer) != external.end() &&
         warned_.count(peer) == 0;
}

void ChannelAccess::call(Instant now, Address peer, LinkType type) {
  Link& link = add_link(peer, type, true);
  if (is_without_cas_1(peer)) {
    link.by_cas_1 = false;
    if (type == LinkType::exclusive) break_nonexclusive_links(now);
    make(now, link, LinkState::made);
    return;
  }
  change_state(now, link, LinkState::calling);
  link.transmissions = 0;
  send_and_wait(now, link);
}

// STANDARD: Fig. B-7(a) would report a Nonexclusive link as made without a message to the peer, and
// a REQUEST on a link in use cannot be told from the call of a peer that restarted. B.3.2.1(19)
// requires the caller to break its Nonexclusive links in any case, so this one is broken first.
void ChannelAccess::make_way_for_exclusive(Instant now, Link& link) {
  link.exclusive_afterwards = true;
  if (link.info.state != LinkState::breaking) {
    start_breaking(now, link, BreakReason::higher_priority_pending);
  }
}

Result<void> ChannelAccess::request_break(Instant now, Address peer, BreakReason reason) {
  actions_.on_input(now);
  Link* link = find(peer);
  if (link == nullptr) return Error{ErrorCode::not_found, "no such link"};
  if (link->info.state != LinkState::breaking) {
    start_breaking(now, *link, reason);
  } else if (std::exchange(link->exclusive_afterwards, false)) {
    actions_.push(LinkRejected{peer, std::nullopt, LinkType::exclusive});
  }
  return {};
}

void ChannelAccess::request_unidata(Instant now, SpduRequest request) {
  actions_.on_input(now);
  S5066_ASSERT(request.id.value < kControlIds);
  S5066_ASSERT(request.spdu.size() < dts::kCpduOctetsMax);
  const bool arq = is_arq(request.service);
  Link* link = find(request.destination);
  if (arq && (link == nullptr || !is_made(link->info.state))) {
    actions_.push(SpduRejected{request.id, CpduFailure::not_connected});
    return;
  }
  if (outstanding_.size() >= config_.spdus_outstanding_max) {
    actions_.push(SpduRejected{request.id, CpduFailure::queue_full});
    return;
  }
  const bool is_new =
      outstanding_.emplace(request.id, Outstanding{request.destination, arq}).second;
  S5066_ASSERT(is_new);
  const auto octets = static_cast<std::int64_t>(request.spdu.size() + 1);
  trace_.on_trace({now, TraceKind::cpdu_sent, request.destination, 0, octets, {}});
  dts::CpduRequest cpdu{.id = request.id,
                        .service = request.service,
                        .destination = request.destination,
                        .cpdu = data_cpdu(std::move(request.spdu)),
                        .in_order = request.in_order,
                        .with_errors = request.with_errors,
                        .priority = request.priority,
                        .flow = request.flow,
                        .repeats = request.repeats,
                        .time_to_die = request.time_to_die};
  if (arq && link->info.state == LinkState::made_wait && link->leaving) {
    link->held.push_back(std::move(cpdu));
  } else {
    actions_.push(std::move(cpdu));
  }
}

// --- Events from the data transfer sublayer ------------------------------------------------------

void ChannelAccess::on_cpdu(Instant now, dts::CpduIndication indication) {
  actions_.on_input(now);
  const bool is_data = is_data_cpdu(indication.cpdu);
  if (!indication.intact() && (!is_data || !is_whole(indication, 0))) {
    return discard(now, indication, Counter::cpdus_damaged, DiscardReason::damaged);
  }
  if (!is_data) return on_control(now, indication);
  if (indication.source.group) {
    return discard(now, indication, Counter::cpdus_malformed, DiscardReason::malformed);
  }
  trace_received(now, indication, 0);
  if (is_arq(indication.service)) {
    if (const Link* link = find(indication.source); link == nullptr || !link->connected) {
      // It came after the BREAK, in the same piece.
      return discard(now, indication, Counter::cpdus_without_link, DiscardReason::no_link);
    }
    on_peer_made_it(now, indication.source);
  }
  actions_.push(SpduIndication{indication.service, indication.source, indication.destination,
                               take_spdu(std::move(indication.cpdu)),
                               behind_pci(std::move(indication.errored)),
                               behind_pci(std::move(indication.missing))});
}

void ChannelAccess::trace_received(Instant now, const dts::CpduIndication& indication,
                                   std::uint8_t type) {
  const auto octets = static_cast<std::int64_t>(indication.cpdu.size());
  trace_.on_trace({now, TraceKind::cpdu_received, indication.source, type, octets, {}});
}

void ChannelAccess::discard(Instant now, const dts::CpduIndication& indication, Counter counter,
                            DiscardReason why) {
  counters_.add(counter);
  const Discarded discarded{.reason = why, .octets = indication.cpdu.size(), .clients = {}};
  trace_.on_trace({.at = now,
                   .kind = TraceKind::cpdu_discarded,
                   .peer = indication.source,
                   .discarded = discarded});
}

void ChannelAccess::on_cpdu_confirm(Instant now, const dts::CpduConfirm& confirm) {
  actions_.on_input(now);
  if (confirm.id.value >= kControlIds) {
    on_control_left(now, confirm.id);
    return;
  }
  const auto it = outstanding_.find(confirm.id);
  if (it == outstanding_.end()) return;
  const Outstanding done = it->second;
  outstanding_.erase(it);
  if (done.arq) on_peer_made_it(now, done.peer);
  actions_.push(SpduConfirm{confirm.id});
}

void ChannelAccess::on_cpdu_rejected(Instant now, const dts::CpduRejected& rejected) {
  actions_.on_input(now);
  if (rejected.id.value >= kControlIds) {
    for (auto& [peer, link] : links_) {
      if (link.leaving == rejected.id) {
        on_never_left(now, link);
        break;
      }
    }
    if (answers_.on_gone(now, rejected.id)) hand_down_answer(now);
    return;
  }
  if (outstanding_.erase(rejected.id) == 0) return;
  actions_.push(SpduRejected{rejected.id, rejected.reason});
}

void ChannelAccess::on_connection_lost(Instant now, const dts::ConnectionLost& lost) {
  actions_.on_input(now);
  Link* link = find(lost.peer);
  if (link == nullptr || !link->connected) return;
  link->connected = false;
  end(now, *link,
      link->info.state == LinkState::breaking ? LinkEnd::by_us : LinkEnd::connection_lost);
}

// The peer has no connection to us, so our state for it is stale: B.3(3.1). While we call, a
// warning refers to an older link.
void ChannelAccess::on_warning(Instant now, const dts::WarningReceived& warning) {
  actions_.on_input(now);
  constexpr std::uint8_t kNotConnected = 1;  // C.3.12
  Link* link = find(warning.peer);
  if (warning.reason != kNotConnected || link == nullptr || !link->connected) return;
  if (!link->by_cas_1) warned_.insert(warning.peer);
  end(now, *link,
      link->info.state == LinkState::breaking ? LinkEnd::by_us : LinkEnd::not_connected);
}

void ChannelAccess::on_control(Instant now, const dts::CpduIndication& indication) {
  const auto decoded = decode(indication.cpdu);
  if (!decoded || indication.source.group || indication.destination.group) {
    return discard(now, indication, Counter::cpdus_malformed, DiscardReason::malformed);
  }
  const Cpdu& cpdu = *decoded;
  const Address peer = indication.source;
  trace_received(now, indication, type_of(cpdu));
  if (const auto* request = std::get_if<PhysicalLinkRequest>(&cpdu)) {
    on_link_request(now, peer, request->type);
  } else if (std::holds_alternative<PhysicalLinkAccepted>(cpdu)) {
    on_link_accepted(now, peer);
  } else if (const auto* rejected = std::get_if<PhysicalLinkRejected>(&cpdu)) {
    on_link_rejected(now, peer, rejected->reason);
  } else if (const auto* broken = std::get_if<PhysicalLinkBreak>(&cpdu)) {
    on_link_break(now, peer, broken->reason);
  } else {
    on_link_break_confirm(now, peer);
  }
}

// --- Making (B.3.2.1) ----------------------------------------------------------------------------

// A REQUEST on a link that we hold is either a repetition (ACCEPTED did not arrive, or crossed with
// it) or a new call by a peer that lost the link. Senders send REQUEST before ARQ data, so a peer
// that has shown knowledge of this link does not repeat. It calls again with fresh ARQ state, and
// with our old state its first frames would count as duplicates. A REQUEST for another type of link
// is a new call too. We keep the same order when both stations call: our REQUEST leaves before
// theirs is answered.
void ChannelAccess::on_link_request(Instant now, Address peer, LinkType type) {
  if (silent_) return;
  Link* link = find(peer);
  const bool calling = link != nullptr && link->info.state == LinkState::calling;
  if (calling && link->leaving) {
    link->crossing = type;
  } else if (link == nullptr || calling) {
    accept(now, peer, type);
  } else if (link->info.state == LinkState::breaking) {
    on_request_while_breaking(now, *link, type);
  } else if (link->peer_made_it || link->info.type != type) {
    const auto reason = link->info.type == type ? std::nullopt : refusal_of_peer(now, peer, type);
    if (reason) return reject(now, peer, *reason);  // the present link stays
    end(now, *link, LinkEnd::called_anew);
    accept(now, peer, type);
  } else {
    accept_again(now, *link);
  }
}

// The peer dropped the link and its BREAK CONFIRM got lost. If the link was broken to make the last
// place for another node, the peer is refused for now, because a peer that calls again at once
// would keep that node waiting for ever.
void ChannelAccess::on_request_while_breaking(Instant now, Link& link, LinkType type) {
  const Address peer = link.info.peer;
  const bool made_way = link.break_reason == BreakReason::higher_layer_request &&
                        type == LinkType::nonexclusive && link.info.type == type;
  end(now, link, LinkEnd::by_us);
  const bool last_place = census_without(peer).nonexclusive + 1 >= config_.nonexclusive_links_max;
  if (made_way && last_place) return reject(now, peer, RejectReason::higher_priority_pending);
  on_link_request(now, peer, type);  // our own call may have followed the BREAK
}

void ChannelAccess::accept(Instant now, Address peer, LinkType type) {
  Link* link = find(peer);  // exists if both stations call at the same time; it is treated as made
  const bool we_want_exclusive = link != nullptr && link->info.type == LinkType::exclusive;
  if (we_want_exclusive && type == LinkType::nonexclusive) {
    // Our call for an Exclusive link is pending (B.3.2(4)), and the peer will accept it.
    return reject(now, peer, RejectReason::supporting_exclusive_link);
  }
  const auto reason = link == nullptr ? refusal_of_peer(now, peer, type)
                                      : refusal_after_displacing(now, config_.address, peer, type);
  if (reason) return reject(now, peer, *reason);
  if (link == nullptr) link = &add_link(peer, type, false);
  link->info.we_called = link->info.we_called && link->info.type == type;
  link->info.type = type;
  if (we_want_exclusive) break_nonexclusive_links(now);
  make(now, *link, LinkState::made_wait);
  send_accepted(now, *link);
}

// B.3.2.1(15). The connection is announced again, too. That changes nothing below unless the peer
// has already used it, which means that it restarted during the call.
void ChannelAccess::accept_again(Instant now, Link& link) {
  const Address peer = link.info.peer;
  link.by_cas_1 = true;
  actions_.push(MakeConnection{peer});
  if (link.info.state == LinkState::made_wait) {
    send_accepted(now, link);
  } else {
    send_answer(now, peer, PhysicalLinkAccepted{});
  }
}

void ChannelAccess::reject(Instant now, Address peer, RejectReason reason) {
  counters_.add(Counter::links_rejected);
  send_answer(now, peer, PhysicalLinkRejected{reason});
}

// ARQ data waits until ACCEPTED has left, so that it goes in a later transmission. In the same
// transmission the peer would receive it before it has acted on ACCEPTED.
void ChannelAccess::send_accepted(Instant now, Link& link) {
  link.leaving = send_answer(now, link.info.peer, PhysicalLinkAccepted{});
  link.timers.set(LinkTimer::leaving, now + config_.control_wait_max);
}

// If a repeated REQUEST is still waiting to leave, the call goes on. Once the link is made, none of
// our REQUESTs may reach the peer, because it would have to treat it as a new call. An ACCEPTED
// that comes before our first REQUEST has left can only be for an earlier call, whose link the peer
// would keep beside ours.
void ChannelAccess::on_link_accepted(Instant now, Address peer) {
  Link* link = find(peer);
  if (link == nullptr) return;
  if (link->info.state == LinkState::made_wait && link->info.we_called) {
    change_state(now, *link, LinkState::made);  // both stations called, and both calls are accepted
    return;
  }
  if (link->info.state != LinkState::calling) return;
  if (link->leaving && link->transmissions == 1) return;
  link->accepted = true;
  if (!link->leaving) on_left(now, *link);
}

void ChannelAccess::on_link_rejected(Instant now, Address peer, RejectReason reason) {
  Link* link = find(peer);
  if (link == nullptr || link->info.state != LinkState::calling) return;
  if (link->crossing) return;  // the peer prefers its own call
  change_state(now, *link, LinkState::idle);
  const LinkType type = link->info.type;
  links_.erase(peer);
  counters_.add(Counter::links_rejected);
  actions_.push(LinkRejected{peer, reason, type});
}

void ChannelAccess::make(Instant now, Link& link, LinkState next) {
  change_state(now, link, next);
  link.connected = true;
  link.peer_made_it = false;
  counters_.add(Counter::links_made);
  actions_.push(MakeConnection{link.info.peer, !link.by_cas_1});
  actions_.push(LinkMade{link.info.peer, link.info.we_called, link.info.type});
}

void ChannelAccess::on_peer_made_it(Instant now, Address peer) {
  Link* link = find(peer);
  if (link == nullptr || !is_made(link->info.state)) return;
  link->peer_made_it = true;
  if (!link->accepted_at) link->accepted_at = now;
  remember_heard(*link);
  if (link->info.state == LinkState::made_wait) change_state(now, *link, LinkState::made);
}

// --- Breaking (B.3.2.2) --------------------------------------------------------------------------

void ChannelAccess::start_breaking(Instant now, Link& link, BreakReason reason) {
  if (!link.by_cas_1) return end(now, link, LinkEnd::by_us);  // B.3(3.5): without C_PDUs
  change_state(now, link, LinkState::breaking);
  link.transmissions = 0;
  link.break_reason = reason;
  actions_.push(LinkClosing{link.info.peer, link.info.type});
  send_and_wait(now, link);
}

// Answers even if there is no link, because the peer waits for the answer. While we call, the BREAK
// refers to an older link, and the call goes on.
void ChannelAccess::on_link_break(Instant now, Address peer, BreakReason reason) {
  if (!silent_) send_answer(now, peer, PhysicalLinkBreakConfirm{});
  Link* link = find(peer);
  if (link == nullptr) return;
  if (link->info.state == LinkState::calling) return link->crossing.reset();
  const bool crossing = link->info.state == LinkState::breaking;
  end(now, *link, crossing ? LinkEnd::by_us : LinkEnd::by_peer, reason);
}

void ChannelAccess::on_link_break_confirm(Instant now, Address peer) {
  Link* link = find(peer);
  if (link == nullptr || link->info.state != LinkState::breaking) return;
  end(now, *link, LinkEnd::by_us);
}

void ChannelAccess::end(Instant now, Link& link, LinkEnd how, BreakReason reason) {
  const Address peer = link.info.peer;
  const LinkType type = link.info.type;
  const bool connected = link.connected;
  const bool call_again = link.exclusive_afterwards;
  if (link.by_cas_1) warned_.erase(peer);
  change_state(now, link, LinkState::idle);
  links_.erase(peer);
  if (connected) actions_.push(TerminateConnection{peer});
  const bool orderly = how == LinkEnd::by_us || how == LinkEnd::by_peer;
  counters_.add(orderly ? Counter::links_broken : Counter::links_lost);
  actions_.push(LinkBroken{peer, how, type, reason});
  if (call_again) call(now, peer, LinkType::exclusive);
}

void ChannelAccess::break_nonexclusive_links(Instant now) {
  std::vector<Address> nonexclusive;
  for (const auto& [peer, link] : links_) {
    const bool breaks = link.info.state == LinkState::breaking;
    if (link.info.type == LinkType::nonexclusive && !breaks) nonexclusive.push_back(peer);
  }
  for (const Address peer : nonexclusive) {
    start_breaking(now, *find(peer), BreakReason::higher_priority_pending);
  }
}

// --- Places for calls (B.3.2(3), (4)) ------------------------------------------------------------

// STANDARD: B.3.2(3),(4) do not cover callers that never use their link. REQUESTs from unassigned
// addresses would block all others for T_first, or with a little data for any time. Such a link
// makes way without a message: if its peer is real after all, its data draws a WARNING and it calls
// again. No link makes way unless the call then succeeds.
std::optional<RejectReason> ChannelAccess::refusal_after_displacing(Instant now, Address caller,
                                                                    Address peer, LinkType type) {
  LinkCensus census = census_without(peer);
  std::vector<Address> gone;
  // Callers that displace each other in turn gain no more than another T_call.
  const bool long_blocked = blocked_.is_blocked_for(now, caller, 2 * config_.answer_wait());
  auto nonexclusive = displaceable(now, peer, LinkType::nonexclusive, long_blocked);
  auto exclusive = displaceable(now, peer, LinkType::exclusive, long_blocked);
  for (auto reason = refusal(census, type); reason; reason = refusal(census, type)) {
    if (*reason == RejectReason::broadcast_only_node) return reason;
    const bool full = *reason == RejectReason::unknown;
    auto& left = full ? nonexclusive : exclusive;
    if (left.empty()) {
      if (!full) note_blocked(now, caller);
      return reason;
    }
    gone.push_back(left.front());
    left.pop_front();
    --(full ? census.nonexclusive : census.exclusive_made);
  }
  for (const Address victim : gone) end(now, *find(victim), LinkEnd::displaced);
  blocked_.forget(caller);
  return std::nullopt;
}

std::optional<RejectReason> ChannelAccess::refusal_of_peer(Instant now, Address peer,
                                                           LinkType type) {
  return known_.contains(peer) ? refusal_after_displacing(now, peer, peer, type)
                               : refusal(census_without(peer), type);
}

void ChannelAccess::note_blocked(Instant now, Address caller) {
  const bool unused = std::any_of(links_.begin(), links_.end(), [](const auto& entry) {
    const Link& link = entry.second;
    return link.info.type == LinkType::exclusive && !link.info.we_called && !link.kept;
  });
  if (!unused) return blocked_.clear();
  blocked_.on_refused(now, caller);
}

/// Returns the displaceable links except `but`, the first to go first: unknown peers before known
/// ones, then the oldest.
std::deque<Address> ChannelAccess::displaceable(Instant now, Address but, LinkType type,
                                                bool long_blocked) const {
  std::vector<const Link*> found;
  for (const auto& [peer, link] : links_) {
    if (link.info.type != type || link.info.we_called || peer == but) continue;
    const bool had_its_time = link.accepted_at && now - *link.accepted_at >= config_.answer_wait();
    const bool unheard = link.info.state == LinkState::made_wait && !link.heard;
    const bool free = type == LinkType::exclusive
                          ? !link.kept && (had_its_time || long_blocked)
                          : unheard && (had_its_time || !known_.contains(peer));
    if (free) found.push_back(&link);
  }
  std::stable_sort(found.begin(), found.end(), [this](const Link* a, const Link* b) {
    const bool known = known_.contains(a->info.peer);
    if (known != known_.contains(b->info.peer)) return !known;
    return a->info.since < b->info.since;
  });
  std::deque<Address> peers;
  for (const Link* link : found) peers.push_back(link->info.peer);
  return peers;
}

void ChannelAccess::remember_heard(Link& link) {
  if (std::exchange(link.heard, true)) return;
  known_.add(link.info.peer);
}

void ChannelAccess::keep_link(Address peer) {
  Link* link = find(peer);
  if (link == nullptr || link->info.type != LinkType::exclusive) return;
  link->kept = true;
  blocked_.clear();
}

// --- Broadcast sessions and radio silence --------------------------------------------------------

// No handshake starts or ends the session. The peers of our links are told why the links end
// (A.3.2.3(1), B.3.1.5).
void ChannelAccess::set_broadcast(Instant now, bool on) {
  actions_.on_input(now);
  broadcast_ = on || config_.broadcast_only;
  if (!broadcast_) return;
  give_up_calls(now);
  std::vector<Address> leaving;
  for (const auto& [peer, link] : links_) {
    if (link.info.state != LinkState::breaking) leaving.push_back(peer);
  }
  for (const Address peer : leaving) {
    start_breaking(now, *find(peer), BreakReason::switching_to_broadcast);
  }
}

// A station in EMCON can neither ask nor answer. It gives up calls, and links whose BREAK still
// waits for an answer. A made link stays until its peer is heard to end it.
void ChannelAccess::set_silent(Instant now, bool on) {
  actions_.on_input(now);
  silent_ = on;
  if (!silent_) return;
  drop_waiting_answers(now);
  give_up_calls(now);
  std::vector<Address> leaving;
  for (const auto& [peer, link] : links_) {
    if (link.info.state == LinkState::breaking) leaving.push_back(peer);
  }
  for (const Address peer : leaving) {
    if (Link* link = find(peer)) end(now, *link, LinkEnd::by_us);
  }
}

// Also gives up calls that were to follow a BREAK.
void ChannelAccess::give_up_calls(Instant now) {
  std::vector<Address> calling;
  for (auto& [peer, link] : links_) {
    if (link.info.state == LinkState::calling) calling.push_back(peer);
    if (std::exchange(link.exclusive_afterwards, false)) {
      actions_.push(LinkRejected{peer, std::nullopt, LinkType::exclusive});
    }
  }
  for (const Address peer : calling) {
    Link& link = *find(peer);
    const LinkType type = link.info.type;
    change_state(now, link, LinkState::idle);
    links_.erase(peer);
    actions_.push(LinkRejected{peer, std::nullopt, type});
  }
}

// --- Timers (B.3.2.1(2)-(4), (22)-(24), B.3.2.2(2), (3), (6), (7)) -------------------------------

void ChannelAccess::on_deadline(Instant now) {
  actions_.on_input(now);
  std::vector<Address> due;
  for (const auto& [peer, link] : links_) {
    const auto at = link.timers.next();
    if (at && *at <= now) due.push_back(peer);
  }
  for (const Address peer : due) {
    // A timer may end the link, so it is looked up each time.
    for (Link* link = find(peer); link != nullptr; link = find(peer)) {
      const auto timer = link->timers.pop_due(now);
      if (!timer) break;
      on_link_deadline(now, *link, *timer);
    }
  }
  hand_down_answer(now);
}

void ChannelAccess::on_link_deadline(Instant now, Link& link, LinkTimer timer) {
  switch (timer) {
    case LinkTimer::leaving:
      on_never_left(now, link);
      return;
    case LinkTimer::answer:
      on_no_answer(now, link);
      return;
    case LinkTimer::first_data:
      S5066_ASSERT(link.info.state == LinkState::made_wait);
      end(now, link, LinkEnd::no_first_data);
      return;
    case LinkTimer::count:
      break;
  }
  S5066_ASSERT(false);
}

void ChannelAccess::on_no_answer(Instant now, Link& link) {
  const Address peer = link.info.peer;
  if (link.info.state == LinkState::breaking) {
    if (link.transmissions < config_.breaks_max) return send_and_wait(now, link);
    return end(now, link, LinkEnd::by_us);
  }
  S5066_ASSERT(link.info.state == LinkState::calling);
  if (link.transmissions < config_.requests_max) return send_and_wait(now, link);
  const LinkType type = link.info.type;
  change_state(now, link, LinkState::idle);
  links_.erase(peer);
  counters_.add(Counter::links_rejected);
  actions_.push(LinkRejected{peer, std::nullopt, type});
}

std::optional<Instant> ChannelAccess::next_deadline() const {
  std::optional<Instant> next;
  for (const auto& [peer, link] : links_) next = earlier(next, link.timers.next());
  return actions_.deadline(earlier(next, answers_.next_at()));
}

// --- Control C_PDUs on their way -----------------------------------------------------------------

// Sends REQUEST or BREAK, as the state requires. The wait for the answer begins when it has left.
void ChannelAccess::send_and_wait(Instant now, Link& link) {
  ++link.transmissions;
  // The peer may hear only one of the two modes, so they alternate. One that has a link with us is
  // told its end in a mode that has worked.
  const bool calling = link.info.state == LinkState::calling;
  link.robust = calling && (link.transmissions % 2 == 0 || is_called_robustly(now, link.info.peer));
  link.leaving = link.info.state == LinkState::breaking
                     ? send_control(now, link, PhysicalLinkBreak{link.break_reason})
                     : send_control(now, link, PhysicalLinkRequest{link.info.type});
  link.timers.set(LinkTimer::leaving, now + config_.control_wait_max);
}

bool ChannelAccess::is_called_robustly(Instant now, Address peer) const {
  const auto until = robust_until_.find(peer);
  return until != robust_until_.end() && now < until->second;
}

// Call when the peer has answered a REQUEST. If it answered only in the most robust mode, the next
// call begins in it, so that the first REQUEST is not wasted.
void ChannelAccess::remember_mode(Instant now, const Link& link) {
  std::erase_if(robust_until_, [now](const auto& entry) { return entry.second <= now; });
  const Address peer = link.info.peer;
  if (!link.robust) {
    robust_until_.erase(peer);
  } else if (!is_called_robustly(now, peer) && robust_until_.size() < kKnownPeersMax) {
    robust_until_[peer] = now + config_.robust_memory;
  }
}

CpduId ChannelAccess::send_control(Instant now, const Link& link, const Cpdu& cpdu) {
  const CpduId id{next_control_id_++};
  hand_down_control(now, id, link.info.peer, cpdu,
                    link.robust ? dts::ControlMode::robust : dts::ControlMode::usual);
  return id;
}

void ChannelAccess::hand_down_control(Instant now, CpduId id, Address peer, const Cpdu& cpdu,
                                      dts::ControlMode mode) {
  trace_.on_trace({now, TraceKind::cpdu_sent, peer, type_of(cpdu), 1, {}});
  dts::CpduRequest request;
  request.id = id;
  request.service = Service::expedited_nonarq;
  request.destination = peer;
  request.cpdu = encode(cpdu);
  request.in_order = false;  // a C_PDU in order would wait at the peer for an earlier damaged one
  request.time_to_die = now + config_.control_wait_max;  // we give it up at that time as well
  request.control_mode = mode;
  actions_.push(std::move(request));
}

void ChannelAccess::on_control_left(Instant now, CpduId id) {
  for (auto& [peer, link] : links_) {
    if (link.leaving == id) {
      on_left(now, link);
      break;
    }
  }
  if (answers_.on_gone(now, id)) hand_down_answer(now);
}

// STANDARD: T_first of B.3.2.1(16) runs until the first C_PDU. Under losses that can take longer
// than any fixed time while its segments arrive. A peer that sends segments is still on the air, so
// each of them restarts the timer.
void ChannelAccess::on_connection_heard(Instant now, Address peer) {
  actions_.on_input(now);
  Link* link = find(peer);
  if (link == nullptr || !link->connected) return;
  remember_heard(*link);
  if (link->info.state != LinkState::made_wait || link->leaving) return;
  link->timers.set(LinkTimer::first_data, now + config_.first_data_wait());
}

// Handled as if it had been lost on the air: the timer repeats it. An ACCEPTED that came cannot be
// for it.
void ChannelAccess::on_never_left(Instant now, Link& link) {
  answers_.forget(*link.leaving);
  link.accepted = false;
  on_left(now, link);
}

// Call when the REQUEST, ACCEPTED or BREAK has left, or counts as lost.
void ChannelAccess::on_left(Instant now, Link& link) {
  link.leaving.reset();
  link.timers.clear(LinkTimer::leaving);
  if (link.info.state == LinkState::made_wait) {
    link.timers.set(LinkTimer::first_data, now + config_.first_data_wait());
    if (!link.accepted_at) link.accepted_at = now;
    for (auto& cpdu : link.held) actions_.push(std::move(cpdu));
    link.held.clear();
  } else if (link.info.state == LinkState::calling && link.crossing) {
    const Address peer = link.info.peer;
    const bool accepted = link.accepted;
    const LinkType crossing = *std::exchange(link.crossing, std::nullopt);
    // The call may be refused.
    link.timers.set(LinkTimer::answer, now + jittered_answer_wait(link));
    accept(now, peer, crossing);
    if (accepted) on_link_accepted(now, peer);
  } else if (link.info.state == LinkState::calling && link.accepted) {
    if (link.info.type == LinkType::exclusive) break_nonexclusive_links(now);
    remember_mode(now, link);
    make(now, link, LinkState::made);
  } else {
    link.timers.set(LinkTimer::answer, now + jittered_answer_wait(link));
  }
}

// The REQUESTs of two nodes that call each other at the same time collide, and must not collide
// again. The node with the larger address therefore waits until the other has had its time. Other
// nodes may call as well, so the wait has a random part, which grows each time (B.3.2.1(4), (22)).
// If the next REQUEST goes in a more robust mode, this one waits only until the answer to it should
// have come, because the peer has probably not heard it.
Duration ChannelAccess::jittered_answer_wait(const Link& link) {
  const bool calling = link.info.state == LinkState::calling;
  const bool falls_back =
      calling && !link.robust && config_.robust_exchange_time > config_.exchange_time;
  const Duration exchange = link.robust
                                ? std::max(config_.exchange_time, config_.robust_exchange_time)
                                : config_.exchange_time;
  const Duration wait = falls_back ? exchange * 3 / 4 : exchange * config_.answer_wait_exchanges;
  if (link.transmissions >= (calling ? config_.requests_max : config_.breaks_max)) {
    return wait;  // the last transmission; nothing follows
  }
  const Duration first_span = falls_back ? exchange / 2 : exchange;
  const Duration span = first_span * (1 << std::min(link.transmissions - 1, 4u));
  const Duration others_first =
      calling && link.info.peer < config_.address ? span : Duration::zero();
  return wait + others_first +
         Duration(static_cast<Duration::rep>(static_cast<double>(span.count()) * rng_.uniform()));
}

// --- Answers -------------------------------------------------------------------------------------

CpduId ChannelAccess::send_answer(Instant now, Address peer, const Cpdu& cpdu) {
  if (const auto same = answers_.find(peer, cpdu)) return *same;
  const CpduId id{next_control_id_++};
  answers_.add({peer, cpdu, id});
  hand_down_answer(now);
  if (answers_.make_room(known_)) counters_.add(Counter::link_answers_dropped);
  return id;
}

void ChannelAccess::hand_down_answer(Instant now) {
  if (const auto answer = answers_.take(now, known_, has_own_business())) {
    hand_down_control(now, answer->id, answer->peer, answer->cpdu, dts::ControlMode::as_heard);
  }
}

bool ChannelAccess::has_own_business() const {
  const auto calls = [](const auto& link) { return link.second.info.state == LinkState::calling; };
  const auto is_arq = [](const auto& outstanding) { return outstanding.second.arq; };
  return std::any_of(links_.begin(), links_.end(), calls) ||
         std::any_of(outstanding_.begin(), outstanding_.end(), is_arq);
}

void ChannelAccess::drop_waiting_answers(Instant now) {
  for (const Answer& answer : answers_.drop_all()) {
    Link* link = find(answer.peer);
    if (link != nullptr && link->leaving == answer.id) on_never_left(now, *link);
  }
}

// --- Common parts --------------------------------------------------------------------------------

void ChannelAccess::change_state(Instant now, Link& link, LinkState next) {
  S5066_ASSERT(is_legal(link.info.state, next));
  trace_.on_trace({now,
                   TraceKind::link_state,
                   link.info.peer,
                   static_cast<std::int64_t>(link.info.state),
                   static_cast<std::int64_t>(next),
                   {}});
  link.info.state = next;
  link.info.since = now;
  link.accepted = false;
  link.crossing.reset();
  if (link.leaving) answers_.forget(*std::exchange(link.leaving, std::nullopt));
  link.timers = {};
  const bool usable = next == LinkState::made;
  for (auto& cpdu : std::exchange(link.held, {})) {
    if (usable) {
      actions_.push(std::move(cpdu));
    } else {
      on_cpdu_rejected(now, {cpdu.id, CpduFailure::not_connected});
    }
  }
}

LinkCensus ChannelAccess::census_without(Address peer) const {
  LinkCensus census{.nonexclusive_max = config_.nonexclusive_links_max,
                    .broadcast_only = broadcast_};
  for (const auto& [other, link] : links_) {
    if (other == peer) continue;
    if (link.info.type == LinkType::nonexclusive) {
      ++census.nonexclusive;
      if (link.exclusive_afterwards) ++census.exclusive_pending;
    } else if (link.info.state == LinkState::calling) {
      ++census.exclusive_pending;
    } else {
      ++census.exclusive_made;
    }
  }
  return census;
}

ChannelAccess::Link& ChannelAccess::add_link(Address peer, LinkType type, bool we_called) {
  Link& link = links_[peer];
  link.info.peer = peer;
  link.info.type = type;
  link.info.we_called = we_called;
  return link;
}

ChannelAccess::Link* ChannelAccess::find(Address peer) {
  const auto it = links_.find(peer);
  return it == links_.end() ? nullptr : &it->second;
}

const ChannelAccess::Link* ChannelAccess::find(Address peer) const {
  const auto it = links_.find(peer);
  return it == links_.end() ? nullptr : &it->second;
}

std::optional<Action> ChannelAccess::poll_action() {
  return actions_.poll();
}

LinkState ChannelAccess::state(Address peer) const {
  const Link* link = find(peer);
  return link == nullptr ? LinkState::idle : link->info.state;
}

std::optional<LinkInfo> ChannelAccess::link(Address peer) const {
  const Link* link = find(peer);
  return link == nullptr ? std::nullopt : std::optional(link->info);
}

std::vector<LinkInfo> ChannelAccess::links() const {
  std::vector<LinkInfo> all;
  for (const auto& [peer, link] : links_) all.push_back(link.info);
  return all;
}

}  // namespace s5066::cas
