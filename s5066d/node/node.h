// SPDX-License-Identifier: Apache-2.0
// A whole subnet node without its sockets, clock and modem: SIS clients above (Annex A, F.16), a
// modem port below, and between them the subnetwork interface, channel access and data transfer
// sublayers. The driver calls one input, then drains poll_action(), then sets one timer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "modem/api/port.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/driven_core.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/node_counters.h"
#include "s5066d/base/result.h"
#include "s5066d/base/rng.h"
#include "s5066d/base/step_limit.h"
#include "s5066d/base/time.h"
#include "s5066d/base/trace.h"
#include "s5066d/cas/channel_access.h"
#include "s5066d/dts/data_transfer.h"
#include "s5066d/node/input_rate.h"
#include "s5066d/sap/config.h"
#include "s5066d/sap/subnetwork_interface.h"
#include "sis/framer.h"

namespace s5066 {

struct NodeConfig {
  dts::Config dts;               // contains the node's address and modem mode
  cas::Config cas;               // exchange_time and longest_cpdu_time are computed from the mode
  sap::Config sap;               // address is filled in from dts
  std::size_t clients_max = 16;  // bound at a time
  /// Clients that are not yet bound, or only probe; at least 1.
  std::size_t clients_unbound_max = 16;
  Duration partial_primitive_timeout = std::chrono::seconds(60);
  /// Octets that a client may leave unread before it is closed (it must always accept,
  /// A.2.1.14(5)).
  std::size_t client_output_octets_max = 1024 * 1024;
  /// Input above this rate stays in the client's socket until it may be read.
  InputRate::Config client_rate;
  /// Octets of a paused client that were already read from its socket; at least one primitive.
  std::size_t client_input_octets_max = 256 * 1024;
};

/// One primitive, to be handed to the socket in one send().
struct SendToClient {
  ClientId client;
  Bytes bytes;
};
/// Close after earlier output has been flushed, or without waiting if the client does not read. Do
/// not call on_client_closed() then.
struct CloseClient {
  ClientId client;
  bool discard_unsent = false;
};
/// Stop reading the client's socket, or continue.
struct PauseClient {
  ClientId client;
  bool paused = false;
};
using NodeAction = std::variant<modem::Command, SendToClient, CloseClient, PauseClient>;

struct ClientStatus {
  ClientId id;
  std::string origin;
  bool bound = false;
  SapId sap;
  std::uint8_t rank = 0;
  bool flow_off = false;
  std::size_t queued_updus = 0;
  std::size_t queued_octets = 0;
};

struct LinkStatus {
  Address peer;
  cas::LinkState state = cas::LinkState::idle;
  cas::LinkType type = cas::LinkType::nonexclusive;  // unless idle
  bool we_called = false;
  std::optional<Instant> since;        // empty: idle since the node started, or for very long
  std::size_t queued_octets = 0;       // U_PDU octets accepted for this peer and not acknowledged
  std::size_t outstanding_octets = 0;  // the part of them that the sublayers below hold
  std::uint64_t acknowledged_octets = 0;  // U_PDU octets since the node started
  std::uint64_t received_octets = 0;      // U_PDU octets since the node started
  // The next fields are set while there is a link:
  std::optional<modem::Mode> transmit_mode;
  std::optional<modem::Mode> advised_mode;  // mode that the peer advises
  // Why the peer refused the mode that we asked for last.
  std::optional<pdu::DrcReason> mode_refused;
  std::optional<std::uint8_t> capabilities;  // the peer's, bits of EOW type 4
};

struct NodeStatus {
  Address address;
  modem::Mode mode;
  bool transmitting = false;
  bool channel_busy = false;
  bool channel_occupied = false;
  bool modem_working = true;
  dts::Duplex duplex = dts::Duplex::half;
  bool broadcast_session = false;
  bool emcon = false;
  sap::Holdings holdings;
  std::vector<ClientStatus> clients;
  std::vector<LinkStatus> links;  // peers with a link, or with data that waits for one
  std::vector<sap::HardLinkInfo> hard_links;
  std::vector<sap::PeerClocks::Difference> clocks_apart;
};

class Node {
 public:
  Node(const NodeConfig& config, Rng& rng, TraceSink& trace);
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// Adds a client. At the limit of unbound clients another of them is closed for it.
  ClientId on_client_connected(Instant now, const sap::ClientOrigin& origin = {});
  void on_client_bytes(Instant now, ClientId client, ByteSpan bytes);
  /// Call when the client's connection has taken `octets` more, in the order of SendToClient. For
  /// TCP, call it when the other end has acknowledged them, not when they are written, because an
  /// acknowledged octet can still be read when the connection is reset. Only then is anything
  /// confirmed to the sender of a U_PDU.
  void on_client_taken(Instant now, ClientId client, std::size_t octets);
  /// `why` is `left`, or `dead_peer` if the operating system ended the connection. The last
  /// `unwritten` octets of the output have certainly not reached the client.
  void on_client_closed(Instant now, ClientId client, ClientEnd why = ClientEnd::left,
                        std::size_t unwritten = 0);
  /// Counts a client that was not let in.
  void on_client_refused() { counters_.add(Counter::clients_refused); }
  /// Call when the number of octets has grown that the socket has not taken yet.
  void on_client_backlog(Instant now, ClientId client, std::size_t unsent_octets);
  void on_modem_event(Instant now, const modem::Event& event);
  /// Sets the date for TIME TO DIE on the air; the node extrapolates from the last call.
  void on_utc(Instant now, UtcSeconds utc);

