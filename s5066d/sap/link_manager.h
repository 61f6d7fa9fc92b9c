// Soft link sessions (A.1.1.1, A.3.2.1): when to call a node that data waits for, when to let it
// go, and whose turn it is when more nodes want a session than there may be at a time.
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

/// What there is to do for one peer.
struct PeerLoad {
  Address peer;
  bool waiting = false;         // ARQ U_PDUs are queued
  std::uint8_t priority = 0;    // of the best, handed down or not; expedited data is above all
  bool outstanding = false;     // the sublayers below hold some
  bool expects_answer = false;  // its client has still to confirm some
};

class LinkManager {
 public:
  using Action = std::variant<RequestLink, RequestBreak>;
  enum class State : std::uint8_t {
    down,      // no session; kept while a wait before the next call runs
    calling,   // link requested
    up,        // data may be given to it
    draining,  // another node's turn: what is outstanding is finished first, within drain_max
    closing,   // the link is being broken, by our request or without it
    taken,     // no session: the link is a hard link's
  };

  explicit LinkManager(const LinkConfig& config) : config_(config) {}

  void on_link_made(Instant now, Address peer, bool we_called);
  /// The peer did not answer or said no: wait longer each time before calling again.
  void on_call_failed(Instant now, Address peer);
  /// Our own channel access cannot call now; it was no attempt.
  void on_call_refused(Instant now, Address peer);
  /// The channel access sublayer has begun to break a soft link: no data may be given to it. A
  /// break that we did not ask for is no failed attempt.
  void on_link_closing(Address peer);
  void on_link_broken(Instant now, const cas::LinkBroken& broken);
  /// The physical link is a hard link's until it breaks. Repeated calls do no harm.
  void on_taken(Instant now, Address peer);
  /// Data came or went: the session is in use.
  void on_traffic(Instant now, Address peer);
  /// Somebody transmits who may turn out to be this peer; for a while no session ends under that.
  void on_maybe_traffic(Instant now, Address peer);
  /// The peer acknowledged something.
  void on_progress(Instant now, Address peer);

  /// Call after every event, with all peers that have any load, the most urgent first.
  /// `may_call`: no hard link stands in the way of new sessions.
  void plan(Instant now, std::span<const PeerLoad> loads, bool may_call = true);
  /// A hard link needs the channel: no session outlasts that, and none has failed by it.
  void end_all();

  /// An operator ends the session, or the call for one. What waits for the peer is no failed
  /// attempt, and calls again after `call_retry_wait`. False where there is neither.
  [[nodiscard]] bool request_end(Address peer);
  /// What a U_PDU for this peer waits for, in words.
  std::string_view waits_for(Instant now, Address peer) const;

  State state(Address peer) const;
  /// Those with a session, or with a wait before the next.
  std::vector<Address> peers() const;
  bool may_send(Address peer) const { return state(peer) == State::up; }
  /// There is a link, and we have not asked for its end.
  bool is_in_session(Address peer) const;
  /// The present or last session with it got something through.
  bool has_progressed(Address peer) const;
  std::optional<Action> poll_action();
  /// When plan() may decide otherwise with the same loads.
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
    unsigned fruitless = 0;  // links that were forgotten in a row and got nothing through
    Instant call_not_before{};
    Instant gave_way_at{};   // when it last began to make way for another node
    bool gives_way = false;  // and has not ended since
    bool ended_by_operator = false;
    std::optional<Instant> waiting_since;  // for a session
  };

  void change_state(Session& session, State next);
  Duration backoff(unsigned failures) const;
  Duration wait_after(Session& session, cas::LinkEnd end) const;
  void call(Address peer, Session& session);
  void close(Address peer, Session& session, cas::BreakReason reason);
  void close_idle(Instant now, Address peer, Session& session, const PeerLoad& load);
  Instant idle_ends_at(const Session& session) const;
  /// When nothing came for that long, nor may be coming.
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
  /// Sessions that gave way and have ended, for which no other has been called yet.
  std::size_t places_made_ = 0;
  std::optional<Instant> next_deadline_;
  std::deque<Action> actions_;
};

}  // namespace s5066::sap
