#include "s5066d/sap/unidata_queue.h"

#include <algorithm>
#include <utility>

#include "s5066d/base/assert.h"

namespace s5066::sap {

const Bytes& UnidataItem::updu() const {
  static const Bytes kNone;
  const auto* data = std::get_if<DataSpdu>(&spdu);
  return data == nullptr ? kNone : data->updu;
}

bool starts_with(const Bytes& updu, ByteSpan part) {
  return part.size() <= updu.size() && std::equal(part.begin(), part.end(), updu.begin());
}

UnidataQueue::LaneId UnidataQueue::lane_of(const UnidataItem& item) {
  return item.service == cas::Service::arq ? LaneId{item.destination} : std::nullopt;
}

UnidataQueue::Key UnidataQueue::key_of(const UnidataItem& item) {
  return {item.priority, item.rank, item.id};
}

void UnidataQueue::put(UnidataItem item) {
  const LaneId id = lane_of(item);
  const Key key = key_of(item);
  expiry_.insert({item.time_to_die, id, key});
  if (item.own) ++own_items_;
  Lane& lane = lanes_[id];
  lane.octets += item.octets();
  const bool is_new = lane.items.emplace(key, std::move(item)).second;
  S5066_ASSERT(is_new);
}

UnidataItem UnidataQueue::remove(const LaneId& lane_id, const Key& key) {
  const auto lane = lanes_.find(lane_id);
  S5066_ASSERT(lane != lanes_.end());
  auto node = lane->second.items.extract(key);
  S5066_ASSERT(!node.empty());
  UnidataItem item = std::move(node.mapped());
  lane->second.octets -= item.octets();
  if (lane->second.items.empty()) lanes_.erase(lane);
  expiry_.erase({item.time_to_die, lane_id, key});
  if (item.own) --own_items_;
  return item;
}

std::optional<UnidataItem> UnidataQueue::take(const LaneId& lane_id) {
  const auto lane = lanes_.find(lane_id);
  if (lane == lanes_.end()) return std::nullopt;
  const Key first = lane->second.items.begin()->first;
  return remove(lane_id, first);
}

const UnidataItem* UnidataQueue::front(const LaneId& lane_id) const {
  const auto lane = lanes_.find(lane_id);
  return lane == lanes_.end() ? nullptr : &lane->second.items.begin()->second;
}

std::vector<UnidataQueue::Waiting> UnidataQueue::waiting() const {
  std::vector<Waiting> all;
  for (const auto& [lane_id, lane] : lanes_) {
    if (!lane_id) continue;
    const Key& best = lane.items.begin()->first;
    all.push_back({*lane_id, best.priority, best.rank, best.id});
  }
  std::sort(all.begin(), all.end(), [](const Waiting& a, const Waiting& b) {
    return Key{a.priority, a.rank, a.oldest_of_best} < Key{b.priority, b.rank, b.oldest_of_best};
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
  const auto lane = lanes_.find(peer);
  if (lane == lanes_.end()) return {};
  std::vector<Key> exhausted;
  for (auto& [key, item] : lane->second.items) {
    if (++item.attempts >= attempts_max) exhausted.push_back(key);
  }
  std::vector<UnidataItem> taken;
  for (const Key& key : exhausted) taken.push_back(remove(peer, key));
  return taken;
}

std::vector<UnidataItem> UnidataQueue::take_of_client(ClientId client) {
  std::vector<std::pair<LaneId, Key>> found;
  for (const auto& [lane_id, lane] : lanes_) {
    for (const auto& [key, item] : lane.items) {
      if (item.client == client) found.emplace_back(lane_id, key);
    }
  }
  std::vector<UnidataItem> taken;
  for (const auto& [lane_id, key] : found) taken.push_back(remove(lane_id, key));
  return taken;
}

std::size_t UnidataQueue::octets(Address peer) const {
  const auto lane = lanes_.find(peer);
  return lane == lanes_.end() ? 0 : lane->second.octets;
}

}  // namespace s5066::sap
