// SPDX-License-Identifier: Apache-2.0
// Subnetwork interface sublayer (Annex A): serves the clients of one node and exchanges S_PDUs with
// other nodes over the links that the channel access sublayer makes. It joins its parts: clients,
// outgoing U_PDUs, incoming U_PDUs, soft link sessions and hard links.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "s5066d/base/driven_core.h"
#include "s5066d/base/node_counters.h"
#include "s5066d/base/result.h"
#include "s5066d/base/trace.h"
#include "s5066d/base/utc_clock.h"
#include "s5066d/cas/channel_access.h"
#include "s5066d/sap/actions.h"
#include "s5066d/sap/client_table.h"
#include "s5066d/sap/config.h"
#include "s5066d/sap/hard_links.h"
#include "s5066d/sap/link_manager.h"
#include "s5066d/sap/peer_counts.h"
#include "s5066d/sap/submission.h"
#include "s5066d/sap/unidata_receiver.h"
#include "s5066d/sap/unidata_sender.h"
#include "sis/codec.h"
#include "sis/primitives.h"

namespace s5066::sap {

struct ClientInfo {
  ClientId id;
  std::string origin;
  std::optional<Binding> binding;
  bool flow_off = false;
  StorageLedger::Usage stored;  // accepted and not ended
};

/// A U_PDU that was accepted and has not ended.
struct UpduInfo {
  UpduId id;
  std::optional<ClientId> client;  // empty: it has gone
  Address destination;
  SapId source_sap;
  SapId destination_sap;
  std::uint8_t priority = 0;
  std::size_t octets = 0;
  Duration age{};
  Duration time_left{};  // time until its time to die; negative if only a confirmation is awaited
  unsigned attempts = 0;
  bool queued = false;  // the U_PDU was not handed down, so it can be purged
  std::string_view waits_for;
};

/// The oldest U_PDUs that fit a filter, and the number of all that fit.
struct UpduList {
  std::vector<UpduInfo> updus;
  std::size_t total = 0;
};

struct PeerInfo {
  Address peer;
  std::size_t queued_octets = 0;       // U_PDU octets accepted and not acknowledged
  std::size_t outstanding_octets = 0;  // S_PDU octets that the sublayers below hold
  std::uint64_t acknowledged_octets = 0;
  std::uint64_t received_octets = 0;
};

/// State of the link to one peer, as its two users in this sublayer see it. Between events it
/// agrees with the state in the channel access sublayer: see link_views_agree().
struct LinkView {
  LinkManager::State session = LinkManager::State::down;
  ExclusiveLinks::State exclusive = ExclusiveLinks::State::none;
};

/// Data held for clients. All values are 0 once everything has ended.
struct Holdings {
  std::size_t updus_queued = 0;  // includes our own delivery confirmations
  std::size_t updus_below = 0;  // U_PDUs that were handed to the sublayers below and have not ended
  std::size_t updus_awaiting = 0;  // acknowledged; their client's confirmation is to come
  std::size_t octets_charged = 0;  // charged to the accounts of clients
  std::size_t untaken = 0;         // indications that a client has not taken and is to confirm
  friend bool operator==(const Holdings&, const Holdings&) = default;
};

// Driven as s5066d/base/driven_core.h says.
class SubnetworkInterface {
 public:
  SubnetworkInterface(const Config& config, Counters& counters, TraceSink& trace);
  SubnetworkInterface(const SubnetworkInterface&) = delete;
  SubnetworkInterface& operator=(const SubnetworkInterface&) = delete;

  // Calls from clients.
  /// Adds a connection. If there are too many without a bind, another of them is closed for it.
  void on_client_connected(Instant now, ClientId client, const ClientOrigin& origin = {});
  /// `why` is `left`, or `dead_peer` if the operating system ended the connection.
  void on_client_closed(Instant now, ClientId client, ClientEnd why = ClientEnd::left);
  /// Call when the connection is of no more use: a primitive stays incomplete, the client does not
  /// read its output, or it uses another protocol.
  void on_client_failed(Instant now, ClientId client, ClientEnd why);
  /// Call when the client has taken all octets of the indication with this receipt (SendPrimitive).
  void on_indication_taken(Instant now, ReceiptId receipt);
  /// Call when the client's connection has ended before all octets of these indications were
  /// written to it.
  void on_indications_lost(Instant now, std::span<const ReceiptId> receipts);
  /// Handles a primitive that has waited here for at least `held`.
  void on_primitive(Instant now, ClientId client, sis::Primitive primitive, Duration held = {});
  /// Call for input that the framer or the decoder refused; `type` is 0 if it is not known.
  void on_invalid_primitive(Instant now, ClientId client, std::uint8_t type);

  // State of the whole node.
  /// Begins or ends an exclusive broadcast session (A.3.2.3). Fails with `refused` if a
  /// broadcast-only node is to end it.
  Result<void> request_broadcast_session(Instant now, bool on);
  /// Returns what request_broadcast_session() would return.
  Result<void> check_broadcast_session(bool on) const;
  /// EMCON: U_PDUs are held, and their time to live runs.
  void request_silence(Instant now, bool on);
  void on_modem_state(Instant now, bool working);
  bool in_broadcast_session() const { return broadcast_; }
  bool is_silent() const { return silent_; }

  // Management by a client of rank 15 (A.2.1.15, A.2.1.16).
  /// Sends lines of text, in as many S_MANAGEMENT_MSG_INDICATIONs as they need.
  void on_management_answer(Instant now, ClientId client, std::uint8_t message_type,
                            const std::vector<std::string>& lines);
  bool holds(ClientId client, SapId sap) const { return clients_.client_at(sap) == client; }
  /// Ends the bind of that SAP and shuts it, or opens it again. Fails with `not_found` above 15.
  Result<void> request_sap_open(Instant now, SapId sap, bool open);

