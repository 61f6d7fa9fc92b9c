// SPDX-License-Identifier: Apache-2.0
// Limits how much each client may store. Each client owns a reserved share that no other can take,
// and the storage above the shares is lent in order of arrival, so that one client cannot starve
// another.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "s5066d/base/ids.h"
#include "s5066d/sap/config.h"

namespace s5066::sap {

class StorageLedger {
 public:
  /// `clients_max` clients have a share each; their shares must fit the limits.
  StorageLedger(const QueueConfig& config, std::size_t clients_max);

  /// Returns the cost of a U_PDU of that size, its bookkeeping included.
  static constexpr std::size_t charge(std::size_t updu_octets) { return updu_octets + 128; }

  /// Returns false and stores nothing if it does not fit.
  [[nodiscard]] bool take(ClientId client, std::size_t charged);
  void give_back(ClientId client, std::size_t charged);
  /// Frees all that a client stored which has gone.
  void forget(ClientId client);

  /// Clients whose room may have changed since changes_seen().
  struct Changed {
    bool all = false;  // the lent storage changed, and with it every client's room
    std::vector<ClientId> clients;
  };
  const Changed& changed() const { return changed_; }
  void changes_seen();

  struct Usage {
    std::size_t octets = 0;  // charged
    std::size_t updus = 0;
    friend bool operator==(const Usage&, const Usage&) = default;
  };
  Usage usage(ClientId client) const;
  std::size_t octets_charged() const;  // octets of all clients together
  std::size_t octets_left(ClientId client) const;
  std::size_t updus_left(ClientId client) const;
  /// Returns the percentage of its present room that the client uses, in octets or in U_PDUs,
  /// whichever is more.
  unsigned percent_used(ClientId client) const;
  /// The three values above in one.
  struct Room {
    std::size_t octets_left = 0;
    std::size_t updus_left = 0;
    unsigned percent_used = 0;
  };
  Room room(ClientId client) const;

 private:
  /// Returns the part of a client's storage above its share.
  Usage borrowed(const Usage& used) const;
  void change(ClientId client, const Usage& before, const Usage& after);

  const QueueConfig config_;
  const std::size_t lent_updus_max_;
  std::map<ClientId, Usage> clients_;
  Usage lent_;
  Changed changed_;
};

}  // namespace s5066::sap
