#include "s5066d/sap/hard_links.h"

#include <utility>

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
      trace_(trace),
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
  if (already_there(session.claim)) {  // A.3.2.2.2(5)-(7)
    tell_rejected(session, RejectReason::type_0_exists);
    return true;
  }
  if (blocker(session.claim) != nullptr) {  // A.3.2.2.2(2)-(4)
    tell_rejected(session, RejectReason::higher_priority_existing);
    return true;
  }
  for (Session& other : sessions_) give_way(now, other);  // A.3.2.2.2(8)
  add(now, State::waiting, std::move(session));
  advance(now);
  return true;
}

// Always ends the link (A.2.1.19(4)), also before the peer has answered.
bool HardLinks::request_terminate(Instant now, ClientId client, Address remote) {
  Session* session = find_of(client, remote);
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
  Session* session = find_of(client, link.remote);
  if (session == nullptr || !session->is(State::indicated) || session->link != link) return false;
  change_state(now, *session, State::waiting);
  for (Session& other : sessions_) {
    if (&other != session) give_way(now, other);  // the active one, if any
  }
  advance(now);
  return true;
}

// STANDARD: the client's reasons have no numbers (A.2.1.25); those of S_PDU type 5 are passed on.
bool HardLinks::request_reject(Instant now, ClientId client, const sis::HardLinkReject& reject) {
  Session* session = find_of(client, reject.link.remote);
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
  if (Session* session = find(made.peer, State::linking, true)) ask_peer(now, *session);
  advance(now);
}

bool HardLinks::on_link_rejected(Instant now, const cas::LinkRejected& rejected) {
  if (rejected.type == cas::LinkType::nonexclusive) return false;
  if (!exclusive_.on_call_failed(rejected.peer)) return true;
  if (Session* session = find(rejected.peer, State::linking, true)) {
    fail(now, *session, reject_for(rejected.reason));
  }
  advance(now);
  return true;
}

// The channel access sublayer has no place for one more Exclusive link. A link that no hard link
// has needed makes way after a while.
bool HardLinks::on_link_refused(Instant now, Address peer) {
  if (!exclusive_.on_call_refused(peer)) return false;
  Session* session = find(peer, State::linking, true);
  if (session != nullptr && exclusive_.any_unclaimed()) {
    change_state(now, *session, State::waiting);
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
  const bool asked_over_it = find(broken.peer, State::indicated, false) != nullptr ||
                             find(broken.peer, State::waiting, false) != nullptr;
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
      change_state(now, session, State::waiting);
      return;
    case State::requesting:
      // The peer was leaving an earlier hard link, or had forgotten this one, so it is still on the
      // air.
      if (how != cas::LinkEnd::connection_lost && session.calls < kCallsMax) {
        change_state(now, session, State::waiting);
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
  for (Session& session : sessions_) {
    const bool same = session.peer() == peer && !session.we_called && session.claim.type == type &&
                      session.claim.priority == request.priority &&
                      session.remote_sap == request.requesting_sap &&
                      (!full || session.local_sap == request.remote_sap);
    if (!same || !session.is_live()) continue;
    // The request is a repetition or a probe. Before the link is active, the answer is still to
    // come.
    if (session.is(State::active)) say(now, session, HardLinkConfirm{});
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
  Session* crossing = find(peer, State::requesting, true);
  if (crossing != nullptr && wins_crossing(crossing->claim, session.claim, options_.own)) {
    return send(now, peer, HardLinkRefused{HardLinkRefusal::higher_priority_existing});
  }
  if (crossing != nullptr) {  // the peer refuses it for the same reason
    tell_rejected(*crossing, RejectReason::higher_priority_existing);
    close(now, *crossing, Breaks::peer_does);
  }
  if (const Session* existing = blocker(session.claim)) {  // A.3.2.2.2(20), (21)
    const bool busy = equal_in_rank_and_priority(session.claim, existing->claim);
    send(now, peer,
         HardLinkRefused{busy ? HardLinkRefusal::remote_busy
                              : HardLinkRefusal::higher_priority_existing});
  } else {
    for (Session& other : sessions_) {
      // The active link stays until the client has accepted.
      if (!full || !other.is(State::active)) give_way(now, other);
    }
    Session& added = add(now, full ? State::indicated : State::waiting, std::move(session));
    if (full) {  // A.3.2.2.2(23)
      added.begun = true;
      added.deadline = now + options_.config.client_wait;
      outbox_.send(*added.client, sis::HardLinkIndication{1, added.link});
    }
  }
  advance(now);
}

void HardLinks::on_spdu(Instant now, Address peer, const HardLinkConfirm&) {
  if (Session* asked = find(peer, State::requesting, true)) {  // A.3.2.2.2(14)
    activate(now, *asked);
    asked->begun = true;
    if (asked->client) outbox_.send(*asked->client, sis::HardLinkEstablished{1, asked->link});
  } else if (Session* called = find(peer, State::active, false)) {
    // The peer takes itself for the called side, too.
    terminate(now, *called, HardLinkEnd::client_request, EndReason::by_remote);
  } else if (!knows(peer) && exclusive_.state(peer) == Physical::made) {
    // The peer keeps a link that we do not have.
    send(now, peer, HardLinkTerminate{HardLinkEnd::client_request});
  }
  advance(now);
}

void HardLinks::on_spdu(Instant now, Address peer, const HardLinkRefused& refused) {
  if (Session* asked = find(peer, State::requesting, true)) {  // A.3.2.2.2(13)
    const auto number = static_cast<std::uint8_t>(refused.reason);
    fail(now, *asked,
         is_assigned(number) ? static_cast<RejectReason>(number) : RejectReason::remote_busy);
  } else if (refused.reason == HardLinkRefusal::remote_busy) {
    // STANDARD: a repeated request is not provided for. A peer that compares our probe with the
    // same link finds them equal and keeps the existing one (A.3.2.2.1(6), A.3.2.2.2(21)).
  } else if (Session* probed = find(peer, State::active, true)) {
    tell_terminated(*probed, EndReason::by_remote);
    close(now, *probed, Breaks::we_do);
  }
  advance(now);
}

// Answers even if there is no such link, because the peer waits for the answer (A.3.2.2.3(3)).
void HardLinks::on_spdu(Instant now, Address peer, const HardLinkTerminate& terminate) {
  send(now, peer, HardLinkTerminateConfirm{});
  if (Session* crossing = find(peer, State::terminating)) {
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
  if (Session* session = find(peer, State::terminating)) on_terminated(now, *session);
  advance(now);
}

void HardLinks::on_terminated(Instant now, Session& session) {
  if (session.heard_on_confirm) tell_terminated(session, *session.heard_on_confirm);
  close(now, session, Breaks::we_do);
}

}  // namespace s5066::sap
