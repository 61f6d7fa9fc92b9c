// SPDX-License-Identifier: Apache-2.0
// Channel access sublayer, Type 1 protocol (Annex B): makes and breaks physical links by C_PDUs
// that travel as expedited non-ARQ data, and carries S_PDUs over them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "s5066d/base/action_queue.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/deadline_table.h"
#include "s5066d/base/driven_core.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/node_counters.h"
#include "s5066d/base/result.h"
#include "s5066d/base/rng.h"
#include "s5066d/base/time.h"
#include "s5066d/base/trace.h"
#include "s5066d/cas/accept_rules.h"
#include "s5066d/cas/answer_queue.h"
#include "s5066d/cas/blocked_callers.h"
#include "s5066d/cas/cpdu.h"
#include "s5066d/cas/known_peers.h"
#include "s5066d/cas/link_state.h"
#include "s5066d/dts/service.h"

namespace s5066::cas {

using dts::CpduFailure;
using dts::kTransmissionMax;
using dts::Service;

struct Config {
  Address address;  // our own
  /// A short burst each way and both turnarounds, in the mode in use. It is the unit of the waits
  /// below.
  Duration exchange_time = std::chrono::seconds(10);
  /// Exchange time in the most robust mode, in which a REQUEST or BREAK is repeated; at least
  /// `exchange_time`.
  Duration robust_exchange_time{};
  /// A peer that answered only in the most robust mode is called in it for this long.
  Duration robust_memory = std::chrono::minutes(30);
  /// Air time of one C_PDU of the largest size, in the mode in use.
  Duration longest_cpdu_time = std::chrono::seconds(60);

  /// T_call and T_break in exchange times, counted from when the C_PDU left the antenna.
  unsigned answer_wait_exchanges = 3;
  unsigned requests_max = 3;  // N_call: transmissions of a REQUEST
  unsigned breaks_max = 3;    // N_break: transmissions of a BREAK
  /// T_first is this many T_call plus this many of the largest C_PDU. It counts from when the peer
  /// was last heard on the connection.
  unsigned first_data_calls = 5;
  unsigned first_data_cpdus = 3;
  /// A control C_PDU that could not be sent for this long counts as sent and lost.
  Duration control_wait_max = std::chrono::minutes(10);

  std::size_t nonexclusive_links_max = 8;  // links of both directions together (B.3(8))
  bool broadcast_only = false;             // the node has no ARQ and no links (A.1.1.3)
  std::size_t spdus_outstanding_max = 16384;
  /// Peers that an external process (for example ALE) connects to us and disconnects at both ends
  /// at the same time, so that links to them are made and broken without CAS 1 (B.3 1a).
  std::vector<Address> linked_externally;

  Duration answer_wait() const { return exchange_time * answer_wait_exchanges; }
  Duration first_data_wait() const {
    return answer_wait() * first_data_calls + longest_cpdu_time * first_data_cpdus;
  }
};

/// C_[EXPEDITED_]UNIDATA_REQUEST. ARQ services need a made link to the destination. Exactly one
/// SpduConfirm or SpduRejected with this ID answers. IDs come from the layer above, count from 1
/// and stay below kControlIds.
struct SpduRequest {
  CpduId id;
  Service service = Service::arq;
  Address destination;
  Bytes spdu;
  bool in_order = true;
  bool with_errors = false;  // non-ARQ: the client can use damaged data, too
  std::uint8_t priority = 0;
  std::uint64_t flow = 0;    // as in dts::CpduRequest
  std::uint8_t repeats = 0;  // non-ARQ: transmissions after the first
  std::optional<Instant> time_to_die;
};

/// First ID of our own control C_PDUs.
inline constexpr std::uint64_t kControlIds = std::uint64_t{1} << 63;

// --- Actions to the data transfer sublayer ---

struct MakeConnection {  // D_CONNECTION_MADE
  Address peer;
  bool reset = false;  // the peer was not asked, so it may still hold an older connection
};
struct TerminateConnection {  // D_CONNECTION_TERMINATED
  Address peer;
};

// --- Actions to the subnetwork interface sublayer ---

struct LinkMade {  // C_PHYSICAL_LINK_MADE
  Address peer;
  bool we_called = false;
  LinkType type = LinkType::nonexclusive;
};

/// Has the peer's reason, or none if the peer did not answer.
struct LinkRejected {  // C_PHYSICAL_LINK_REJECTED
  Address peer;
  std::optional<RejectReason> reason;
  LinkType type = LinkType::nonexclusive;  // type of the link that was called for
};

/// We have begun to break the link, for whatever reason. It carries no further ARQ S_PDU. A
/// LinkBroken follows when the peer has confirmed or is given up.
struct LinkClosing {
  Address peer;
  LinkType type = LinkType::nonexclusive;
};

struct LinkBroken {  // C_PHYSICAL_LINK_BROKEN
  Address peer;
  LinkEnd end = LinkEnd::by_us;
  LinkType type = LinkType::nonexclusive;     // type of the broken link
  BreakReason reason = BreakReason::unknown;  // the peer's, if the peer ended the link
};

/// Non-ARQ S_PDUs may have errors; `errored` and `missing` are positions in the S_PDU.
struct SpduIndication {
  Service service = Service::arq;
  Address source;
  Address destination;
  Bytes spdu;
  std::vector<OctetRange> errored = {};
  std::vector<OctetRange> missing = {};  // 0 in `spdu`