  /// Begins or ends an exclusive broadcast session: no ARQ, no links (A.1.1.3, A.3.2.3). Fails with
  /// `refused` if a broadcast-only node is to end it.
  Result<void> request_broadcast_session(Instant now, bool on);
  /// EMCON: while on, nothing keys the transmitter. Data is held, and its time to live runs.
  void request_silence(Instant now, bool on);

  /// Asks the station at the other end of a link to agree on the mode of our transmissions to it
  /// (C.6.4). The result is traced, and status() tells it. Fails with `link_down` without a link;
  /// with `refused` if adaptation chooses the modes, if the mode is already in use, if data rate
  /// change is off, or if another change is under way; with `unsupported` if the peer cannot change
  /// that, or if no transmission would hold a frame.
  Result<void> request_mode(Instant now, Address peer, const modem::Mode& mode);

  // Calls for an operator; see the methods of the same name in sap::SubnetworkInterface.
  Result<void> request_sap_open(Instant now, SapId sap, bool open);
  Result<void> request_disconnect(Instant now, ClientId client);
  Result<void> request_break(Instant now, Address peer);
  std::size_t request_purge(Instant now, const sap::UpduFilter& filter);
  sap::UpduList updus(const sap::UpduFilter& filter, std::size_t listed_max) const {
    return sap_.updus(filter, listed_max);
  }

  void on_deadline(Instant now);
  std::optional<Instant> next_deadline() const;
  std::optional<NodeAction> poll_action();

  NodeStatus status() const;
  /// Returns the peers for whose link the sublayers hold states that do not agree; none, unless
  /// this program has a fault.
  std::vector<Address> links_in_disagreement() const;
  dts::Duplex duplex() const { return dts_.duplex(); }
  const Counters& counters() const;

 private:
  struct Client {
    explicit Client(const InputRate::Config& config) : rate(config) {}
    sis::Framer framer;
    InputRate rate;
    bool data_paused = false;  // set by the subnetwork interface
    bool told_to_pause = false;
    bool backlogged = false;
    bool understood = false;  // a complete frame has come
    std::optional<Instant> partial_since;
    std::optional<Instant> held_since;  // time since which the framer holds its octets
    std::uint64_t sent_octets = 0;
    std::uint64_t taken_octets = 0;
    struct Receipt {
      std::uint64_t end = 0;  // end of the indication, in octets sent
      sap::ReceiptId id;
    };
    // Indications of which the subnetwork interface wants to know when they are taken.
    std::deque<Receipt> receipts;
  };

  void serve(Instant now, ClientId id);
  void tell_pause(Instant now, ClientId id, Client& client);
  void on_client_deadline(Instant now);
  std::optional<Instant> fails_at_of(const Client& client) const;
  void note_deadline(const Client& client);
  void take_frame(Instant now, ClientId id, const sis::Framer::Item& item, Duration held);
  void fail(Instant now, ClientId id, ClientEnd why);
  bool refuse_mistaken(Instant now, ClientId id, const Client& client);
  void note_idle(Instant now, Address peer);
  void lose_unwritten(Instant now, ClientId id, std::size_t unwritten);
  Result<void> switch_broadcast(Instant now, bool on);
  void switch_silence(Instant now, bool on);
  void manage(Instant now, const sap::ManagementAsked& asked);
  Result<std::vector<std::string>> answer_to(Instant now, const sap::ManagementAsked& asked,
                                             std::function<void()>& then);
  void take_bytes(Instant now, ClientId id, ByteSpan bytes);
  void pump(Instant now);
  void drain(Instant now);
  void tell_capacity(Instant now, Address peer);

  // Actions of a sublayer: go up, up or down, and down.
  void from_dts(Instant now, dts::Action& action);
  void from_cas(Instant now, cas::Action& action);
  void from_sap(Instant now, sap::Action& action);
  void on_peer_active(Instant now, const dts::PeerActive& active);
  void send_to_client(const sap::SendPrimitive& send);
  void close_client(const sap::CloseClient& close);
  void pause_client(Instant now, const sap::PauseData& pause);

  const NodeConfig config_;
  Counters counters_;
  dts::DataTransfer dts_;
  cas::ChannelAccess cas_;
  sap::SubnetworkInterface sap_;
  StepLimit steps_;
  std::map<ClientId, Client> clients_;
  /// No client is due before this time, which may be too early.
  std::optional<Instant> next_client_deadline_;
  std::vector<ClientId> resumed_;  // clients that may have frames from before their pause
  std::uint32_t last_client_id_ = 0;
  std::map<Address, Instant> idle_since_;  // peers whose link or call has ended
  bool modem_working_ = true;
  Instant now_{};
  std::deque<NodeAction> actions_;
};
static_assert(DrivenCore<Node>);

}  // namespace s5066
