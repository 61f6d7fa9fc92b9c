// SPDX-License-Identifier: Apache-2.0
// Hard links (A.1.1.2, A.3.2.2): a client asks for them, S_PDU types 3 to 7 agree them with the
// peer, and either side ends them. At most one is active; one more may be under negotiation to
// replace it.
//
// Every S_HARD_LINK_ESTABLISH gets one answer, ESTABLISHED or REJECTED. A client to which a link
// was ESTABLISHED or INDICATED gets one S_HARD_LINK_TERMINATED when it ends, unless the client
// ended the link itself (A.2.1.19, A.2.1.22).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "s5066d/base/ids.h"
#include "s5066d/base/node_counters.h"
#include "s5066d/base/time.h"
#include "s5066d/base/trace.h"
#include "s5066d/cas/channel_access.h"
#include "s5066d/sap/actions.h"
#include "s5066d/sap/config.h"
#include "s5066d/sap/exclusive_links.h"
#include "s5066d/sap/hard_link_table.h"
#include "s5066d/sap/spdu.h"
#include "sis/primitives.h"

namespace s5066::sap {

struct HardLinkInfo {
  Address peer;
  HardLinkState state = HardLinkState::closed;
  sis::HardLinkType type = sis::HardLinkType::link_reservation;
  std::uint8_t priority = 0;
  bool we_called = false;
  std::optional<ClientId> client;  // the owner here, or the called client of a Type 2
  SapId local_sap;                 // SAP of our owner, or of our called client of a Type 2
  SapId remote_sap;  // SAP of the peer's owner, or of the peer's client that a Type 2 names
};

class HardLinks {
 public:
  struct Options {
    HardLinkConfig config;
    Address own;
  };
  /// A bound client that asks for a hard link, or that a Type 2 names.
  struct Party {
    ClientId client;
    SapId sap;
    std::uint8_t rank = 0;
  };

  HardLinks(const Options& options, Outbox& outbox, Counters& counters, TraceSink& trace);

  /// Forbids hard links in a broadcast session (A.1.1.3(4)). Those that exist when one begins are
  /// ended.
  void allow(Instant now, bool allowed);
  /// EMCON: asks no peer for anything while on.
  void set_silent(Instant now, bool silent);

  // Calls from clients. They return false if the client may not send the primitive now, which makes
  // it invalid.
  [[nodiscard]] bool request_establish(Instant now, const Party& owner, const sis::HardLink& link);
  [[nodiscard]] bool request_terminate(Instant now, ClientId client, Address remote);
  [[nodiscard]] bool request_accept(Instant now, ClientId client, const sis::HardLink& link);
  [[nodiscard]] bool request_reject(Instant now, ClientId client,
                                    const sis::HardLinkReject& reject);
  /// Call when the client has unbound or its connection is closed. It is told nothing any more.
  void on_client_gone(Instant now, ClientId client);

  // Events of the channel access sublayer.
  void on_link_made(Instant now, const cas::LinkMade& made);
  /// Returns false if the failed call was not that of a hard link.
  bool on_link_rejected(Instant now, const cas::LinkRejected& rejected);
  bool on_link_refused(Instant now, Address peer);
  /// Call when the link carries no more data. A request of the peer over a soft link ends with that
  /// link.
  void on_link_closing(Instant now, const cas::LinkClosing& closing);
  void on_link_broken(Instant now, const cas::LinkBroken& broken);
  /// Call when anything came from the peer over the link.
  void on_traffic(Instant now, Address peer);

  /// Call when a sublayer below could not send an S_PDU. S_PDUs of other parts are ignored.
  void on_spdu_rejected(const cas::SpduRejected& rejected);

  // S_PDU types 3 to 7. `called` is the client bound to the REMOTE SAP. `by_soft_link` is true if
  // there is a session with the peer that is not being ended.
  void on_spdu(Instant now, Address peer, const HardLinkRequest& request,
               const std::optional<Party>& called, bool by_soft_link);
  void on_spdu(Instant now, Address peer, const HardLinkConfirm& confirm);
  void on_spdu(Instant now, Address peer, const HardLinkRefused& refused);
  void on_spdu(Instant now, Address peer, const HardLinkTerminate& terminate);
  void on_spdu(Instant now, Address peer, const HardLinkTerminateConfirm& confirm);

  void on_deadline(Instant now);
  std::optional<Instant> next_deadline() const;

  // State for the other parts of the sublayer.
  /// True if no soft link may be called for.
  bool hold_calls() const { return !sessions_.empty() || exclusive_.any_claimed(); }
  /// True if soft links have to end now.
  bool end_soft_links() const;
  /// Returns the peers whose Exclusive link is made.
  std::vector<Address> linked_peers() const;
  /// True if the link to the peer belongs to a hard link, or will.
  bool governs(Address peer) const { return physical(peer) != ExclusiveLinks::State::none; }
  ExclusiveLinks::State physical(Address peer) const { return exclusive_.state(peer); }
  std::vector<Address> physical_peers() const { return exclusive_.peers(); }
  /// True if an Exclusive link to the peer is being called for, which ends a soft link to it.
  bool is_calling(Address peer) const;
  /// True if ARQ data between the two clients goes over the active hard link to this peer.
  bool carries(Address peer, SapId local, SapId remote) const;
  /// True if non-ARQ data may go between the two clients, although a hard link may have reserved
  /// the channel.
  bool allows_nonarq(Address destination, SapId local, SapId remote) const;
  std::vector<HardLinkInfo> links() const;

 private:
  using Session = HardLinkSession;
  using Breaks = HardLinkSession::Breaks;

  /// Returns the live session of the same request of this peer.
  Session* find_repeated(Address peer, const HardLinkRequest& request);
  void take_request(Instant now, Session session);
  static bool is_within(const Session& session, SapId local, SapId remote);
  static HardLinkRequest request_of(const Session& session);
  std::optional<Instant> probe_at(Instant now, const Session& session) const;

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
  /// Sends an S_PDU of this session. If it cannot be sent, the session ends.
  void say(Instant now, Session& session, const Spdu& spdu);
  void send(Instant now, Address peer, const Spdu& spdu);
  CpduId hand_down(Instant now, Address peer, const Spdu& spdu);

  const Options options_;
  Outbox& outbox_;
  Counters& counters_;
  bool allowed_ = true;
  bool silent_ = false;
  HardLinkTable sessions_;
  ExclusiveLinks exclusive_;
};

}  // namespace s5066::sap
