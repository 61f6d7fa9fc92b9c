#include "s5066d/sap/delivery_table.h"

#include <utility>

#include "s5066d/base/assert.h"

namespace s5066::sap {
namespace {

bool fits(const UnidataItem& item, Address peer, SapId source, SapId destination, ByteSpan part) {
  const auto* data = std::get_if<DataSpdu>(&item.spdu);
  return data != nullptr && data->client_confirm_required && item.destination == peer &&
         data->source_sap == source && data->destination_sap == destination &&
         starts_with(data->updu, part);
}

}  // namespace

void DeliveryTable::hand_down(CpduId id, UnidataItem item, std::size_t octets) {
  octets_[item.lane()] += octets;
  const bool is_new = below_.emplace(id, Below{std::move(item), octets, false, false}).second;
  S5066_ASSERT(is_new);
}

std::optional<DeliveryTable::Below> DeliveryTable::take(CpduId id) {
  auto node = below_.extract(id);
  if (node.empty()) return std::nullopt;
  Below below = std::move(node.mapped());
  const auto lane = octets_.find(below.item.lane());
  S5066_ASSERT(lane != octets_.end() && lane->second >= below.octets);
  lane->second -= below.octets;
  if (lane->second == 0) octets_.erase(lane);
  return below;
}

void DeliveryTable::await_client(UnidataItem item, Instant until) {
  ++awaiting_by_peer_[item.destination];
  const UpduId id = item.id;
  overdue_at_.insert({until, id});
  const bool is_new = awaiting_.emplace(id, Awaiting{std::move(item), until}).second;
  S5066_ASSERT(is_new);
}

UnidataItem DeliveryTable::remove_awaiting(UpduId id) {
  auto node = awaiting_.extract(id);
  S5066_ASSERT(!node.empty());
  overdue_at_.erase({node.mapped().until, id});
  UnidataItem item = std::move(node.mapped().item);
  const auto peer = awaiting_by_peer_.find(item.destination);
  if (--peer->second == 0) awaiting_by_peer_.erase(peer);
  return item;
}

DeliveryTable::Match DeliveryTable::match(Address peer, SapId source, SapId destination,
                                          ByteSpan part) {
  Below* oldest_below = nullptr;
  for (auto& [id, below] : below_) {
    if (below.settled || below.client_confirmed) continue;
    if (!fits(below.item, peer, source, destination, part)) continue;
    if (oldest_below == nullptr || below.item.id < oldest_below->item.id) oldest_below = &below;
  }
  for (auto& [id, awaiting] : awaiting_) {
    if (!fits(awaiting.item, peer, source, destination, part)) continue;
    if (oldest_below != nullptr && oldest_below->item.id < id) break;
    return {nullptr, remove_awaiting(id)};
  }
  return {oldest_below, std::nullopt};
}

std::vector<UnidataItem> DeliveryTable::take_overdue(Instant now) {
  std::vector<UnidataItem> taken;
  while (!overdue_at_.empty() && overdue_at_.begin()->first <= now) {
    taken.push_back(remove_awaiting(overdue_at_.begin()->second));
  }
  return taken;
}

std::optional<UnidataItem> DeliveryTable::take_oldest_awaiting() {
  if (awaiting_.empty()) return std::nullopt;
  return remove_awaiting(awaiting_.begin()->first);
}

std::optional<Instant> DeliveryTable::next_deadline() const {
  if (overdue_at_.empty()) return std::nullopt;
  return overdue_at_.begin()->first;
}

std::vector<UpduId> DeliveryTable::forget_client(ClientId client) {
  std::vector<UpduId> forgotten;
  for (auto& [id, below] : below_) {
    if (below.item.client != client) continue;
    if (!below.settled) forgotten.push_back(below.item.id);
    below.settled = true;
    below.item.client.reset();
  }
  std::vector<UpduId> waiting;
  for (const auto& [id, awaiting] : awaiting_) {
    if (awaiting.item.client == client) waiting.push_back(id);
  }
  for (const UpduId id : waiting) {
    remove_awaiting(id);
    forgotten.push_back(id);
  }
  return forgotten;
}

std::size_t DeliveryTable::octets_below(const Lane& lane) const {
  const auto it = octets_.find(lane);
  return it == octets_.end() ? 0 : it->second;
}

std::size_t DeliveryTable::octets_below(Address peer) const {
  return octets_below(Lane{true, peer}) + octets_below(Lane{false, peer});
}

std::vector<Address> DeliveryTable::peers_below() const {
  std::vector<Address> peers;
  for (const auto& [lane, octets] : octets_) {
    const bool also_expedited = !lane.expedited && octets_below(Lane{true, lane.peer}) > 0;
    if (lane.peer && !also_expedited) peers.push_back(*lane.peer);
  }
  return peers;
}

std::size_t DeliveryTable::updu_octets_below(Address peer) const {
  std::size_t octets = 0;
  for (const auto& [id, below] : below_) {
    if (below.item.arq() && !below.settled && below.item.destination == peer)
      octets += below.item.octets();
  }
  return octets;
}

}  // namespace s5066::sap
