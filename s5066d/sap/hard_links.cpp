// SPDX-License-Identifier: Apache-2.0
#include "s5066d/sap/hard_links.h"

#include <algorithm>
#include <utility>

#include "s5066d/base/assert.h"
#include "s5066d/base/deadline_table.h"

namespace s5066::sap {
namespace {

using EndReason = sis::HardLinkEndReason;
using RejectReason = sis::HardLinkRejectReason;
using State = HardLinkState;
using Physical = ExclusiveLinks::State;

/// Calls for one request. A link that the peer was still leaving may break under the first one.
constexpr unsigned kCallsMax = 2;
/// Wait before the next call if an Exclusive link that may make way took the place.
constexpr Duration kCallAgainAfter = std::chrono::seconds(5);
constexpr std::uint8_t kUndefinedType = 3;
constexpr std::uint8_t kHighestPriority = 15;

// STANDARD: the numbers of S_PDU type 6 and of S_HARD_LINK_TERMINATED are not mapped to each other.
EndReason heard_for(HardLinkEnd reason) {
  switch (reason) {
    case HardLinkEnd::higher_priority_requested:
      return EndReason::higher_priority_requested;
    case HardLinkEnd::destination_sap_unbound:
      return EndReason::destination_sap_unbound;
    default:
      return EndReason::by_remote;
  }
}

// STANDARD: the reasons of C_PDUs and of S_HARD_LINK_REJECTED are not mapped to each other either.
RejectReason reject_for(std::optional<cas::RejectReason> reason) {
  if (reason == cas::RejectReason::higher_priority_pending) {
    return RejectReason::higher_priority_existing;
  }
  if (reason == cas::RejectReason::supporting_exclusive_link) return RejectReason::remote_busy;
  return RejectReason::remote_not_responding;
}

bool is_assigned(std::uint8_t reason) {
  return reason >= 1 && reason <= 4;
}

}  // namespace

HardLinks::HardLinks(const Options& options, Outbox& outbox, Counters& counters, TraceSink& trace)
    : options_(options),
      outbox_(outbox),
      counters_(counters),
      sessions_(trace),
      exclusive_(options.config.release_wait, outbox) {}

void HardLinks::allow(Instant now, bool allowed) {
  allowed_ = allowed;
  if (allowed) return;
  for (Session& session : sessions_) {
    if (session.is(State::closed)) continue;
    if (session.is_live() && session.we_called && !session.is(State::active)) {
      tell_rejected(session, RejectReason::remote_not_responding);
    } else {
      tell_terminated(session, EndReason::physical_link_broken);
    }
    close(now, session, Breaks::we_do);
  }
  advance(now);
}

void HardLinks::set_silent(Instant now, bool silent) {
  silent_ = silent;
  advance(now);
}

// --- From clients --------------------------------------------------------------------------------

bool HardLinks::request_establish(Instant now, const Party& owner, const sis::HardLink& link) {
  Session session{.we_called = true,
                  .claim = {owner.rank, link.priority, link.remote, link.type},
                  .local_sap = owner.sap,
                  .remote_sap = link.remote_sap,
                  .client = owner.client,
                  .link = link};
  const bool legal = static_cast<std::uint8_t>(link.type) < kUndefinedType && !link.remote.group &&
                     link.remote != options_.own;
  if (!legal || !allowed_ || silent_) {
    tell_rejected(session, RejectReason::remote_not_responding);
    return legal;
  }
  if (sessions_.already_there(session.claim)) {  // A.3.2.2.2(5)-(7)
    tell_rejected(session, RejectReason::type_0_exists);
    return true;
  }
  if (sessions_.blocker(session.claim) != nullptr) {  // A.3.2.2.2(2)-(4)
    tell_rejected(session, RejectReason::higher_priority_existing);
    return true;
  }
  for (Session& other : sessions_) give_way(now, other);  // A.3.2.2.2(8)
  sessions_.add(now, State::waiting, std::move(session));
  advance(now);
  return true;
}

// Always ends the link (A.2.1.19(4)), also before the peer has answered.
bool HardLinks::request_terminate(Instant now, ClientId client, Address remote) {
  Session* session = sessions_.find_of(client, remote);
  if (session == nullptr || session->is(State::indicated)) return false;
  if (session->is(State::terminating)) return true;
  if (session->is(State::active)) {
    terminate(now, *session, HardLinkEnd::client_request, std::nullopt);
  } else if (!session->we_called) {
    refuse(now, *session, HardLinkRefusal::remote_busy);
  } else {
    // STANDARD: ESTABLISH must be answered, and no reason fits a request that was withdrawn.
    withdraw(now, *session, HardLinkEnd::client_request, RejectReason::remote_not_responding);
  }
  advance(now);
  return true;
}

bool HardLinks::request_accept(Instant now, ClientId client, const sis::HardLink& link) {
  Session* session = sessions_.find_of(client, link.remote);
  if (session == nullptr || !session->is(State::indicated) || session->link != link) return false;
  sessions_.change_state(now, *session, State::waiting);
  for (Session& other : sessions_) {
    if (&other != session) give_way(now, other);  // the active one, if any
  }
  advance(now);
  return true;
}

// STANDARD: the client's reasons have no numbers (A.2.1.25); those of S_PDU type 5 are passed on.
bool HardLinks::request_reject(Instant now, ClientId client, const sis::HardLinkReject& reject) {
  Session* session = sessions_.find_of(client, reject.link.remote);
  if (session == nullptr || !session->is(State::indicated) || session->link != reject.link) {
    return false;
  }
  refuse(now, *session,
         is_assigned(reject.reason) ? static_cast<HardLinkRefusal>(reject.reason)
                                    : HardLinkRefusal::remote_busy);
  advance(now);
  return true;
}

void HardLinks::on_client_gone(Instant now, ClientId client) {
  for (Session& session : sessions_) {
    if (session.client != client) continue;
    session.client.reset();
    if (session.is(State::active)) {
      terminate(
          now, session,
          session.we_called ? HardLinkEnd::client_request : HardLinkEnd::destination_sap_unbound,
          std::nullopt);
    } else if (session.is_live() && session.we_called) {
      withdraw(now, session, HardLinkEnd::client_request, RejectReason::remote_not_responding);
    } else if (session.is_live()) {
      refuse(now, session, HardLinkRefusal::destination_sap_not_bound);
    }
  }
  advance(now);
}

// --- From the channel access sublayer ------------------------------------------------------------

void HardLinks::on_link_made(Instant now, const cas::LinkMade& made) {
  if (made.type != cas::LinkType::exclusive) return;
  exclusive_.on_made(made.peer, made.we_called);
  if (Session* session = sessions_.find(made.peer, State::linking, true)) ask_peer(now, *session);
  advance(now);
}

bool HardLinks::on_link_rejected(Instant now, const cas::LinkRejected& rejected) {
  if (rejected.type == cas::LinkType::nonexclusive) return false;
  if (!exclusive_.on_call_failed(rejected.peer)) return true;
  if (Session* session = sessions_.find(rejected.peer, State::linking, true)) {
    fail(now, *session, reject_for(rejected.reason));
  }
  advance(now);
  return true;
}

// The channel access sublayer has no place for one more Exclusive link. A link that no hard link
// has needed makes way after a while.
bool HardLinks::on_link_refused(Instant now, Address peer) {
  if (!exclusive_.on_call_refused(peer)) return false;
  Session* session = sessions_.find(peer, State::linking, true);
  if (session != nullptr && exclusive_.any_unclaimed()) {
    sessions_.change_state(now, *session, State::waiting);
    session->deadline = now + kCallAgainAfter;
  } else if (session != nullptr) {
    fail(now, *session, reject_for(cas::RejectReason::supporting_exclusive_link));
  }
  advance(now);
  return true;
}

void HardLinks::on_link_closing(Instant now, const cas::LinkClosing& closing) {
  exclusive_.on_closing(closing);
  if (!governs(closing.peer)) {
    for (Session& session : sessions_) {
      const bool asked = session.is(State::indicated) || session.is(State::waiting);
      if (session.peer() != closing.peer || session.we_called || !asked) continue;
      on_session_broken(now, session, cas::LinkEnd::by_us);
    }
  }
  advance(now);
}

void HardLinks::on_link_broken(Instant now, const cas::LinkBroken& broken) {
  const bool asked_over_it = sessions_.find(broken.peer, State::indicated, false) != nullptr ||
                             sessions_.find(broken.peer, State::waiting, false) != nullptr;
  const bool was_exclusive = exclusive_.on_broken(broken);
  if (!was_exclusive && (!asked_over_it || governs(broken.peer))) return;
  for (Session& session : sessions_) {
    if (session.peer() == broken.peer) on_session_broken(now, session, broken.end);
  }
  advance(now);
}

// The session ends with the next deadline, because the report that the physical link broke usually
// comes next.
void HardLinks::on_spdu_rejected(const cas::SpduRejected& rejected) {
  for (Session& session : sessions_) {
    // There was no room for a probe; the next one will do.
    const bool can_wait = session.is(State::active) && session.we_called &&
                          rejected.why == cas::CpduFailure::queue_full;
    if (session.sent == rejected.id && !can_wait) session.unsent = true;
  }
}

// Handles the break of a session's physical link: A.3.2.2.3(7), (8).
void HardLinks::on_session_broken(Instant now, Session& session, cas::LinkEnd how) {
  switch (session.state) {
    case State::linking:
      sessions_.change_state(now, session, State::waiting);
      return;
    case State::requesting:
      // The peer was leaving an earlier hard link, or had forgotten this one, so it is still on the
      // air.
      if (how != cas::LinkEnd::connection_lost && session.calls < kCallsMax) {
        sessions_.change_state(now, session, State::waiting);
      } else {
        fail(now, session, RejectReason::remote_not_responding);
      }
      return;
    case State::waiting:
      if (session.we_called) return;  // the link is still to be made
      [[fallthrough]];
    case State::indicated:
    case State::active:
    case State::terminating:
      tell_terminated(session, EndReason::physical_link_broken);
      close(now, session, Breaks::peer_does);
      return;
    case State::closed:
      return;
  }
}

void HardLinks::on_traffic(Instant now, Address peer) {
  for (Session& session : sessions_) {
    if (session.peer() == peer && session.is(State::active) && session.deadline) {
      session.deadline = probe_at(now, session);
    }
  }
}

// --- From the peer -------------------------------------------------------------------------------

void HardLinks::on_spdu(Instant now, Address peer, const HardLinkRequest& request,
                        const std::optional<Party>& called, bool by_soft_link) {
  const auto type = static_cast<sis::HardLinkType>(request.link_type);
  const bool full = type == sis::HardLinkType::full_bandwidth;
  const Physical link = exclusive_.state(peer);
  // If the link that carried the request is being broken, the peer will see it end.
  if (link != Physical::made && (link != Physical::none || !by_soft_link)) return;
  if (!allowed_ || request.link_type >= kUndefinedType) {
    return send(now, peer, HardLinkRefused{HardLinkRefusal::remote_busy});
  }
  if (Session* repeated = find_repeated(peer, request)) {
    // The request is a repetition or a probe. Before the link is active, the answer is still to
    // come.
    if (repeated->is(State::active)) say(now, *repeated, HardLinkConfirm{});
    return;
  }
  if (full && !called) {  // A.3.2.2.2(17), (18)
    return send(now, peer, HardLinkRefused{HardLinkRefusal::destination_sap_not_bound});
  }
  const std::uint8_t rank = full ? called->rank : options_.config.remote_rank;  // A.3.2.2.2(19)
  Session session{.we_called = false,
                  .claim = {rank, request.priority, peer, type},
                  .local_sap = full ? request.remote_sap : SapId{},
                  .remote_sap = request.requesting_sap,
                  .client = full ? std::optional(called->client) : std::nullopt,
                  .link = {type, request.priority, request.requesting_sap, peer}};
  take_request(now, std::move(session));
}

HardLinks::Session* HardLinks::find_repeated(Address peer, const HardLinkRequest& request) {
  const auto type = static_cast<sis::HardLinkType>(request.link_type);
  for (Session& session : sessions_) {
    const bool same =
        session.peer() == peer && !session.we_called && session.claim.type == type &&
        session.claim.priority == request.priority &&
        session.remote_sap == request.requesting_sap &&
        (type != sis::HardLinkType::full_bandwidth || session.local_sap == request.remote_sap);
    if (same && session.is_live()) return &session;
  }
  return nullptr;
}

// Compares a new request of a peer with the links that there are.
void HardLinks::take_request(Instant now, Session session) {
  const Address peer = session.peer();
  const bool full = session.claim.type == sis::HardLinkType::full_bandwidth;
  Session* crossing = sessions_.find(peer, State::requesting, true);
  if (crossing != nullptr && wins_crossing(crossing->claim, session.claim, options_.own)) {
    return send(now, peer, HardLinkRefused{HardLinkRefusal::higher_priority_existing});
  }
  if (crossing != nullptr) {  // the peer refuses it for the same reason
    tell_rejected(*crossing, RejectReason::higher_priority_existing);
    close(now, *crossing, Breaks::peer_does);
  }
  if (const Session* existing = sessions_.blocker(session.claim)) {  // A.3.2.2.2(20), (21)
    const bool busy = equal_in_rank_and_priority(session.claim, existing->claim);
    send(now, peer,
         HardLinkRefused{busy ? HardLinkRefusal::remote_busy
                              : HardLinkRefusal::higher_priority_existing});
  } else {
    for (Session& other : sessions_) {
      // The active link stays until the client has accepted.
      if (!full || !other.is(State::active)) give_way(now, other);
    }
    Session& added =
        sessions_.add(now, full ? State::indicated : State::waiting, std::move(session));
    if (full) {  // A.3.2.2.2(23)
      added.begun = true;
      added.deadline = now + options_.config.client_wait;
      outbox_.send(*added.client, sis::HardLinkIndication{1, added.link});
    }
  }
  advance(now);
}

void HardLinks::on_spdu(Instant now, Address peer, const HardLinkConfirm&) {
  if (Session* asked = sessions_.find(peer, State::requesting, true)) {  // A.3.2.2.2(14)
    activate(now, *asked);
    asked->begun = true;
    if (asked->client) outbox_.send(*asked->client, sis::HardLinkEstablished{1, asked->link});
  } else if (Session* called = sessions_.find(peer, State::active, false)) {
    // The peer takes itself for the called side, too.
    terminate(now, *called, HardLinkEnd::client_request, EndReason::by_remote);
  } else if (!sessions_.knows(peer) && exclusive_.state(peer) == Physical::made) {
    // The peer keeps a link that we do not have.
    send(now, peer, HardLinkTerminate{HardLinkEnd::client_request});
  }
  advance(now);
}

void HardLinks::on_spdu(Instant now, Address peer, const HardLinkRefused& refused) {
  if (Session* asked = sessions_.find(peer, State::requesting, true)) {  // A.3.2.2.2(13)
    const auto number = static_cast<std::uint8_t>(refused.reason);
    fail(now, *asked,
         is_assigned(number) ? static_cast<RejectReason>(number) : RejectReason::remote_busy);
  } else if (refused.reason == HardLinkRefusal::remote_busy) {
    // STANDARD: a repeated request is not provided for. A peer that compares our probe with the
    // same link finds them equal and keeps the existing one (A.3.2.2.1(6), A.3.2.2.2(21)).
  } else if (Session* probed = sessions_.find(peer, State::active, true)) {
    tell_terminated(*probed, EndReason::by_remote);
    close(now, *probed, Breaks::we_do);
  }
  advance(now);
}

// Answers even if there is no such link, because the peer waits for the answer (A.3.2.2.3(3)).
void HardLinks::on_spdu(Instant now, Address peer, const HardLinkTerminate& terminate) {
  send(now, peer, HardLinkTerminateConfirm{});
  if (Session* crossing = sessions_.find(peer, State::terminating)) {
    on_terminated(now, *crossing);
  } else {
    for (Session& session : sessions_) {
      const bool peers_own = !session.we_called || session.is(State::active);
      if (session.peer() != peer || !session.is_live() || !peers_own) continue;
      tell_terminated(session, heard_for(terminate.reason));
      close(now, session, Breaks::peer_does);
    }
  }
  advance(now);
}

void HardLinks::on_spdu(Instant now, Address peer, const HardLinkTerminateConfirm&) {
  if (Session* session = sessions_.find(peer, State::terminating)) on_terminated(now, *session);
  advance(now);
}

void HardLinks::on_terminated(Instant now, Session& session) {
  if (session.heard_on_confirm) tell_terminated(session, *session.heard_on_confirm);
  close(now, session, Breaks::we_do);
}

// --- Precedence ----------------------------------------------------------------------------------

/// Ends a link for one of higher precedence.
void HardLinks::give_way(Instant now, Session& session) {
  if (!session.is_live()) return;
  if (session.is(State::active)) {
    terminate(now, session, HardLinkEnd::higher_priority_requested,
              EndReason::higher_priority_requested);
  } else if (session.we_called) {
    withdraw(now, session, HardLinkEnd::higher_priority_requested,
             RejectReason::higher_priority_existing);
  } else {
    tell_terminated(session, EndReason::higher_priority_requested);
    refuse(now, session, HardLinkRefusal::higher_priority_existing);
  }
}

// --- Steps ---------------------------------------------------------------------------------------

/// Runs after every event: ended links leave their physical link, and waiting ones go on, except in
/// EMCON.
void HardLinks::advance(Instant now) {
  for (Session& session : sessions_) {
    const bool would_call = session.is(State::waiting) && session.we_called;
    if (silent_ && would_call) fail(now, session, RejectReason::remote_not_responding);
  }
  const auto is_closed = [](const Session& session) { return session.is(State::closed); };
  for (const Session& session : sessions_) {
    if (is_closed(session) && !sessions_.knows(session.peer())) {
      exclusive_.leave(now, session.peer(), session.breaks == Breaks::we_do);
    }
  }
  sessions_.remove_closed();
  for (const Address peer : exclusive_.peers()) {
    if (sessions_.knows(peer)) {
      exclusive_.keep(peer);
    } else {
      exclusive_.leave(now, peer, false);
    }
  }
  // Only one goes on at a time; a link in its way was told to end before it was added.
  if (sessions_.size() == 1 && sessions_.begin()->is(State::waiting)) {
    proceed(now, *sessions_.begin());
  }
}

void HardLinks::proceed(Instant now, Session& session) {
  const Address peer = session.peer();
  const Physical link = exclusive_.state(peer);
  if (link == Physical::breaking) return;
  if (!session.we_called) {  // A.3.2.2.2(22), (24)
    if (link == Physical::none) exclusive_.adopt(peer);
    activate(now, session);
    say(now, session, HardLinkConfirm{});
  } else if (link == Physical::made && !exclusive_.is_adopted(peer)) {
    ask_peer(now, session);
    // A link is already being called for, for a request that was withdrawn.
  } else if (link == Physical::calling) {
    sessions_.change_state(now, session, State::linking);
  } else if (!session.deadline && exclusive_.has_room()) {  // A.3.2.2.2(9)
    sessions_.change_state(now, session, State::linking);
    exclusive_.call(peer);
  }
}

// Sends the request to the peer: A.3.2.2.2(10) to (12).
void HardLinks::ask_peer(Instant now, Session& session) {
  sessions_.change_state(now, session, State::requesting);
  ++session.calls;
  session.deadline = now + options_.config.response_wait;
  say(now, session, request_of(session));
}

void HardLinks::activate(Instant now, Session& session) {
  S5066_ASSERT(exclusive_.state(session.peer()) == Physical::made);
  sessions_.change_state(now, session, State::active);
  session.deadline = probe_at(now, session);
  counters_.add(Counter::hard_links_established);
}

/// Returns when to probe the peer. Silence may mean that the peer has gone, and nothing else would
/// show it. The called side waits twice as long, so that the caller finds out first.
std::optional<Instant> HardLinks::probe_at(Instant now, const Session& session) const {
  const Duration interval = options_.config.probe_interval;
  if (interval == Duration::zero()) return std::nullopt;
  return now + (session.we_called ? interval : 2 * interval);
}

HardLinkRequest HardLinks::request_of(const Session& session) {
  const bool full = session.claim.type == sis::HardLinkType::full_bandwidth;
  return {static_cast<std::uint8_t>(session.claim.type), session.claim.priority, session.local_sap,
          full ? session.remote_sap : SapId{}};
}

// Sends S_PDU type 6: A.3.2.2.3(2), (4).
void HardLinks::terminate(Instant now, Session& session, HardLinkEnd reason,
                          std::optional<EndReason> heard) {
  sessions_.change_state(now, session, State::terminating);
  session.heard_on_confirm = heard;
  session.deadline = now + options_.config.terminate_wait;
  say(now, session, HardLinkTerminate{reason});
}

/// Ends a request of our own that is not to be pursued.
void HardLinks::withdraw(Instant now, Session& session, HardLinkEnd why, RejectReason reason) {
  if (!session.is(State::requesting)) return fail(now, session, reason);
  tell_rejected(session, reason);
  terminate(now, session, why, std::nullopt);  // the peer may accept it at this moment
}

void HardLinks::fail(Instant now, Session& session, RejectReason reason) {
  tell_rejected(session, reason);
  close(now, session, Breaks::we_do);
}

void HardLinks::refuse(Instant now, Session& session, HardLinkRefusal reason) {
  send(now, session.peer(), HardLinkRefused{reason});
  close(now, session, Breaks::peer_does);
}

void HardLinks::close(Instant now, Session& session, Breaks breaks) {
  sessions_.change_state(now, session, State::closed);
  session.breaks = breaks;
}

// --- Timers --------------------------------------------------------------------------------------

void HardLinks::on_deadline(Instant now) {
  for (Session& session : sessions_) {
    if (session.unsent) on_session_unsent(now, session);
    if (session.deadline && *session.deadline <= now) on_session_deadline(now, session);
  }
  exclusive_.on_deadline(now);
  advance(now);
}

void HardLinks::on_session_deadline(Instant now, Session& session) {
  session.deadline.reset();
  switch (session.state) {
    case State::requesting:  // A.3.2.2.2(15)
      return fail(now, session, RejectReason::remote_not_responding);
    case State::indicated:
      tell_terminated(session, EndReason::remote_not_responding);
      return refuse(now, session, HardLinkRefusal::remote_not_responding);
    case State::terminating:  // A.3.2.2.3(5)
      tell_terminated(session, EndReason::remote_not_responding);
      return close(now, session, Breaks::we_do);
    case State::active:
      session.deadline = probe_at(now, session);
      return say(now, session,
                 session.we_called ? Spdu{request_of(session)} : Spdu{HardLinkConfirm{}});
    case State::waiting:
      return;  // advance() goes on with it
    case State::linking:
    case State::closed:
      break;
  }
  S5066_ASSERT(false);
}

/// Ends a session whose last S_PDU did not go out although the physical link is still there.
/// Without it the two nodes would disagree about the hard link (A.3.2.2.3(7), (8)).
void HardLinks::on_session_unsent(Instant now, Session& session) {
  session.unsent = false;
  if (session.is(State::requesting)) return fail(now, session, RejectReason::remote_not_responding);
  if (!session.is(State::active) && !session.is(State::terminating)) return;
  tell_terminated(session, EndReason::physical_link_broken);
  close(now, session, Breaks::we_do);
}

std::optional<Instant> HardLinks::next_deadline() const {
  std::optional<Instant> next = exclusive_.next_deadline();
  for (const Session& session : sessions_) next = earlier(next, session.deadline);
  return next;
}

// --- For others ----------------------------------------------------------------------------------

bool HardLinks::end_soft_links() const {
  return exclusive_.any_made_by_us() || sessions_.active() != nullptr;
}

std::vector<Address> HardLinks::linked_peers() const {
  std::vector<Address> linked = exclusive_.peers();
  std::erase_if(linked, [this](Address peer) { return exclusive_.state(peer) != Physical::made; });
  return linked;
}

bool HardLinks::is_calling(Address peer) const {
  return exclusive_.state(peer) == Physical::calling;
}

bool HardLinks::carries(Address peer, SapId local, SapId remote) const {
  const Session* session = sessions_.active();
  return session != nullptr && session->peer() == peer && physical(peer) == Physical::made &&
         is_within(*session, local, remote);
}

// STANDARD: a hard link reserves the channel in the text for its own data only. There is only one
// channel, so non-ARQ data of others waits as well.
bool HardLinks::allows_nonarq(Address destination, SapId local, SapId remote) const {
  const Session* session = sessions_.active();
  if (session == nullptr || session->claim.type == sis::HardLinkType::link_reservation) return true;
  const bool owner_shares =
      session->we_called && session->claim.type == sis::HardLinkType::partial_bandwidth;
  return (owner_shares || session->peer() == destination) && is_within(*session, local, remote);
}

/// True if data between the two SAPs may use the link (A.1.1.2.1 to A.1.1.2.3).
bool HardLinks::is_within(const Session& session, SapId local, SapId remote) {
  switch (session.claim.type) {
    case sis::HardLinkType::link_reservation:
      return true;
    case sis::HardLinkType::partial_bandwidth:
      return session.we_called ? local == session.local_sap : remote == session.remote_sap;
    case sis::HardLinkType::full_bandwidth:
      return local == session.local_sap && remote == session.remote_sap;
  }
  return false;
}

std::vector<HardLinkInfo> HardLinks::links() const {
  std::vector<HardLinkInfo> all;
  for (const Session& session : sessions_) {
    all.push_back({.peer = session.peer(),
                   .state = session.state,
                   .type = session.claim.type,
                   .priority = session.claim.priority,
                   .we_called = session.we_called,
                   .client = session.client,
                   .local_sap = session.local_sap,
                   .remote_sap = session.remote_sap});
  }
  return all;
}

// --- Common parts --------------------------------------------------------------------------------

void HardLinks::tell_rejected(const Session& session, RejectReason reason) {
  counters_.add(Counter::hard_links_rejected);
  if (session.client) outbox_.send(*session.client, sis::HardLinkRejected{reason, session.link});
}

/// Tells only the requesting client and the called client of a Type 2 (A.2.1.22(2), (3)). Others
/// that use the link are told nothing.
void HardLinks::tell_terminated(Session& session, EndReason reason) {
  if (!std::exchange(session.begun, false) || !session.client) return;
  outbox_.send(*session.client, sis::HardLinkTerminated{reason, session.link});
}

void HardLinks::say(Instant now, Session& session, const Spdu& spdu) {
  session.sent = hand_down(now, session.peer(), spdu);
}

void HardLinks::send(Instant now, Address peer, const Spdu& spdu) {
  static_cast<void>(hand_down(now, peer, spdu));
}

CpduId HardLinks::hand_down(Instant now, Address peer, const Spdu& spdu) {
  cas::SpduRequest request;
  const CpduId id = outbox_.new_cpdu_id();
  request.id = id;
  request.service = cas::Service::expedited_arq;
  request.destination = peer;
  request.spdu = encode(spdu);
  request.priority = kHighestPriority;
  request.time_to_die =
      now + std::max(options_.config.response_wait, options_.config.terminate_wait);
  outbox_.push(std::move(request));
  return id;
}

}  // namespace s5066::sap
