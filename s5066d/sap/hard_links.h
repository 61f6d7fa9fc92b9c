// Hard links (A.1.1.2, A.3.2.2): asked for by a client, agreed with the peer by S_PDU types 3 to 7,
// and ended by either. At most one is active; one more may be under negotiation to take its place.
//
// Every S_HARD_LINK_ESTABLISH is answered once, by ESTABLISHED or REJECTED. A link that was
// ESTABLISHED or INDICATED to a client ends for it with one S_HARD_LINK_TERMINATED, unless it ended
// the link itself (A.2.1.19, A.2.1.22).
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string_view>
#include <vector>

#include "s5066d/base/ids.h"
#include "s5066d/base/metrics.h"
#include "s5066d/base/time.h"
#include "s5066d/base/trace.h"
#include "s5066d/cas/channel_access.h"
#include "s5066d/sap/actions.h"
#include "s5066d/sap/config.h"
#include "s5066d/sap/exclusive_links.h"
#include "s5066d/sap/hard_link_precedence.h"
#include "s5066d/sap/spdu.h"
#include "sis/primitives.h"

namespace s5066::sap {

enum class HardLinkState : std::uint8_t {
  waiting,     // accepted so far; a link of lower precedence is being ended first
  linking,     // caller: an Exclusive link is being made
  requesting,  // caller: type 3 sent
  indicated,   // called, Type 2: the client is asked
  active,
  terminating,  // type 6 sent
  closed,
};
std::string_view to_string(HardLinkState state);

struct HardLinkInfo {
  Address peer;
  HardLinkState state = HardLinkState::closed;
  sis::HardLinkType type = sis::HardLinkType::link_reservation;
  std::uint8_t priority = 0;
  bool we_called = false;
  std::optional<ClientId> client;  // the owner here, or the called client of a Type 2
  SapId local_sap;                 // of the owner here, or of the called client of a Type 2
  SapId remote_sap;  // of the owner there, or of the client that a Type 2 was asked for
};

class HardLinks {
 public:
  struct Options {
    HardLinkConfig config;
    Address own;
  };
  /// A bound client that asks, or that a Type 2 is asked for.
  struct Party {
    ClientId client;
    SapId sap;
    std::uint8_t rank = 0;
  };

  HardLinks(const Options& options, Outbox& outbox, Counters& counters, TraceSink& trace);

  /// Not in a broadcast session (A.1.1.3(4)). What there is when one begins, ends.
  void allow(Instant now, bool allowed);
  /// EMCON: nothing is asked of a peer.
  void set_silent(Instant now, bool silent);

  // From clients. False: a primitive that its client may not send now (an invalid primitive).
  [[nodiscard]] bool request_establish(Instant now, const Party& owner, const sis::HardLink& link);
  [[nodiscard]] bool request_terminate(Instant now, ClientId client, Address remote);
  [[nodiscard]] bool request_accept(Instant now, ClientId client, const sis::HardLink& link);
  [[nodiscard]] bool request_reject(Instant now, ClientId client,
                                    const sis::HardLinkReject& reject);
  /// It unbound or its connection is closed; it is told nothing any more.
  void on_client_gone(Instant now, ClientId client);

  // From the channel access sublayer.
  void on_link_made(Instant now, const cas::LinkMade& made);
  /// False: no call of a hard link's failed.
  bool on_link_rejected(Instant now, const cas::LinkRejected& rejected);
  bool on_link_refused(Instant now, Address peer);
  /// The link carries nothing any more. What the peer asked for over a soft link ends with that.
  void on_link_closing(Instant now, const cas::LinkClosing& closing);
  void on_link_broken(Instant now, const cas::LinkBroken& broken);
  /// Something came from the peer over the link.
  void on_traffic(Instant now, Address peer);

  /// One of the sublayers below could not send an S_PDU; only our own count.
  void on_spdu_rejected(const cas::SpduRejected& rejected);

  // S_PDU types 3 to 7. `called` is who is bound to the REMOTE SAP; `by_soft_link`: there is a
  // session with the peer that is not being ended.
  void on_spdu(Instant now, Address peer, const HardLinkRequest& request,
               const std::optional<Party>& called, bool by_soft_link);
  void on_spdu(Instant now, Address peer, const HardLinkConfirm& confirm);
  void on_spdu(Instant now, Address peer, const HardLinkRefused& refused);
  void on_spdu(Instant now, Address peer, const HardLinkTerminate& terminate);
  void on_spdu(Instant now, Address peer, const HardLinkTerminateConfirm& confirm);

