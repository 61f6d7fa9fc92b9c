// SPDX-License-Identifier: Apache-2.0
// Soft link sessions (A.1.1.1, A.3.2.1): when to call a node that data waits for, when to end the
// session, and which node is next if more want a session than there may be.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "s5066d/base/ids.h"
#include "s5066d/base/time.h"
#include "s5066d/cas/channel_access.h"
#include "s5066d/sap/config.h"

namespace s5066::sap {

struct RequestLink {
  Address peer;
  cas::LinkType type = cas::LinkType::nonexclusive;
};
struct RequestBreak {
  Address peer;
  cas::BreakReason reason = cas::BreakReason::no_more_data;
};

/// Load for one peer.
struct PeerLoad {
  Address peer;
  bool waiting = false;  // ARQ U_PDUs are queued
  // Priority of the most urgent U_PDU, handed down or not; expedited data is above all.
  std::uint8_t priority = 0;
  bool outstanding = false;     // the sublayers below hold some of its U_PDUs
  bool expects_answer = false;  // the client has U_PDUs to confirm
};

class LinkManager {
 public:
  using Action = std::variant<RequestLink, RequestBreak>;
  enum class State : std::uint8_t {
    down,      // no session is open; the record stays while the wait before the next call runs
    calling,   // link requested
    up,        // data may be given to the session
    draining,  // another node is next: outstanding data is finished first, within drain_max
    closing,   // the link is being broken, at our request or not
    taken,     // no session is open, because a hard link uses the link
  };

  explicit LinkManager(const LinkConfig& config) : config_(config) {}

  void on_link_made(Instant now, Address peer, bool we_called);
  /// Call when the peer did not answer or refused. The wait before the next call grows each time.
  void on_call_failed(Instant now, Address peer);
  /// Call when our own channel access cannot call now. It does not count as an attempt.
  void on_call_refused(Instant now, Address peer);
  /// Call when the channel access sublayer has begun to break a soft link: no data may be given to
  /// it. A break that we did not ask for is no failed attempt.
  void on_link_closing(Address peer);
  void on_link_broken(Instant now, const cas::LinkBroken& broken);
  /// Call when the physical link belongs to a hard link until it breaks. Repeated calls are
  /// harmless.
  void on_taken(Instant now, Address peer);
  /// Call when data came or went: the session is in use.
  void on_traffic(Instant now, Address peer);
  /// Call when a station transmits that may turn out to be this peer. For a while no session ends
  /// because of silence.
  void on_maybe_traffic(Instant now, Address peer);
  /// Call when the peer acknowledged data.
  void on_progress(Instant now, Address peer);

  /// Call after every event, with all peers that have any load, the most urgent first. `may_call`
  /// is false if a hard link forbids new sessions.
  void plan(Instant now, std::span<const PeerLoad> loads, bool may_call = true);
  /// Ends all sessions because a hard link needs the channel. None of them counts as failed.
  void end_all();

  /// Ends the session, or the call for one, for an operator. Data that waits for the peer counts no
  /// failed attempt, and calls again after `call_retry_wait`. Returns false if there is neither.
  [[nodiscard]] bool request_end(Address peer);
  /// Returns what a U_PDU for this peer waits for, as text.
  std::string_view waits_for(Instant now, Address peer) const;

  State state(Address peer) const;
  /// Returns the peers with a session, or with a wait before the next one.
  std::vector<Address> peers() const;
  bool may_send(Address peer) const { return state(peer) == State::up; }
  /// True if there is a link and we have not asked for its end.
  bool is_in_session(Address peer) const;
  /// True if the peer acknowledged data in the present or last session.
  bool has_progressed(Address peer) const;
  std::optional<Action> poll_action();
  /// Returns when plan() may decide otherwise with the same loads.
  std::optional<Instant> next_deadline() const { return next_deadline_; }

 private:
  struct Session {
    State state = State::down;
    bool we_called = false;
    bool progressed = false;
    bool used = false;  // data came or went
    Instant made_at{};
    Instant used_at{};
    std::optional<Instant> maybe_used_until;
    unsigned failures = 0;   // calls that failed in a row
    unsigned fruitless = 0;  // links in a row that the peer forgot and that carried nothing
    Instant call_not_before{};
    Instant gave_way_at{};   // last time at which it began to make way for another node
    bool gives_way = false;  // the session has made way and has not ended since
    bool ended_by_operator = false;
    std::optional<Instant> waiting_since;  // time since which data waits for a session
  };

  void change_state(Session& session, State next);
  Duration backoff(unsigned failures) const;
  Duration wait_after(Session& session, cas::LinkEnd end) const;
  void call(Address peer, Session& session);
  void close(Address peer, Session& session, cas::BreakReason reason);
  void close_idle(Instant now, Address peer, Session& session, const PeerLoad& load);
  Instant idle_ends_at(const Session& session) const;
  /// Returns when the session has been silent for `wait`, with no possible transmission of the peer
  /// going on.
  static Instant silence_ends_at(const Session& session, Duration wait);
  std::vector<const PeerLoad*> callable(Instant now, std::span<const PeerLoad> loads);
  bool is_out_of_patience(Instant now, const Session& session) const;
  void end_long_drain(Instant now, Address peer, Session& session);
  bool give_way(Instant now, Address peer, Session& session, const PeerLoad& load,
                std::uint8_t priority);
  void forget_quiet_peers(Instant now, std::span<const PeerLoad> loads);
  static bool is_in_use(const Session& session);
  static bool takes_place(const Session& session);
  std::size_t sessions() const;
  std::size_t own_sessions() const;
  std::size_t leaving() const;
  void look_again_at(Instant at);

  const LinkConfig config_;
  std::map<Address, Session> sessions_;
  /// Sessions that made way and have ended, for which no other has been called yet.
  std::size_t places_made_ = 0;
  std::optional<Instant> next_deadline_;
  std::deque<Action> actions_;
};

}  // namespace s5066::sap
