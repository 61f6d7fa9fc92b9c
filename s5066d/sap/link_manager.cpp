// SPDX-License-Identifier: Apache-2.0
#include "s5066d/sap/link_manager.h"

#include <algorithm>
#include <utility>

#include "s5066d/base/assert.h"
#include "s5066d/base/deadline_table.h"
#include "s5066d/base/take_front.h"

namespace s5066::sap {
namespace {

PeerLoad load_of(std::span<const PeerLoad> loads, Address peer) {
  for (const PeerLoad& load : loads) {
    if (load.peer == peer) return load;
  }
  return {.peer = peer};
}

constexpr std::uint8_t kAboveAll = 255;

/// Longest gap between two pieces of one transmission from the modem: the longest interleaver block
/// takes 8.64 s.
constexpr Duration kBlockMax = std::chrono::seconds(10);

bool has_data(const PeerLoad& load) {
  return load.waiting || load.outstanding;
}

}  // namespace

// --- Events --------------------------------------------------------------------------------------

void LinkManager::on_link_made(Instant now, Address peer, bool we_called) {
  Session& session = sessions_[peer];
  if (session.state == State::up || session.state == State::draining) return;
  change_state(session, State::up);
  session.we_called = we_called;
  session.progressed = false;
  session.used = false;
  session.waiting_since.reset();
  session.made_at = now;
  session.used_at = now;
  session.failures = 0;
}

// A session whose break we asked for while the call was failing ends with the call.
void LinkManager::on_call_failed(Instant now, Address peer) {
  Session& session = sessions_[peer];
  if (session.state == State::closing) change_state(session, State::down);
  if (session.state != State::calling) return;
  change_state(session, State::down);
  session.call_not_before = now + backoff(session.failures);
  ++session.failures;
}

Duration LinkManager::backoff(unsigned failures) const {
  Duration wait = config_.call_retry_wait;
  for (unsigned i = 0; i < failures && wait < config_.call_retry_wait_max; ++i) wait *= 2;
  return std::min(wait, config_.call_retry_wait_max);
}

void LinkManager::on_call_refused(Instant now, Address peer) {
  Session& session = sessions_[peer];
  if (session.state != State::calling && session.state != State::closing) return;
  change_state(session, State::down);
  session.call_not_before = now + config_.call_retry_wait;
}

void LinkManager::on_link_closing(Address peer) {
  const auto it = sessions_.find(peer);
  if (it == sessions_.end() || !is_in_use(it->second)) return;
  it->second.progressed = true;
  change_state(it->second, State::closing);
}

// An Exclusive link may end that was only called for, while a soft link to the peer is still there.
void LinkManager::on_link_broken(Instant now, const cas::LinkBroken& broken) {
  Session& session = sessions_[broken.peer];
  const bool exclusive = broken.type == cas::LinkType::exclusive;
  if (exclusive && session.state != State::down && session.state != State::taken) return;
  if (session.gives_way) ++places_made_;
  if (session.state != State::down) change_state(session, State::down);
  const bool by_operator = std::exchange(session.ended_by_operator, false);
  session.call_not_before =
      now + (by_operator ? config_.call_retry_wait : wait_after(session, broken.end));
}

// Returns the wait before the next call. A peer that ended the link or stopped answering is not
// called for a while. One that forgot the link, or never heard that it was made, is called again at
// once, but only the first time.
Duration LinkManager::wait_after(Session& session, cas::LinkEnd end) const {
  if (end == cas::LinkEnd::by_peer || end == cas::LinkEnd::connection_lost) {
    return config_.call_retry_wait;
  }
  const bool ours = end == cas::LinkEnd::by_us || end == cas::LinkEnd::displaced;
  if (ours || session.progressed) return Duration::zero();
  return session.fruitless++ == 0 ? Duration::zero() : backoff(session.fruitless - 2);
}

void LinkManager::on_taken(Instant now, Address peer) {
  Session& session = sessions_[peer];
  if (session.state == State::taken) return;
  change_state(session, State::taken);
  session.progressed = false;
  session.used_at = now;
  session.failures = 0;
}

void LinkManager::end_all() {
  for (auto& [peer, session] : sessions_) {
    if (!is_in_use(session)) continue;
    session.progressed = true;
    close(peer, session, cas::BreakReason::higher_priority_pending);
  }
}

bool LinkManager::request_end(Address peer) {
  const auto it = sessions_.find(peer);
  if (it == sessions_.end()) return false;
  Session& session = it->second;
  const bool ends = session.state == State::calling || session.state == State::up ||
                    session.state == State::draining;
  if (!ends) return false;
  session.progressed = true;
  session.ended_by_operator = true;
  close(peer, session, cas::BreakReason::higher_layer_request);
  return true;
}

std::string_view LinkManager::waits_for(Instant now, Address peer) const {
  const auto it = sessions_.find(peer);
  if (it == sessions_.end()) return "a session with the station";
  switch (it->second.state) {
    case State::down:
      if (now < it->second.call_not_before) return "the next call, which is not yet due";
      return "a session with the station";
    case State::calling:
      return "an answer to the call";
    case State::up:
      return "its turn in the queue";
    case State::draining:
    case State::closing:
      return "the end of a session";
    case State::taken:
      return "a hard link";
  }
  return "its turn in the queue";
}

void LinkManager::on_traffic(Instant now, Address peer) {
  const auto it = sessions_.find(peer);
  if (it == sessions_.end()) return;
  it->second.used = true;
  it->second.used_at = now;
}

void LinkManager::on_maybe_traffic(Instant now, Address peer) {
  const auto it = sessions_.find(peer);
  if (it != sessions_.end()) it->second.maybe_used_until = now + kBlockMax;
}

void LinkManager::on_progress(Instant now, Address peer) {
  const auto it = sessions_.find(peer);
  if (it == sessions_.end()) return;
  it->second.progressed = true;
  it->second.fruitless = 0;
  it->second.used_at = now;
}

bool LinkManager::has_progressed(Address peer) const {
  const auto it = sessions_.find(peer);
  return it != sessions_.end() && it->second.progressed;
}

LinkManager::State LinkManager::state(Address peer) const {
  const auto it = sessions_.find(peer);
  return it == sessions_.end() ? State::down : it->second.state;
}

std::vector<Address> LinkManager::peers() const {
  std::vector<Address> all;
  for (const auto& [peer, session] : sessions_) all.push_back(peer);
  return all;
}

bool LinkManager::is_in_session(Address peer) const {
  return state(peer) == State::up || state(peer) == State::draining;
}

// --- Decisions -----------------------------------------------------------------------------------

void LinkManager::plan(Instant now, std::span<const PeerLoad> loads, bool may_call) {
  next_deadline_.reset();
  for (auto& [peer, session] : sessions_) {
    const PeerLoad load = load_of(loads, peer);
    if (!load.waiting) session.waiting_since.reset();
    session.used |= load.outstanding;
    close_idle(now, peer, session, load);
  }
  if (!may_call) return;

  std::vector<const PeerLoad*> in_line;
  // Peers that call us may have taken places meanwhile. A place that was made for a node stays
  // reserved for it. Peers that call and give way do not raise the number of our own sessions above
  // the limit.
  for (const PeerLoad* load : callable(now, loads)) {
    if (sessions() < config_.soft_links_max ||
        (places_made_ > 0 && own_sessions() < config_.soft_links_max)) {
      if (places_made_ > 0) --places_made_;
      call(load->peer, sessions_[load->peer]);
    } else {
      in_line.push_back(load);
    }
  }
  places_made_ = 0;
  const bool own_full = own_sessions() >= config_.soft_links_max;
  // Each session that is ending makes one place.
  for (std::size_t i = leaving(); i < in_line.size(); ++i) {
    bool found = false;
    for (auto& [peer, session] : sessions_) {
      if (own_full && !session.we_called) continue;  // the place of this session would not be ours
      const bool patient = !is_out_of_patience(now, sessions_[in_line[i]->peer]);
      const std::uint8_t priority = patient ? in_line[i]->priority : kAboveAll;
      found = give_way(now, peer, session, load_of(loads, peer), priority);
      if (found) break;
    }
    if (!found) break;
  }
  for (auto& [peer, session] : sessions_) {
    if (session.state != State::draining) continue;
    if (in_line.empty()) {
      change_state(session, State::up);
    } else {
      end_long_drain(now, peer, session);
    }
  }
  forget_quiet_peers(now, loads);
}

bool LinkManager::is_out_of_patience(Instant now, const Session& session) const {
  return session.waiting_since && now - *session.waiting_since >= config_.patience;
}

// Sorts nodes that have waited longer than `patience` first, then by priority. Among equals a node
// that has just made way for others goes to the end.
std::vector<const PeerLoad*> LinkManager::callable(Instant now, std::span<const PeerLoad> loads) {
  std::vector<const PeerLoad*> found;
  for (const PeerLoad& load : loads) {
    if (!load.waiting) continue;
    Session& session = sessions_[load.peer];
    if (session.state != State::down) continue;
    if (!session.waiting_since) session.waiting_since = now;
    if (!is_out_of_patience(now, session)) look_again_at(*session.waiting_since + config_.patience);
    if (now < session.call_not_before) {
      look_again_at(session.call_not_before);
    } else {
      found.push_back(&load);
    }
  }
  std::stable_sort(found.begin(), found.end(), [&](const PeerLoad* a, const PeerLoad* b) {
    const bool a_first = is_out_of_patience(now, sessions_[a->peer]);
    const bool b_first = is_out_of_patience(now, sessions_[b->peer]);
    if (a_first != b_first) return a_first;
    if (a->priority != b->priority) return a->priority > b->priority;
    return sessions_[a->peer].gave_way_at < sessions_[b->peer].gave_way_at;
  });
  return found;
}

void LinkManager::close_idle(Instant now, Address peer, Session& session, const PeerLoad& load) {
  if (session.state == State::draining && !load.outstanding) {
    close(peer, session, cas::BreakReason::higher_layer_request);
  }
  if (session.state != State::up || has_data(load)) return;
  const Instant ends_at = idle_ends_at(session);
  if (now >= ends_at) {
    close(peer, session, cas::BreakReason::no_more_data);
  } else {
    look_again_at(ends_at);
  }
}

// The called side waits longer, so that normally the caller breaks the link, and only one of them.
Instant LinkManager::idle_ends_at(const Session& session) const {
  return silence_ends_at(
      session,
      config_.idle_timeout + (session.we_called ? Duration::zero() : config_.called_minimum));
}

// A transmission has shown its sender by its end, so a possible one extends the wait by its length
// at most.
Instant LinkManager::silence_ends_at(const Session& session, Duration wait) {
  const Instant silent = session.used_at + wait;
  if (!session.maybe_used_until) return silent;
  return std::max(silent, std::min(*session.maybe_used_until, silent + cas::kTransmissionMax));
}

// A.1.1.1(5), (6), A.3.2.1.2(3): decides whether this session makes way for another node's data of
// that priority.
bool LinkManager::give_way(Instant now, Address peer, Session& session, const PeerLoad& load,
                           std::uint8_t priority) {
  if (session.state != State::up || !takes_place(session)) return false;
  Instant from = session.we_called ? session.made_at : session.made_at + config_.called_minimum;
  if (has_data(load)) {
    if (load.priority > priority) return false;
    from = std::max(from, session.made_at + config_.session_max);
  } else if (load.expects_answer) {
    from = std::max(from, std::min(silence_ends_at(session, config_.idle_timeout),
                                   session.made_at + config_.session_max));
  }
  if (now < from) {
    look_again_at(from);
    return false;
  }
  session.gave_way_at = now;
  session.gives_way = true;
  if (load.outstanding) {
    change_state(session, State::draining);
  } else {
    close(peer, session, cas::BreakReason::higher_layer_request);
  }
  return true;
}

// A.1.1.1(5), (6): at a low rate the data handed down would take hours. Data that the peer has not
// acknowledged by then comes back and is queued again, and counts no failed attempt.
void LinkManager::end_long_drain(Instant now, Address peer, Session& session) {
  const Instant ends_at = session.gave_way_at + config_.drain_max;
  if (now < ends_at) return look_again_at(ends_at);
  session.progressed = true;
  close(peer, session, cas::BreakReason::higher_layer_request);
}

// A session without link or data only holds the wait before the next call.
void LinkManager::forget_quiet_peers(Instant now, std::span<const PeerLoad> loads) {
  for (auto it = sessions_.begin(); it != sessions_.end();) {
    const bool quiet = it->second.state == State::down && now >= it->second.call_not_before &&
                       !load_of(loads, it->first).waiting;
    it = quiet ? sessions_.erase(it) : std::next(it);
  }
}

// --- Common parts --------------------------------------------------------------------------------

void LinkManager::call(Address peer, Session& session) {
  change_state(session, State::calling);
  actions_.push_back(RequestLink{peer, cas::LinkType::nonexclusive});
}

void LinkManager::close(Address peer, Session& session, cas::BreakReason reason) {
  change_state(session, State::closing);
  actions_.push_back(RequestBreak{peer, reason});
}

void LinkManager::change_state(Session& session, State next) {
  const State from = session.state;
  if (next != State::draining && next != State::closing) session.gives_way = false;
  const bool in_session = from == State::up || from == State::draining;
  switch (next) {
    case State::calling:
      S5066_ASSERT(from == State::down);
      break;
    case State::up:
      S5066_ASSERT(from != State::up);
      break;
    case State::draining:
      S5066_ASSERT(from == State::up);
      break;
    case State::closing:
      S5066_ASSERT(in_session || from == State::calling);
      break;
    case State::taken:
      S5066_ASSERT(from != State::taken);
      break;
    case State::down:
      S5066_ASSERT(from != State::down);
      break;
  }
  session.state = next;
}

/// True if the session has not been told to end.
bool LinkManager::is_in_use(const Session& session) {
  return session.state == State::calling || session.state == State::up ||
         session.state == State::draining;
}

// A session of a peer that called us and is silent takes no place, because any station can call.
bool LinkManager::takes_place(const Session& session) {
  if (session.state == State::up) return session.we_called || session.used || session.progressed;
  return session.state != State::down && session.state != State::taken;
}

std::size_t LinkManager::sessions() const {
  return static_cast<std::size_t>(std::count_if(
      sessions_.begin(), sessions_.end(), [](const auto& s) { return takes_place(s.second); }));
}

std::size_t LinkManager::own_sessions() const {
  return static_cast<std::size_t>(
      std::count_if(sessions_.begin(), sessions_.end(), [](const auto& s) {
        return takes_place(s.second) && (s.second.we_called || s.second.state == State::calling);
      }));
}

std::size_t LinkManager::leaving() const {
  return static_cast<std::size_t>(
      std::count_if(sessions_.begin(), sessions_.end(), [](const auto& s) {
        return s.second.state == State::draining || s.second.state == State::closing;
      }));
}

void LinkManager::look_again_at(Instant at) {
  next_deadline_ = earlier(next_deadline_, at);
}

std::optional<LinkManager::Action> LinkManager::poll_action() {
  return take_front(actions_);
}

}  // namespace s5066::sap
