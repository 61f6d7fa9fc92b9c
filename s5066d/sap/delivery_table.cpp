// SPDX-License-Identifier: Apache-2.0
#include "s5066d/sap/delivery_table.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "s5066d/base/assert.h"
#include "s5066d/base/deadline_table.h"

namespace s5066::sap {
namespace {

const DataSpdu* if_client_confirms(const UnidataItem& item) {
  const auto* data = std::get_if<DataSpdu>(&item.spdu);
  return data != nullptr && data->client_confirm_required ? data : nullptr;
}

}  // namespace

void DeliveryTable::hand_down(CpduId id, UnidataItem item, std::size_t octets,
                              std::optional<Instant> report_by) {
  if (report_by) report_by_.insert({*report_by, id});
  Lot& lot = lots_[item.lane()];
  lot.octets += octets;
  lot.to_send.at(item.priority) += octets;
  ++lot.updus.at(item.priority);
  expect_client(item, id);
  const bool is_new =
      below_.emplace(id, Below{std::move(item), octets, false, false, false, report_by}).second;
  S5066_ASSERT(is_new);
}

void DeliveryTable::on_arrived(CpduId id) {
  const auto found = below_.find(id);
  if (found == below_.end() || std::exchange(found->second.arrived, true)) return;
  const Below& below = found->second;
  lots_.at(below.item.lane()).to_send.at(below.item.priority) -= below.octets;
}

std::optional<DeliveryTable::Below> DeliveryTable::take(CpduId id) {
  auto node = below_.extract(id);
  if (node.empty()) return std::nullopt;
  Below below = std::move(node.mapped());
  if (below.report_by) report_by_.erase({*below.report_by, id});
  const auto lot = lots_.find(below.item.lane());
  S5066_ASSERT(lot != lots_.end() && lot->second.octets >= below.octets);
  lot->second.octets -= below.octets;
  if (!below.arrived) lot->second.to_send.at(below.item.priority) -= below.octets;
  --lot->second.updus.at(below.item.priority);
  if (lot->second.octets == 0) lots_.erase(lot);
  expect_client_no_more(below.item);
  return below;
}

void DeliveryTable::expect_client(const UnidataItem& item, std::optional<CpduId> below) {
  if (const DataSpdu* data = if_client_confirms(item)) {
    unconfirmed_[{item.destination, data->source_sap, data->destination_sap}][item.id] = below;
  }
}

void DeliveryTable::expect_client_no_more(const UnidataItem& item) {
  const DataSpdu* data = if_client_confirms(item);
  if (data == nullptr) return;
  const auto between =
      unconfirmed_.find({item.destination, data->source_sap, data->destination_sap});
  S5066_ASSERT(between != unconfirmed_.end());
  between->second.erase(item.id);
  if (between->second.empty()) unconfirmed_.erase(between);
}

void DeliveryTable::await_client(UnidataItem item, Instant until) {
  ++awaiting_by_peer_[item.destination];
  const UpduId id = item.id;
  awaiting_by_client_[item.client].insert(id);
  overdue_at_.insert({until, id});
  expect_client(item, std::nullopt);
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
  const auto client = awaiting_by_client_.find(item.client);
  client->second.erase(id);
  if (client->second.empty()) awaiting_by_client_.erase(client);
  expect_client_no_more(item);
  return item;
}

DeliveryTable::Match DeliveryTable::match(Address peer, SapId source, SapId destination,
                                          ByteSpan part) {
  const auto between = unconfirmed_.find({peer, source, destination});
  if (between == unconfirmed_.end()) return {};
  for (const auto& [id, below_as] : between->second) {
    Below* below = below_as ? &below_.at(*below_as) : nullptr;
    if (below != nullptr && (below->settled || below->client_confirmed)) continue;
    const UnidataItem& item = below != nullptr ? below->item : awaiting_.at(id).item;
    if (!starts_with(std::get<DataSpdu>(item.spdu).updu, part)) continue;
    if (below != nullptr) return {below, std::nullopt};
    return {nullptr, remove_awaiting(id)};
  }
  return {};
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
  const auto most = std::max_element(
      awaiting_by_client_.begin(), awaiting_by_client_.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  return remove_awaiting(*most->second.begin());
}

std::vector<DeliveryTable::Overdue> DeliveryTable::settle_overdue(Instant now) {
  std::vector<Overdue> overdue;
  while (!report_by_.empty() && report_by_.begin()->first <= now) {
    Below& below = below_.at(report_by_.begin()->second);
    report_by_.erase(report_by_.begin());
    below.report_by.reset();
    if (std::exchange(below.settled, true)) continue;
    overdue.push_back({below.item, below.client_confirmed});
    below.item.charged = 0;  // the copy returns the charge
  }
  return overdue;
}

std::optional<Instant> DeliveryTable::next_deadline() const {
  std::optional<Instant> next;
  if (!overdue_at_.empty()) next = overdue_at_.begin()->first;
  if (!report_by_.empty()) next = earlier(next, report_by_.begin()->first);
  return next;
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
  const auto it = lots_.find(lane);
  return it == lots_.end() ? 0 : it->second.octets;
}

std::size_t DeliveryTable::octets_to_send(const Lane& lane, std::uint8_t priority) const {
  const auto it = lots_.find(lane);
  if (it == lots_.end()) return 0;
  const auto& octets = it->second.to_send;
  return std::accumulate(octets.begin() + priority, octets.end(), std::size_t{0});
}

std::size_t DeliveryTable::octets_below(Address peer) const {
  return octets_below(Lane{true, peer}) + octets_below(Lane{false, peer});
}

std::uint8_t DeliveryTable::urgency_below(Address peer) const {
  if (octets_below(Lane{true, peer}) > 0) return kExpeditedUrgency;
  const auto it = lots_.find(Lane{false, peer});
  if (it == lots_.end()) return 0;
  const auto& updus = it->second.updus;
  const auto best = std::find_if(updus.rbegin(), updus.rend(), [](std::size_t n) { return n > 0; });
  return static_cast<std::uint8_t>(updus.rend() - best - 1);
}

std::vector<Address> DeliveryTable::peers_below() const {
  std::vector<Address> peers;
  for (const auto& [lane, lot] : lots_) {
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
