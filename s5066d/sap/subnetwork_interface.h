// Subnetwork interface sublayer (Annex A): serves the clients of one node and exchanges S_PDUs with
// other nodes over the links that the channel access sublayer makes.
//
// The life of a U_PDU: accepted from a client, queued, handed down when a session with its
// destination is up, acknowledged, perhaps confirmed by the other client. When a link breaks, what
// was not acknowledged is queued again. Whatever way it ends, it ends in finish(), once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "s5066d/base/metrics.h"
#include "s5066d/base/result.h"
#include "s5066d/base/trace.h"
#include "s5066d/cas/channel_access.h"
#include "s5066d/sap/client_watch.h"
#include "s5066d/sap/config.h"
#include "s5066d/sap/delivery_table.h"
#include "s5066d/sap/link_manager.h"
#include "s5066d/sap/repeats.h"
#include "s5066d/sap/sap_table.h"
#include "s5066d/sap/storage_ledger.h"
#include "s5066d/sap/unidata_queue.h"
#include "sis/codec.h"
#include "sis/primitives.h"

namespace s5066::sap {

struct SendPrimitive {
  ClientId client;
  sis::Primitive primitive;
};
/// After what was sent before; the client is forgotten already.
struct CloseClient {
  ClientId client;
};
/// Take no further primitives from the client until told otherwise.
struct PauseClient {
  ClientId client;
  bool paused = false;
};

using Action = std::variant<SendPrimitive, CloseClient, PauseClient, RequestLink, RequestBreak,
                            cas::SpduRequest>;

struct ClientInfo {
  ClientId id;
  std::optional<Binding> binding;
  bool flow_off = false;
  StorageLedger::Usage stored;  // accepted and not ended
};

struct PeerInfo {
  Address peer;
  std::size_t queued_octets = 0;       // U_PDU octets accepted and not acknowledged
  std::size_t outstanding_octets = 0;  // S_PDU octets that the sublayers below hold
  std::uint64_t acknowledged_octets = 0;
  std::uint64_t received_octets = 0;
};

class SubnetworkInterface {
 public:
  SubnetworkInterface(const Config& config, Counters& counters, TraceSink& trace);

  // From clients.
  Result<void> on_client_connected(Instant now, ClientId client);
  void on_client_closed(Instant now, ClientId client);
  /// Its connection is of no more use: half a primitive that stays half, or output it does not
  /// read.
  void on_client_failed(Instant now, ClientId client);
  void on_primitive(Instant now, ClientId client, sis::Primitive primitive);
  /// What the framer or the decoder refused; `type` is 0 when not known.
  void on_invalid_primitive(Instant now, ClientId client, std::uint8_t type);

  // From the channel access sublayer.
  void on_link_made(Instant now, const cas::LinkMade& made);
  void on_link_rejected(Instant now, const cas::LinkRejected& rejected);
  void on_link_broken(Instant now, const cas::LinkBroken& broken);
  /// A RequestLink could not even be tried.
  void on_link_refused(Instant now, Address peer);
  /// Data is coming in over the link, although no S_PDU is complete yet: the session is not idle.
  void on_peer_active(Instant now, Address peer) { links_.on_traffic(now, peer); }
  void on_spdu(Instant now, cas::SpduIndication indication);
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
  std::size_t updus_queued() const { return queue_.size(); }

 private:
  struct Client {
    ClientWatch watch;
    bool flow_off = false;
    bool paused = false;
  };
  struct PeerCount {
    std::uint64_t acknowledged = 0;
    std::uint64_t received = 0;
  };
  enum class Outcome : std::uint8_t { confirmed, rejected, expired, dropped };

  // Primitives of clients.
  void on_request(Instant now, ClientId client, const sis::BindRequest& request);
  void on_request(Instant now, ClientId client, const sis::UnbindRequest& request);
  void on_request(Instant now, ClientId client, const sis::KeepAlive& request);
  void on_request(Instant now, ClientId client, sis::UnidataRequest& request);
  template <typename NotForServers>
  void on_request(Instant now, ClientId client, const NotForServers& request);
  void invalid(Instant now, ClientId client, std::uint8_t type);
  void close_client(Instant now, ClientId client, std::optional<sis::UnbindReason> reason);
  void release(Instant now, ClientId client, std::uint8_t reason);

  // U_PDUs on their way out.
  void refuse(ClientId client, const sis::UnidataRequest& request, sis::RejectReason reason,
              bool tell);
  void accept(Instant now, ClientId client, const Binding& binding,
              const sis::DeliveryMode& delivery, sis::UnidataRequest& request);
  void deliver_to_ourselves(Instant now, UnidataItem item);
  void requeue(Instant now, UnidataItem item);
  void await_client(Instant now, UnidataItem item);
  void confirm(Instant now, UnidataItem item);
  void reject(Instant now, UnidataItem item, sis::RejectReason reason);
  void finish(Instant now, UnidataItem& item, Outcome outcome);
  Bytes response_part(const UnidataItem& item) const;

  // S_PDUs from other nodes.
  void on_data(Instant now, const cas::SpduIndication& from, DataSpdu data);
  void on_answer(Instant now, Address peer, SapId source, SapId destination, ByteSpan part,
                 bool delivered);
  void answer(Instant now, Address peer, const DataSpdu& data, bool delivered);
  bool is_for_us(Address destination) const;
  bool has_died(Instant now, const DataSpdu& data) const;

  // Before actions are handed out. Not with each event: when a link ends, its U_PDUs come back one
  // by one and the news about the link among them.
  void touch(Instant now);
  void settle(Instant now);
  void expire(Instant now);
  void watch_clients(Instant now);
  void plan_links(Instant now);
  void feed(Instant now);
  void hand_down(Instant now, UnidataItem item);
  void control_flow();

  void send(ClientId client, sis::Primitive primitive);
  std::optional<UtcSeconds> utc_at(Instant at) const;
  PeerCount& count_of(Address peer);

  const Config config_;
  Counters& counters_;
  TraceSink& trace_;
  std::map<ClientId, Client> clients_;
  SapTable saps_;
  StorageLedger ledger_;
  UnidataQueue queue_;
  DeliveryTable deliveries_;
  LinkManager links_;
  RepeatMarker repeat_marker_;
  RepeatFilter repeat_filter_;
  std::map<Address, PeerCount> counts_;
  struct Utc {
    Instant at{};
    UtcSeconds value;
  };
  std::optional<Utc> utc_;
  /// Lanes (none: non-ARQ) whose S_PDU was refused for want of room below; they wait until
  /// something there has ended.
  std::set<std::optional<Address>> refused_below_;
  Instant now_{};  // of the last event
  bool unsettled_ = false;
  std::uint64_t last_updu_id_ = 0;
  std::uint64_t last_cpdu_id_ = 0;
  std::deque<Action> actions_;
};

}  // namespace s5066::sap
