// HardLinks: carries out the decisions of hard_links.cpp: state changes, timers, and the state for
// other parts.
#include <algorithm>
#include <utility>

#include "s5066d/base/assert.h"
#include "s5066d/base/deadline_table.h"
#include "s5066d/sap/hard_links.h"

namespace s5066::sap {
namespace {

using EndReason = sis::HardLinkEndReason;
using RejectReason = sis::HardLinkRejectReason;
using State = HardLinkState;
using Physical = ExclusiveLinks::State;

constexpr std::uint8_t kHighestPriority = 15;

bool is_legal(State from, State to) {
  switch (from) {
    case State::waiting:
      return to == State::linking || to == State::requesting || to == State::active ||
             to == State::closed;
    case State::linking:
      return to == State::requesting || to == State::waiting || to == State::closed;
    case State::requesting:
      return to == State::active || to == State::waiting || to == State::terminating ||
             to == State::closed;
    case State::indicated:
      return to == State::waiting || to == State::closed;
    case State::active:
      return to == State::terminating || to == State::closed;
    case State::terminating:
      return to == State::closed;
    case State::closed:
      return to == State::waiting || to == State::indicated;
  }
  return false;
}

}  // namespace

std::string_view to_string(HardLinkState state) {
  switch (state) {
    case State::waiting:
      return "waiting";
    case State::linking:
      return "linking";
    case State::requesting:
      return "requesting";
    case State::indicated:
      return "indicated";
    case State::active:
      return "active";
    case State::terminating:
      return "terminating";
    case State::closed:
      return "closed";
  }
  return "unknown";
}

// --- Precedence ----------------------------------------------------------------------------------

bool HardLinks::already_there(const HardLinkClaim& claim) const {
  const Session* active = active_session();
  return active != nullptr && claim.type == sis::HardLinkType::link_reservation &&
         active->claim.type == claim.type && active->peer() == claim.peer &&
         equal_in_rank_and_priority(active->claim, claim);
}

const HardLinks::Session* HardLinks::blocker(const HardLinkClaim& claim) const {
  for (const Session& session : sessions_) {
    if (session.is_live() && !takes_precedence(claim, session.claim)) return &session;
  }
  return nullptr;
}

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
    if (is_closed(session) && !knows(session.peer())) {
      exclusive_.leave(now, session.peer(), session.breaks == Breaks::we_do);
    }
  }
  sessions_.remove_if(is_closed);
  for (const Address peer : exclusive_.peers()) {
    if (knows(peer)) {
      exclusive_.keep(peer);
    } else {
      exclusive_.leave(now, peer, false);
    }
  }
  // Only one goes on at a time; a link in its way was told to end before it was added.
  if (sessions_.size() == 1 && sessions_.front().is(State::waiting)) {
    proceed(now, sessions_.front());
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
    change_state(now, session, State::linking);
  } else if (!session.deadline && exclusive_.has_room()) {  // A.3.2.2.2(9)
    change_state(now, session, State::linking);
    exclusive_.call(peer);
  }
}

// Sends the request to the peer: A.3.2.2.2(10) to (12).
void HardLinks::ask_peer(Instant now, Session& session) {
  change_state(now, session, State::requesting);
  ++session.calls;
  session.deadline = now + options_.config.response_wait;
  say(now, session, request_of(session));
}

void HardLinks::activate(Instant now, Session& session) {
  S5066_ASSERT(exclusive_.state(session.peer()) == Physical::made);
  change_state(now, session, State::active);
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
  change_state(now, session, State::terminating);
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
  change_state(now, session, State::closed);
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
  return exclusive_.any_made_by_us() || active_session() != nullptr;
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
  const Session* session = active_session();
  return session != nullptr && session->peer() == peer && physical(peer) == Physical::made &&
         is_within(*session, local, remote);
}

// STANDARD: a hard link reserves the channel in the text for its own data only. There is only one
// channel, so non-ARQ data of others waits as well.
bool HardLinks::allows_nonarq(Address destination, SapId local, SapId remote) const {
  const Session* session = active_session();
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

HardLinks::Session& HardLinks::add(Instant now, State state, Session session) {
  sessions_.push_back(std::move(session));
  change_state(now, sessions_.back(), state);
  return sessions_.back();
}

HardLinks::Session* HardLinks::find(Address peer, State state, std::optional<bool> we_called) {
  for (Session& session : sessions_) {
    const bool side = !we_called || session.we_called == *we_called;
    if (session.peer() == peer && session.is(state) && side) return &session;
  }
  return nullptr;
}

/// Returns the client's link with the peer; one that is not ending takes precedence.
HardLinks::Session* HardLinks::find_of(ClientId client, Address peer) {
  Session* found = nullptr;
  for (Session& session : sessions_) {
    const bool its_own = session.client == client && session.peer() == peer;
    if (!its_own || session.is(State::closed)) continue;
    if (found == nullptr || session.is_live()) found = &session;
  }
  return found;
}

bool HardLinks::knows(Address peer) const {
  return std::any_of(sessions_.begin(), sessions_.end(), [peer](const Session& session) {
    return session.peer() == peer && !session.is(State::closed);
  });
}

const HardLinks::Session* HardLinks::active_session() const {
  const auto it = std::find_if(sessions_.begin(), sessions_.end(),
                               [](const Session& session) { return session.is(State::active); });
  return it == sessions_.end() ? nullptr : &*it;
}

void HardLinks::change_state(Instant now, Session& session, State next) {
  S5066_ASSERT(is_legal(session.state, next));
  S5066_ASSERT(next != State::active || active_session() == nullptr);
  trace_.on_trace({now,
                   TraceKind::hard_link_state,
                   session.peer(),
                   static_cast<std::int64_t>(session.state),
                   static_cast<std::int64_t>(next),
                   {}});
  session.state = next;
  session.deadline.reset();
  session.sent.reset();
  session.unsent = false;
}

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
