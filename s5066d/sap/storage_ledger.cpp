#include "s5066d/sap/storage_ledger.h"

#include <algorithm>

#include "s5066d/base/assert.h"

namespace s5066::sap {

std::size_t StorageLedger::borrowed(std::size_t octets) const {
  return octets > config_.client_octets_reserved ? octets - config_.client_octets_reserved : 0;
}

bool StorageLedger::take(ClientId client, std::size_t charged) {
  if (charged > octets_left(client) || updus_left(client) == 0) return false;
  Usage& used = clients_[client];
  on_changed(client, lent_ + borrowed(used.octets + charged) - borrowed(used.octets));
  used.octets += charged;
  ++used.updus;
  return true;
}

void StorageLedger::give_back(ClientId client, std::size_t charged) {
  const auto it = clients_.find(client);
  S5066_ASSERT(it != clients_.end());
  Usage& used = it->second;
  S5066_ASSERT(used.octets >= charged && used.updus > 0);
  on_changed(client, lent_ - (borrowed(used.octets) - borrowed(used.octets - charged)));
  used.octets -= charged;
  if (--used.updus == 0) clients_.erase(it);
}

void StorageLedger::forget(ClientId client) {
  on_changed(client, lent_ - borrowed(usage(client).octets));
  clients_.erase(client);
}

void StorageLedger::on_changed(ClientId client, std::size_t lent) {
  changed_.all = changed_.all || lent != lent_;
  lent_ = lent;
  auto& clients = changed_.clients;
  if (clients.empty() || clients.back() != client) clients.push_back(client);
}

void StorageLedger::changes_seen() {
  changed_.all = false;
  changed_.clients.clear();
}

StorageLedger::Usage StorageLedger::usage(ClientId client) const {
  const auto it = clients_.find(client);
  return it == clients_.end() ? Usage{} : it->second;
}

std::size_t StorageLedger::octets_charged() const {
  std::size_t octets = 0;
  for (const auto& [client, used] : clients_) octets += used.octets;
  return octets;
}

StorageLedger::Room StorageLedger::room(ClientId client) const {
  const Usage used = usage(client);
  const std::size_t own = used.octets < config_.client_octets_reserved
                              ? config_.client_octets_reserved - used.octets
                              : 0;
  const std::size_t limit = std::max(config_.client_octets_max, config_.client_octets_reserved);
  Room room{.octets_left = std::min(limit - used.octets, own + config_.lent_octets_max - lent_),
            .updus_left = config_.client_updus_max - used.updus};
  const std::size_t octets_all = std::max<std::size_t>(used.octets + room.octets_left, 1);
  const std::size_t updus_all = std::max<std::size_t>(config_.client_updus_max, 1);
  room.percent_used =
      static_cast<unsigned>(std::max(used.octets * 100 / octets_all, used.updus * 100 / updus_all));
  return room;
}

std::size_t StorageLedger::octets_left(ClientId client) const {
  return room(client).octets_left;
}

std::size_t StorageLedger::updus_left(ClientId client) const {
  return room(client).updus_left;
}

unsigned StorageLedger::percent_used(ClientId client) const {
  return room(client).percent_used;
}

}  // namespace s5066::sap
