// SPDX-License-Identifier: Apache-2.0
#include "s5066d/sap/unidata_queue.h"

#include <utility>

#include "s5066d/base/assert.h"

namespace s5066::sap {

const Bytes& UnidataItem::updu() const {
  static const Bytes kNone;
  const auto* data = std::get_if<DataSpdu>(&spdu);
  return data == nullptr ? kNone : data->updu;
}

bool UpduFilter::fits(const UnidataItem& item) const {
  return (!id || item.id == *id) && (!client || item.client == client) &&
         (!destination || item.destination == *destination);
}

// An answer carries the SAPs of the S_PDU that it answers, so they are swapped here.
SapId UnidataItem::local_sap() const {
  if (const auto* data = std::get_if<DataSpdu>(&spdu)) return data->source_sap;
  if (const auto* fail = std::get_if<DeliveryFail>(&spdu)) return fail->destination_sap;
  return std::get<DeliveryConfirm>(spdu).destination_sap;
}

SapId UnidataItem::remote_sap() const {
  if (const auto* data = std::get_if<DataSpdu>(&spdu)) return data->destination_sap;
  if (const auto* fail = std::get_if<DeliveryFail>(&spdu)) return fail->source_sap;
  return std::get<DeliveryConfirm>(spdu).source_sap;
}

bool starts_with(const Bytes& updu, ByteSpan part) {
  return part.size() <= updu.size() && std::equal(part.begin(), part.end(), updu.begin());
}

UnidataQueue::Key UnidataQueue::key_of(const UnidataItem& item) {
  return {item.priority, item.rank, item.id};
}

UnidataQueue::Route UnidataQueue::route_of(const UnidataItem& item) {
  return {item.destination, item.local_sap(), item.remote_sap()};
}

void UnidataQueue::put(UnidataItem item) {
  const Lane lane = item.lane();
  const Key key = key_of(item);
  expiry_.insert({item.time_to_die, lane, key});
  if (item.own) ++own_items_;
  Line& line = lines_[lane];
  line.octets += item.octets();
  // A client that comes now and then goes behind those that have waited meanwhile.
  Share& share =
      line.shares.try_emplace(item.client, Share{.routes = {}, .served = line.takes}).first->second;
  const Route route = route_of(item);
  const auto [entry, is_new] = line.items.emplace(key, std::move(item));
  S5066_ASSERT(is_new);
  share.routes[route].emplace(key, &entry->second);
}

UnidataItem UnidataQueue::remove(const Lane& lane, const Key& key) {
  const auto line = lines_.find(lane);
  S5066_ASSERT(line != lines_.end());
  auto node = line->second.items.extract(key);
  S5066_ASSERT(!node.empty());
  UnidataItem item = std::move(node.mapped());
  line->second.octets -= item.octets();
  const auto share = line->second.shares.find(item.client);
  auto& routes = share->second.routes;
  const auto route = routes.find(route_of(item));
  route->second.erase(key);
  if (route->second.empty()) routes.erase(route);
  if (routes.empty()) line->second.shares.erase(share);
  if (line->second.items.empty()) lines_.erase(line);
  expiry_.erase({item.time_to_die, lane, key});
  if (item.own) --own_items_;
  return item;
}

std::optional<UnidataItem> UnidataQueue::take(const Lane& lane) {
  const UnidataItem* item = first(lane, [](const UnidataItem&) { return true; });
  if (item == nullptr) return std::nullopt;
  return take_this(*item);
}

UnidataItem UnidataQueue::take_this(const UnidataItem& item) {
  Line& line = lines_.at(item.lane());
  Share& share = line.shares.at(item.client);
  const std::uint64_t before = std::exchange(share.served, ++line.takes);
  UnidataItem taken = remove(item.lane(), key_of(item));
  taken.served_before = before;
  return taken;
}

void UnidataQueue::put_back(UnidataItem item) {
  const Lane lane = item.lane();
  const auto client = item.client;
  const std::uint64_t before = item.served_before;
  put(std::move(item));
  Line& line = lines_.at(lane);
  if (line.takes > 0) --line.takes;  // 0 if the line was empty meanwhile
  Share& share = line.shares.at(client);
  share.served = std::min(share.served, before);
}

std::vector<UnidataQueue::Waiting> UnidataQueue::waiting() const {
  std::vector<Waiting> all;
  for (const auto& [lane, line] : lines_) {
    if (!lane.peer) continue;
    const bool also_expedited = !lane.expedited && lines_.count({true, lane.peer}) > 0;
    if (also_expedited) continue;
    const Key& best = line.items.begin()->first;
    all.push_back(
        {*lane.peer, lane.expedited ? kExpeditedUrgency : best.priority, best.rank, best.id});
  }
  std::sort(all.begin(), all.end(), [](const Waiting& a, const Waiting& b) {
    return Key{a.urgency, a.rank, a.oldest_of_best} < Key{b.urgency, b.rank, b.oldest_of_best};
  });
  return all;
}

std::vector<UnidataItem> UnidataQueue::take_expired(Instant now) {
  std::vector<UnidataItem> expired;
  while (!expiry_.empty() && expiry_.begin()->at <= now) {
    const Expiry first = *expiry_.begin();
    expired.push_back(remove(first.lane, first.key));
  }
  return expired;
}

std::optional<Instant> UnidataQueue::next_expiry() const {
  if (expiry_.empty()) return std::nullopt;
  return expiry_.begin()->at;
}

std::vector<UnidataItem> UnidataQueue::take_after_failure(Address peer, unsigned attempts_max) {
  std::vector<UnidataItem> taken;
  for (const bool expedited : {true, false}) {
    const Lane lane{expedited, peer};
    const auto line = lines_.find(lane);
    if (line == lines_.end()) continue;
    std::vector<Key> exhausted;
    for (auto& [key, item] : line->second.items) {
      if (++item.attempts >= attempts_max) exhausted.push_back(key);
    }
    for (const Key& key : exhausted) taken.push_back(remove(lane, key));
  }
  return taken;
}

std::vector<UnidataItem> UnidataQueue::take_of_client(ClientId client) {
  return take_if([client](const UnidataItem& item) { return item.client == client; });
}

std::vector<UnidataItem> UnidataQueue::take_fitting(const UpduFilter& filter) {
  return take_if([&filter](const UnidataItem& item) { return !item.own && filter.fits(item); });
}

std::vector<UnidataItem> UnidataQueue::take_arq() {
  return take_if([](const UnidataItem& item) { return item.arq(); });
}

template <typename Condition>
std::vector<UnidataItem> UnidataQueue::take_if(Condition condition) {
  std::vector<std::pair<Lane, Key>> found;
  for (const auto& [lane, line] : lines_) {
    for (const auto& [key, item] : line.items) {
      if (condition(item)) found.emplace_back(lane, key);
    }
  }
  std::vector<UnidataItem> taken;
  for (const auto& [lane, key] : found) taken.push_back(remove(lane, key));
  return taken;
}

bool UnidataQueue::waits_for(Address peer) const {
  return lines_.count({true, peer}) > 0 || lines_.count({false, peer}) > 0;
}

std::size_t UnidataQueue::octets(Address peer) const {
  std::size_t octets = 0;
  for (const bool expedited : {true, false}) {
    const auto line = lines_.find({expedited, peer});
    if (line != lines_.end()) octets += line->second.octets;
  }
  return octets;
}

}  // namespace s5066::sap
