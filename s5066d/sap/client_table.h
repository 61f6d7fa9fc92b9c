// SPDX-License-Identifier: Apache-2.0
// The connections of SIS clients: their binds, the watch for silence and invalid primitives, and
// flow control (A.2.1.1 to A.2.1.5, A.2.1.14, A.2.1.17). Their U_PDUs are handled elsewhere.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "s5066d/base/ids.h"
#include "s5066d/base/node_counters.h"
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
    std::uint64_t host_key = 0;
    std::uint8_t priority_max = kPriorityMax;
    std::string origin;  // origin as operators see it
    bool flow_off = false;
    bool paused = false;
    sis::SubnetAvailability told = kNormal;
  };
  /// Availability that a client may assume when it binds.
  static constexpr sis::SubnetAvailability kNormal{sis::NodeStatus::on,
                                                   sis::AvailabilityReason::unspecified};

  ClientTable(const Config& config, Outbox& outbox, Counters& counters, TraceSink& trace);

  /// Returns the connection to close before one more is connected. It is the oldest one without a
  /// bind of the host that has most of them, so that a host that only connects cannot keep others
  /// out.
  std::optional<ClientId> victim_of_connect() const;
  /// Adds a connection; call after the one of victim_of_connect() has been closed.
  void connect(Instant now, ClientId client, const ClientOrigin& origin);
  /// Frees the SAP at once; the connection stays.
  void unbind(Instant now, ClientId client, ClientEnd why);
  /// Prepares the connection for another bind after unbind().
  void rest(Instant now, ClientId client);
  void forget(ClientId client);
  /// Closes a connection from the node's side: traces, counts and forgets it.
  void close(Instant now, ClientId client, ClientEnd why);
  void trace_invalid(Instant now, ClientId client, std::uint8_t type) const;

  bool knows(ClientId client) const { return clients_.count(client) > 0; }
  /// Returns the watch for any call except on_heard().
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
  /// Answers S_BIND_REQUEST. Returns false if the request counts as an invalid primitive.
  [[nodiscard]] bool bind(Instant now, ClientId client, const sis::BindRequest& request);

  /// Sends due probes; returns the clients to be closed as inactive.
  std::vector<ClientId> watch_all(Instant now);
  /// Sends flow control to clients whose room has changed since the last call.
  void control_flow(Instant now, StorageLedger& ledger);
  /// State of the node as clients are to know it.
  struct Availability {
    sis::SubnetAvailability node = kNormal;
    /// SAP of our client whose hard link holds the channel; others can only receive.
    std::optional<SapId> reserved_for;
    friend bool operator==(const Availability&, const Availability&) = default;
  };
  /// Sends S_SUBNET_AVAILABILITY to each bound client that was told another state before
  /// (A.2.1.26).
  void announce(const Availability& availability);
  /// Returns the next deadline. It may be early if a client has been heard since it was computed.
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
  // Thousands of events come in a second, and few of them concern all clients, so the deadline for
  // all clients is kept from the last time.
  std::optional<Instant> next_watch_;  // time before which no client is due
  bool watch_changed_ = false;         // the value above is out of date because a client changed
  Availability announced_;
  bool news_for_some_ = false;  // a client is bound that was not told of `announced_`
};

}  // namespace s5066::sap
