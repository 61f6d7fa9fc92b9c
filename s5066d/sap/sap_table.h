// Which client holds which service access point (A.2.1.1 to A.2.1.5), and which binds are refused.
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
  sis::DeliveryMode service;  // of every U_PDU that names none of its own
};

class SapTable {
 public:
  SapTable(const BindPolicy& policy, std::size_t bound_max)
      : policy_(policy), bound_max_(bound_max) {}

  /// Whether ARQ can be bound for; while a broadcast session lasts it cannot (A.3.2.3(3)).
  void allow_arq(bool allowed) { arq_allowed_ = allowed; }

  /// Whether the SAP can be bound; one that is bound stays so (management).
  void open(SapId sap, bool open);

  /// Whose bind would have to end for this one, if nothing else speaks against it: when there is no
  /// room, that of the lowest rank, which must be below the rank asked for.
  std::optional<ClientId> victim_of(ClientId client, const sis::BindRequest& request) const;
  /// Nothing when the client is bound now, else why not. A client that is bound stays as it was.
  std::optional<BindRefusal> bind(ClientId client, const sis::BindRequest& request);
  void unbind(ClientId client);

  /// For the time of its connection; without it the client may do what the policy says.
  void grant(ClientId client, const ClientAccess& access) { access_[client] = access; }
  void revoke(ClientId client) { access_.erase(client); }

  const Binding* binding(ClientId client) const;
  std::size_t bound() const { return bindings_.size(); }
  std::optional<ClientId> client_at(SapId sap) const;

 private:
  std::optional<BindRefusal> bar_on(ClientId client, SapId sap) const;
  ClientAccess access_of(ClientId client) const;
  /// Room left out of account.
  std::optional<BindRefusal> refusal(ClientId client, const sis::BindRequest& request) const;

  const BindPolicy policy_;
  const std::size_t bound_max_;
  bool arq_allowed_ = true;
  std::uint16_t shut_ = 0;  // bit n: SAP n
  std::map<ClientId, Binding> bindings_;
  std::map<ClientId, ClientAccess> access_;
};

/// What the client is told of a refusal.
sis::BindRejectReason reject_reason_of(BindRefusal refusal);

/// A service type the standard allows at a bind (A.2.2.3(7), (9), (11)).
bool is_legal_service(const sis::DeliveryMode& service);

}  // namespace s5066::sap
