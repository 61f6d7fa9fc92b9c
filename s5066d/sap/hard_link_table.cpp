// SPDX-License-Identifier: Apache-2.0
#include "s5066d/sap/hard_link_table.h"

#include <algorithm>
#include <utility>

#include "s5066d/base/assert.h"

namespace s5066::sap {
namespace {

using State = HardLinkState;

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

HardLinkTable::Session& HardLinkTable::add(Instant now, State state, Session session) {
  sessions_.push_back(std::move(session));
  change_state(now, sessions_.back(), state);
  return sessions_.back();
}

HardLinkTable::Session* HardLinkTable::find(Address peer, State state,
                                            std::optional<bool> we_called) {
  for (Session& session : sessions_) {
    const bool side = !we_called || session.we_called == *we_called;
    if (session.peer() == peer && session.is(state) && side) return &session;
  }
  return nullptr;
}

/// Returns the client's link with the peer; one that is not ending takes precedence.
HardLinkTable::Session* HardLinkTable::find_of(ClientId client, Address peer) {
  Session* found = nullptr;
  for (Session& session : sessions_) {
    const bool its_own = session.client == client && session.peer() == peer;
    if (!its_own || session.is(State::closed)) continue;
    if (found == nullptr || session.is_live()) found = &session;
  }
  return found;
}

bool HardLinkTable::knows(Address peer) const {
  return std::any_of(sessions_.begin(), sessions_.end(), [peer](const Session& session) {
    return session.peer() == peer && !session.is(State::closed);
  });
}

const HardLinkTable::Session* HardLinkTable::active() const {
  const auto it = std::find_if(sessions_.begin(), sessions_.end(),
                               [](const Session& session) { return session.is(State::active); });
  return it == sessions_.end() ? nullptr : &*it;
}

void HardLinkTable::change_state(Instant now, Session& session, State next) {
  S5066_ASSERT(is_legal(session.state, next));
  S5066_ASSERT(next != State::active || active() == nullptr);
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

bool HardLinkTable::already_there(const HardLinkClaim& claim) const {
  const Session* session = active();
  return session != nullptr && claim.type == sis::HardLinkType::link_reservation &&
         session->claim.type == claim.type && session->peer() == claim.peer &&
         equal_in_rank_and_priority(session->claim, claim);
}

const HardLinkTable::Session* HardLinkTable::blocker(const HardLinkClaim& claim) const {
  for (const Session& session : sessions_) {
    if (session.is_live() && !takes_precedence(claim, session.claim)) return &session;
  }
  return nullptr;
}

void HardLinkTable::remove_closed() {
  sessions_.remove_if([](const Session& session) { return session.is(State::closed); });
}

}  // namespace s5066::sap
