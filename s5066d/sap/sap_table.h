// SPDX-License-Identifier: Apache-2.0
// Tells which client holds which service access point (A.2.1.1 to A.2.1.5), and refuses binds.
#pragma once

#include <map>
#include <optional>

#include "s5066d/base/ids.h"
#include "s5066d/base/trace.h"
#include "s5066d/sap/config.h"
#include "sis/primitives.h"

namespace s5066::sap {

struct Binding {
  SapId sap;
  std::uint8_t rank = 0;
  sis::DeliveryMode service;  // used for every U_PDU that names no service itself
};

class SapTable {
 public:
  SapTable(const BindPolicy& policy, std::size_t bound_max)
      : policy_(policy), bound_max_(bound_max) {}

  /// Sets whether a bind may ask for ARQ; in a broadcast session it may not (A.3.2.3(3)).
  void allow_arq(bool allowed) { arq_allowed_ = allowed; }

  /// Opens the SAP for binding or shuts it (management). A client already bound to it stays bound.
  void open(SapId sap, bool open);

  /// Returns the client whose bind must end for this one, if nothing else forbids the bind. If
  /// there is no room, that is a client with the lowest rank, which must be below the rank asked
  /// for.
  std::optional<ClientId> victim_of(ClientId client, const sis::BindRequest& request) const;
  /// Returns nothing if the client is bound now, else why not. A client that was already bound
  /// stays bound as before.
  std::optional<BindRefusal> bind(ClientId client, const sis::BindRequest& request);
  void unbind(ClientId client);

  /// Sets the client's rights for the time of its connection. Without them the policy decides.
  void grant(ClientId client, const ClientAccess& access) { access_[client] = access; }
  void revoke(ClientId client) { access_.erase(client); }

  const Binding* binding(ClientId client) const;
  std::size_t bound() const { return bindings_.size(); }
  std::optional<ClientId> client_at(SapId sap) const;

 private:
  std::optional<BindRefusal> refusal_of(ClientId client, SapId sap) const;
  ClientAccess access_of(ClientId client) const;
  /// Returns why the bind is refused, apart from lack of room.
  std::optional<BindRefusal> refusal(ClientId client, const sis::BindRequest& request) const;

  const BindPolicy policy_;
  const std::size_t bound_max_;
  bool arq_allowed_ = true;
  std::uint16_t shut_ = 0;  // bit n: SAP n
  std::map<ClientId, Binding> bindings_;
  std::map<ClientId, ClientAccess> access_;
};

/// Returns the reason that the client is told for a refusal.
sis::BindRejectReason reject_reason_of(BindRefusal refusal);

/// True if the standard allows the service type at a bind (A.2.2.3(7), (9), (11)).
bool is_legal_service(const sis::DeliveryMode& service);

}  // namespace s5066::sap