  // For an operator.
  /// Fails with `not_found` if there is no such client. A bound one gets S_UNBIND_INDICATION.
  Result<void> request_disconnect(Instant now, ClientId client);
  /// Fails with `not_found` without a soft link or a call for one, and with `refused` if a hard
  /// link uses the link.
  Result<void> request_break(Instant now, Address peer);
  UpduList updus(const UpduFilter& filter, std::size_t listed_max) const;
  /// Rejects U_PDUs that fit and are not handed down yet. Returns their number.
  std::size_t request_purge(Instant now, const UpduFilter& filter);

  // Events of the channel access sublayer.
  void on_link_made(Instant now, const cas::LinkMade& made);
  void on_link_rejected(Instant now, const cas::LinkRejected& rejected);
  void on_link_closing(Instant now, const cas::LinkClosing& closing);
  void on_link_broken(Instant now, const cas::LinkBroken& broken);
  /// Sets how many octets a transmission of full length over the link to this peer holds. The value
  /// holds while the link lasts or until the next call.
  void on_link_capacity(Instant now, Address peer, std::size_t octets);
  /// Call when a RequestLink could not even be tried.
  void on_link_refused(Instant now, Address peer);
  /// Call when data comes in over the link although no S_PDU is complete yet: the session is not
  /// idle.
  void on_peer_active(Instant now, Address peer);
  /// Call when a station transmits, perhaps this peer over the link.
  void on_peer_maybe_active(Instant now, Address peer) { links_.on_maybe_traffic(now, peer); }
  /// Call when S_PDUs of the peer may come again, as after a broken link.
  void on_connection_reset(Address peer) { receiver_.on_connection_reset(peer); }
  void on_spdu(Instant now, cas::SpduIndication indication);
  /// Call when the peer has the S_PDU and waits for older ones: no part of it is to be sent again.
  void on_spdu_arrived(Instant now, CpduId id);
  void on_spdu_confirm(Instant now, const cas::SpduConfirm& confirm);
  void on_spdu_rejected(Instant now, const cas::SpduRejected& rejected);

  void on_utc(Instant now, UtcSeconds utc);
  void on_deadline(Instant now);
  std::optional<Instant> next_deadline() const;
  std::optional<Action> poll_action();

  // For operators.
  std::vector<ClientInfo> clients() const;
  std::vector<PeerInfo> peers() const;
  PeerInfo peer(Address address) const;
  std::size_t updus_queued() const { return sender_.queue().size(); }
  std::vector<HardLinkInfo> hard_links() const { return hard_links_.links(); }
  Holdings holdings() const;
  LinkView link_view(Address peer) const {
    return {links_.state(peer), hard_links_.physical(peer)};
  }
  /// Returns the peers whose link_view() differs from that of a peer without a link.
  std::vector<Address> peers_with_links() const;
  /// Returns the peers whose clock is known to be behind ours.
  std::vector<PeerClocks::Difference> clocks_apart() const {
    return receiver_.clocks().differences();
  }

 private:
  // Primitives of clients.
  void on_request(Instant now, ClientId client, const sis::BindRequest& request);
  void on_request(Instant now, ClientId client, const sis::UnbindRequest& request);
  void on_request(Instant now, ClientId client, sis::ManagementRequest& request);
  void on_request(Instant now, ClientId client, sis::UnidataRequest& request);
  void on_request(Instant now, ClientId client, sis::ExpeditedUnidataRequest& request);
  void on_request(Instant now, ClientId client, const sis::HardLinkEstablish& request);
  void on_request(Instant now, ClientId client, const sis::HardLinkTerminate& request);
  void on_request(Instant now, ClientId client, const sis::HardLinkAccept& request);
  void on_request(Instant now, ClientId client, const sis::HardLinkReject& request);
  template <typename NotForServers>
  void on_request(Instant now, ClientId client, const NotForServers& request);
  void on_keep_alive(Instant now, ClientId client, Duration held);
  void submit(Instant now, ClientId client, Submission submission);
  void deliver_to_ourselves(Instant now, UnidataItem item);
  void answer(Instant now, const UntakenIndications::Subject& subject, bool delivered);
  void invalid(Instant now, ClientId client, std::uint8_t type);
  void close_client(Instant now, ClientId client, ClientEnd why, bool discard_unsent = false);
  void unbind_client(Instant now, ClientId client, ClientEnd why);
  void end_service(Instant now, ClientId client);

  std::string_view waits_for(const UnidataItem& item) const;
  void trace_discarded(Instant now, const cas::SpduIndication& from, DiscardReason why);
  void on_hard_link_spdu(Instant now, Address peer, const Spdu& spdu);
  std::optional<HardLinks::Party> party_at(SapId sap) const;

  sis::SubnetAvailability node_availability() const;
  ClientTable::Availability availability() const;
  void settle(Instant now);

  const Config config_;
  Counters& counters_;
  TraceSink& trace_;
  Outbox outbox_;
  UtcClock utc_;
  PeerCounts counts_;
  ClientTable clients_;
  UnidataSender sender_;
  UnidataReceiver receiver_;
  LinkManager links_;
  HardLinks hard_links_;
  bool broadcast_;
  bool silent_;
  bool modem_works_ = true;
};
static_assert(DrivenCore<SubnetworkInterface>);

}  // namespace s5066::sap