  bool intact() const { return errored.empty() && missing.empty(); }
};
struct SpduConfirm {
  CpduId id;
};
struct SpduRejected {
  CpduId id;
  CpduFailure why = CpduFailure::not_connected;
};

using Action =
    std::variant<dts::CpduRequest, MakeConnection, TerminateConnection, LinkMade, LinkRejected,
                 LinkClosing, LinkBroken, SpduIndication, SpduConfirm, SpduRejected>;

struct LinkInfo {
  Address peer;
  LinkState state = LinkState::idle;
  LinkType type = LinkType::nonexclusive;
  bool we_called = false;
  Instant since{};  // begin of the present state
};

// Driven as s5066d/base/driven_core.h says. It has nothing to settle: each input decides by itself,
// because a C_PDU must be answered in the order in which it came.
class ChannelAccess {
 public:
  ChannelAccess(const Config& config, Rng& rng, Counters& counters, TraceSink& trace);

  // Calls from the subnetwork interface sublayer.
  /// C_PHYSICAL_LINK_MAKE; answered by LinkMade or LinkRejected. Fails at once with `queue_full`
  /// (number of links), `refused` (Exclusive links forbid it, broadcast-only node) or `link_down`
  /// (Nonexclusive, and the link to this peer is being broken). An Exclusive link first breaks a
  /// Nonexclusive one to this peer, which is reported as LinkBroken.
  Result<void> request_link(Instant now, Address peer, LinkType type);
  /// C_PHYSICAL_LINK_BREAK; answered by LinkClosing and LinkBroken. If a Nonexclusive link is being
  /// broken for an Exclusive one, this ends the call for the Exclusive one, with LinkRejected.
  /// Fails with `not_found` if no link is made or being made.
  Result<void> request_break(Instant now, Address peer, BreakReason reason);
  /// Call when a hard link uses the Exclusive link to this peer, if there is one: the link then
  /// makes way for no other.
  void keep_link(Address peer);
  void request_unidata(Instant now, SpduRequest request);
  /// Begins or ends an exclusive broadcast session. During the session no link is made or accepted,
  /// and existing links are broken (A.3.2.3).
  void set_broadcast(Instant now, bool on);
  /// EMCON: while on, no control C_PDU is sent, not even an answer. The layer above requests
  /// nothing then.
  void set_silent(Instant now, bool on);

  // Events of the data transfer sublayer.
  void on_cpdu(Instant now, dts::CpduIndication indication);
  void on_cpdu_confirm(Instant now, const dts::CpduConfirm& confirm);
  void on_cpdu_rejected(Instant now, const dts::CpduRejected& rejected);
  /// Call when an ARQ D_PDU of the peer's connection has come; a C_PDU may take several
  /// transmissions.
  void on_connection_heard(Instant now, Address peer);
  void on_connection_lost(Instant now, const dts::ConnectionLost& lost);
  void on_warning(Instant now, const dts::WarningReceived& warning);

  void on_deadline(Instant now);
  std::optional<Instant> next_deadline() const;
  std::optional<Action> poll_action();

  LinkState state(Address peer) const;
  std::optional<LinkInfo> link(Address peer) const;
  std::vector<LinkInfo> links() const;

