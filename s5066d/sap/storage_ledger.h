// Who may store how much: each client owns a reserved share that no other can take, and what is
// above the shares is lent out in order of arrival. So one client cannot starve another.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "s5066d/base/ids.h"
#include "s5066d/sap/config.h"

namespace s5066::sap {

class StorageLedger {
 public:
  /// Of so many clients each has its share; their shares must fit into the limits.
  StorageLedger(const QueueConfig& config, std::size_t clients_max);

  /// What a U_PDU of that size costs, its bookkeeping included.
  static constexpr std::size_t charge(std::size_t updu_octets) { return updu_octets + 128; }

  /// False, and nothing stored, when it does not fit.
  [[nodiscard]] bool take(ClientId client, std::size_t charged);
  void give_back(ClientId client, std::size_t charged);
  /// The client is gone, and what it stored with it.
  void forget(ClientId client);

  /// Whose room may be another than at the last call.
  struct Changed {
    bool all = false;  // what is lent has changed, and with it everybody's room
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
  std::size_t octets_charged() const;  // to all clients together
  std::size_t octets_left(ClientId client) const;
  std::size_t updus_left(ClientId client) const;
  /// Percent of what the client may use now, in octets or in number, whichever is more.
  unsigned percent_used(ClientId client) const;
  /// The three of them at once.
  struct Room {
    std::size_t octets_left = 0;
    std::size_t updus_left = 0;
    unsigned percent_used = 0;
  };
  Room room(ClientId client) const;

 private:
  /// Of what a client stores, the part above its share.
  Usage borrowed(const Usage& used) const;
  void change(ClientId client, const Usage& before, const Usage& after);

  const QueueConfig config_;
  const std::size_t lent_updus_max_;
  std::map<ClientId, Usage> clients_;
  Usage lent_;
  Changed changed_;
};

}  // namespace s5066::sap
