// SPDX-License-Identifier: Apache-2.0
#include "s5066d/sap/storage_ledger.h"

#include <algorithm>

#include "s5066d/base/assert.h"

namespace s5066::sap {
namespace {

std::size_t above(std::size_t value, std::size_t share) {
  return value > share ? value - share : 0;
}

}  // namespace

StorageLedger::StorageLedger(const QueueConfig& config, std::size_t clients_max)
    : config_(config),
      lent_updus_max_(above(config.updus_max, clients_max * config.client_updus_reserved)) {
  S5066_ASSERT(config.updus_max >= clients_max * config.client_updus_reserved);
}

StorageLedger::Usage StorageLedger::borrowed(const Usage& used) const {
  return {.octets = above(used.octets, config_.client_octets_reserved),
          .updus = above(used.updus, config_.client_updus_reserved)};
}

bool StorageLedger::take(ClientId client, std::size_t charged) {
  if (charged > octets_left(client) || updus_left(client) == 0) return false;
  Usage& used = clients_[client];
  const Usage before = used;
  used.octets += charged;
  ++used.updus;
  change(client, before, used);
  return true;
}

void StorageLedger::give_back(ClientId client, std::size_t charged) {
  const auto it = clients_.find(client);
  S5066_ASSERT(it != clients_.end());
  Usage& used = it->second;
  S5066_ASSERT(used.octets >= charged && used.updus > 0);
  const Usage before = used;
  used.octets -= charged;
  --used.updus;
  change(client, before, used);
  if (used.updus == 0) clients_.erase(it);
}

void StorageLedger::forget(ClientId client) {
  change(client, usage(client), {});
  clients_.erase(client);
}

void StorageLedger::change(ClientId client, const Usage& before, const Usage& after) {
  const Usage gave = borrowed(before);
  const Usage has = borrowed(after);
  changed_.all = changed_.all || gave != has;
  lent_.octets += has.octets - gave.octets;
  lent_.updus += has.updus - gave.updus;
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
  const std::size_t own_octets = above(config_.client_octets_reserved, used.octets);
  const std::size_t own_updus = above(config_.client_updus_reserved, used.updus);
  const std::size_t limit = std::max(config_.client_octets_max, config_.client_octets_reserved);
  Room room{.octets_left =
                std::min(limit - used.octets, own_octets + config_.lent_octets_max - lent_.octets),
            .updus_left = std::min(config_.client_updus_max - used.updus,
                                   own_updus + lent_updus_max_ - lent_.updus)};
  const std::size_t octets_all = std::max<std::size_t>(used.octets + room.octets_left, 1);
  const std::size_t updus_all = std::max<std::size_t>(used.updus + room.updus_left, 1);
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