 private:
  enum class LinkTimer : std::uint8_t {
    leaving,     // a REQUEST, ACCEPTED or BREAK waits for the antenna
    answer,      // T_call, T_break
    first_data,  // T_first
    count
  };
  struct Link {
    LinkInfo info;
    bool connected = false;            // the data transfer sublayer holds a connection
    bool accepted = false;             // ACCEPTED came while another REQUEST was leaving
    std::optional<LinkType> crossing;  // a REQUEST of the peer came meanwhile
    bool heard = false;                // an ARQ D_PDU of the peer's connection has come
    bool kept = false;                 // a hard link uses it
    /// Time at which the first ACCEPTED left, or is known to have left.
    std::optional<Instant> accepted_at;
    /// ARQ data or an acknowledgement shows that the peer has the link too.
    bool peer_made_it = false;
    unsigned transmissions = 0;  // number of transmissions of the present REQUEST or BREAK
    bool robust = false;         // the last of them went in the most robust mode
    std::optional<CpduId> leaving;
    BreakReason break_reason = BreakReason::unknown;
    bool by_cas_1 = true;                // CAS 1 made the link, so the peer was asked
    bool exclusive_afterwards = false;   // the link is broken to make place for an Exclusive link
    std::vector<dts::CpduRequest> held;  // ARQ data that waits until ACCEPTED has left
    DeadlineTable<LinkTimer> timers;
  };
  struct Outstanding {
    Address peer;
    bool arq = false;
  };

  Link* find(Address peer);
  const Link* find(Address peer) const;
  Link& add_link(Address peer, LinkType type, bool we_called);
  LinkCensus census_without(Address peer) const;
  bool is_without_cas_1(Address peer) const;
  /// `caller` is the peer, or our own address.
  std::optional<RejectReason> refusal_after_displacing(Instant now, Address caller, Address peer,
                                                       LinkType type);
  /// Decides about the call of a peer that we do not call ourselves.
  std::optional<RejectReason> refusal_of_peer(Instant now, Address peer, LinkType type);
  std::deque<Address> displaceable(Instant now, Address but, LinkType type,
                                   bool long_blocked) const;
  void note_blocked(Instant now, Address caller);
  void remember_heard(Link& link);
  void call(Instant now, Address peer, LinkType type);
  void make_way_for_exclusive(Instant now, Link& link);
  void reject(Instant now, Address peer, RejectReason reason);
  void change_state(Instant now, Link& link, LinkState next);
  void make(Instant now, Link& link, LinkState next);
  void end(Instant now, Link& link, LinkEnd how, BreakReason reason = BreakReason::unknown);
  void start_breaking(Instant now, Link& link, BreakReason reason);
  void break_nonexclusive_links(Instant now);
  void give_up_calls(Instant now);

  void on_control(Instant now, const dts::CpduIndication& indication);
  void discard(Instant now, const dts::CpduIndication& indication, Counter counter,
               DiscardReason why);
  void trace_received(Instant now, const dts::CpduIndication& indication, std::uint8_t type);
  void on_link_request(Instant now, Address peer, LinkType type);
  void accept(Instant now, Address peer, LinkType type);
  void accept_again(Instant now, Link& link);
  void on_request_while_breaking(Instant now, Link& link, LinkType type);
  void on_link_accepted(Instant now, Address peer);
  void on_link_rejected(Instant now, Address peer, RejectReason reason);
  void on_link_break(Instant now, Address peer, BreakReason reason);
  void on_link_break_confirm(Instant now, Address peer);
  void on_peer_made_it(Instant now, Address peer);
  void on_control_left(Instant now, CpduId id);
  void on_never_left(Instant now, Link& link);
  void on_left(Instant now, Link& link);
  void on_link_deadline(Instant now, Link& link, LinkTimer timer);
  void on_no_answer(Instant now, Link& link);

  CpduId send_control(Instant now, const Link& link, const Cpdu& cpdu);
  void hand_down_control(Instant now, CpduId id, Address peer, const Cpdu& cpdu,
                         dts::ControlMode mode);
  bool is_called_robustly(Instant now, Address peer) const;
  void remember_mode(Instant now, const Link& link);
  CpduId send_answer(Instant now, Address peer, const Cpdu& cpdu);
  void hand_down_answer(Instant now);
  bool has_own_business() const;
  void drop_waiting_answers(Instant now);
  void send_and_wait(Instant now, Link& link);
  void send_accepted(Instant now, Link& link);
  Duration jittered_answer_wait(const Link& link);

  const Config config_;
  Rng& rng_;
  Counters& counters_;
  TraceSink& trace_;
  std::map<Address, Link> links_;
  std::map<CpduId, Outstanding> outstanding_;
  /// Peers in linked_externally that have warned us: CAS 1 makes the next link (B.3(3.1)).
  std::set<Address> warned_;
  BlockedCallers blocked_;
  std::uint64_t next_control_id_ = kControlIds;
  KnownPeers known_;
  /// A peer in this list is called in the most robust mode at once until that time.
  std::map<Address, Instant> robust_until_;
  AnswerQueue answers_;
  bool broadcast_ = false;
  bool silent_ = false;
  ActionQueue<Action> actions_;
};
static_assert(DrivenCore<ChannelAccess>);

}  // namespace s5066::cas