  void on_deadline(Instant now);
  std::optional<Instant> next_deadline() const;

  // What there is for others.
  /// No soft link may be called for.
  bool hold_calls() const { return !sessions_.empty() || exclusive_.any_claimed(); }
  /// Soft links have to end now.
  bool end_soft_links() const;
  /// Peers whose Exclusive link is made.
  std::vector<Address> linked_peers() const;
  /// The link to the peer is, or is to be, a hard link's.
  bool governs(Address peer) const { return physical(peer) != ExclusiveLinks::State::none; }
  ExclusiveLinks::State physical(Address peer) const { return exclusive_.state(peer); }
  std::vector<Address> physical_peers() const { return exclusive_.peers(); }
  /// An Exclusive link to the peer is called for, and a soft link to it ends for that.
  bool is_calling(Address peer) const;
  /// Two clients' ARQ data to this peer goes over the active hard link.
  bool carries(Address peer, SapId local, SapId remote) const;
  /// Non-ARQ data between these, now that a hard link may have reserved the channel.
  bool allows_nonarq(Address destination, SapId local, SapId remote) const;
  std::vector<HardLinkInfo> links() const;

 private:
  /// Who breaks the physical link when the hard link is over.
  enum class Breaks : std::uint8_t { we_do, peer_does };
  struct Session {
    HardLinkState state = HardLinkState::closed;
    bool we_called = false;
    HardLinkClaim claim;
    SapId local_sap;
    SapId remote_sap;
    std::optional<ClientId> client;  // whom to tell
    sis::HardLink link;              // as the client knows it
    bool begun = false;              // ESTABLISHED or INDICATED
    /// What the client hears when the peer confirms the end; nothing when it asked for it.
    std::optional<sis::HardLinkEndReason> heard_on_confirm;
    unsigned calls = 0;
    Breaks breaks = Breaks::we_do;
    std::optional<Instant> deadline;
    std::optional<CpduId> sent;  // the last S_PDU in this state
    bool unsent = false;         // it came back

    Address peer() const { return claim.peer; }
    bool is(HardLinkState s) const { return state == s; }
    bool is_live() const { return !is(HardLinkState::terminating) && !is(HardLinkState::closed); }
  };
  Session& add(Instant now, HardLinkState state, Session session);
  Session* find(Address peer, HardLinkState state, std::optional<bool> we_called = std::nullopt);
  Session* find_of(ClientId client, Address peer);
  bool knows(Address peer) const;
  const Session* active_session() const;

  bool already_there(const HardLinkClaim& claim) const;
  const Session* blocker(const HardLinkClaim& claim) const;
  static bool is_within(const Session& session, SapId local, SapId remote);
  static HardLinkRequest request_of(const Session& session);
  std::optional<Instant> probe_at(Instant now, const Session& session) const;

  void change_state(Instant now, Session& session, HardLinkState next);
  void advance(Instant now);
  void proceed(Instant now, Session& session);
  void ask_peer(Instant now, Session& session);
  void activate(Instant now, Session& session);
  void give_way(Instant now, Session& session);
  void terminate(Instant now, Session& session, HardLinkEnd reason,
                 std::optional<sis::HardLinkEndReason> heard);
  void withdraw(Instant now, Session& session, HardLinkEnd why, sis::HardLinkRejectReason reason);
  void fail(Instant now, Session& session, sis::HardLinkRejectReason reason);
  void refuse(Instant now, Session& session, HardLinkRefusal reason);
  void close(Instant now, Session& session, Breaks breaks);
  void on_terminated(Instant now, Session& session);
  void on_session_broken(Instant now, Session& session, cas::LinkEnd how);
  void on_session_deadline(Instant now, Session& session);
  void on_session_unsent(Instant now, Session& session);

  void tell_rejected(const Session& session, sis::HardLinkRejectReason reason);
  void tell_terminated(Session& session, sis::HardLinkEndReason reason);
  /// Of this session, whose end it is when it cannot be sent.
  void say(Instant now, Session& session, const Spdu& spdu);
  void send(Instant now, Address peer, const Spdu& spdu);
  CpduId hand_down(Instant now, Address peer, const Spdu& spdu);

  const Options options_;
  Outbox& outbox_;
  Counters& counters_;
  TraceSink& trace_;
  bool allowed_ = true;
  bool silent_ = false;
  std::list<Session> sessions_;
  ExclusiveLinks exclusive_;
};

}  // namespace s5066::sap
