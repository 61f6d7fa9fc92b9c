// The connections of SIS clients: who is bound to what, who is watched for silence and invalid
// primitives, and who is told to hold back (A.2.1.1 to A.2.1.5, A.2.1.14, A.2.1.17). What becomes
// of a client's U_PDUs is not its business.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "s5066d/base/ids.h"
#include "s5066d/base/metrics.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"
#include "s5066d/base/trace.h"
#include "s5066d/sap/actions.h"
#include "s5066d/sap/client_watch.h"
#include "s5066d/sap/config.h"
#include "s5066d/sap/sap_table.h"
#include "s5066d/sap/storage_ledger.h"

namespace s5066::sap {

class ClientTable {
 public:
  struct Client {
    ClientWatch watch;
    std::uint64_t household = 0;
    std::uint8_t priority_max = kPriorityMax;
    std::string origin;  // for operators
    bool flow_off = false;
    bool paused = false;
    sis::SubnetAvailability told = kNormal;
  };
  /// What a client may take for granted when it binds.
  static constexpr sis::SubnetAvailability kNormal{sis::NodeStatus::on,
                                                   sis::AvailabilityReason::unspecified};

  ClientTable(const Config& config, Outbox& outbox, Counters& counters, TraceSink& trace);

  /// Who has to go before one more is connected: of the household that has most connections without
  /// a bind, the oldest of them. So nobody who only connects can keep others out.
  std::optional<ClientId> victim_of_connect() const;
  /// After that one has gone.
  void connect(Instant now, ClientId client, const ClientOrigin& origin);
  /// The SAP is free at once; the connection stays.
  void unbind(Instant now, ClientId client, ClientEnd why);
  /// After unbind() the connection stays, and its next bind starts afresh.
  void rest(Instant now, ClientId client);
  void forget(ClientId client);
  /// The node ends the connection: traced, counted, and forgotten.
  void close(Instant now, ClientId client, ClientEnd why);
  void trace_invalid(Instant now, ClientId client, std::uint8_t type) const;

  bool knows(ClientId client) const { return clients_.count(client) > 0; }
  /// For anything but on_heard().
  ClientWatch& watch(ClientId client) {
    watch_changed_ = true;
    return clients_.at(client).watch;
  }
  void on_heard(Instant now, ClientId client) { clients_.at(client).watch.on_heard(now); }
  const Binding* binding(ClientId client) const { return saps_.binding(client); }
  std::uint8_t priority_max(ClientId client) const { return clients_.at(client).priority_max; }
  std::optional<ClientId> client_at(SapId sap) const { return saps_.client_at(sap); }
  const std::map<ClientId, Client>& all() const { return clients_; }

  std::optional<ClientId> victim_of(ClientId client, const sis::BindRequest& request) const {
    return saps_.victim_of(client, request);
  }
  void allow_arq(bool allowed) { saps_.allow_arq(allowed); }
  void open(SapId sap, bool open) { saps_.open(sap, open); }
  /// S_BIND_REQUEST, answered. False when it counts as invalid.
  [[nodiscard]] bool bind(Instant now, ClientId client, const sis::BindRequest& request);

  /// Sends the probes that are due; returns the clients that are to be closed as inactive.
  std::vector<ClientId> watch_all(Instant now);
  /// For those whose room has changed since the last call.
  void control_flow(Instant now, StorageLedger& ledger);
  /// What the clients are to know of the node's state.
  struct Availability {
    sis::SubnetAvailability node = kNormal;
    /// A hard link of this SAP's holds the channel, and others can only receive.
    std::optional<SapId> reserved_for;
    friend bool operator==(const Availability&, const Availability&) = default;
  };
  /// S_SUBNET_AVAILABILITY to each bound client that was told otherwise before (A.2.1.26).
  void announce(const Availability& availability);
  /// Perhaps too early, where a client has been heard since it was computed.
  std::optional<Instant> next_deadline() const { return watch_changed_ ? earliest() : next_watch_; }

 private:
  TracedClient traced(ClientId client, std::string_view reason) const;
  std::optional<Instant> earliest() const;
  void control_flow(Instant now, ClientId id, Client& client, const StorageLedger& ledger);

  const Config& config_;
  Outbox& outbox_;
  Counters& counters_;
  TraceSink& trace_;
  std::map<ClientId, Client> clients_;
  SapTable saps_;
  // Events come by the thousand in a second, and few of them are anything to all clients, so what
  // concerns all is kept from the last time.
  std::optional<Instant> next_watch_;  // no client is due before
  bool watch_changed_ = false;         // … unless one has changed
  Availability announced_;
  bool news_for_some_ = false;  // a client is bound that was not told of it
};

}  // namespace s5066::sap
