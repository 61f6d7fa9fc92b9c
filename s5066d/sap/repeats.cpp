// SPDX-License-Identifier: Apache-2.0
#include "s5066d/sap/repeats.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace s5066::sap {
namespace {

// FNV-1a over words of 64 bits, folded so that high bits count too.
std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x100000001B3u;
  return hash ^ hash >> 29;
}

std::uint64_t content_of(const DataSpdu& data, Address peer) {
  const std::uint64_t header =
      std::uint64_t{data.priority} << 24 | std::uint64_t{data.source_sap.value} << 16 |
      std::uint64_t{data.destination_sap.value} << 8 | std::uint64_t{data.client_confirm_required};
  std::uint64_t hash = mix(0xCBF29CE484222325u, std::uint64_t{peer.value} << 32 | header);
  hash = mix(hash, data.updu.size());
  ByteSpan left = data.updu;
  std::uint64_t word = 0;
  for (; left.size() >= sizeof word; left = left.subspan(sizeof word)) {
    std::memcpy(&word, left.data(), sizeof word);
    hash = mix(hash, word);
  }
  word = 0;
  for (const std::uint8_t octet : left) word = word << 8 | octet;
  return mix(hash, word);
}

std::uint64_t key_with_date(const DataSpdu& data, Address peer) {
  const TimeToDie& ttd = *data.time_to_die;
  return mix(content_of(data, peer), std::uint64_t{ttd.day} << 16 | ttd.half_of_second);
}

}  // namespace

RepeatMarker::RepeatMarker(std::size_t receiver_remembers)
    : remembered_max_(2 * receiver_remembers), given_(remembered_max_) {}

UtcSeconds RepeatMarker::distinct(Address destination, const DataSpdu& data, UtcSeconds wanted) {
  const std::uint64_t content = content_of(data, destination);
  const std::int64_t unit = free_unit(content, wanted.value / 2);
  given_.add(mix(content, static_cast<std::uint64_t>(unit)));
  return UtcSeconds{std::max(wanted.value, 2 * unit)};
}

// Equal U_PDUs take one unit after the other. The first free unit is found by doubling the step and
// then halving the distance between the last taken unit and a free one.
std::int64_t RepeatMarker::free_unit(std::uint64_t content, std::int64_t first) const {
  const auto taken = [&](std::int64_t unit) {
    return given_.contains(mix(content, static_cast<std::uint64_t>(unit)));
  };
  if (!taken(first)) return first;
  const auto remembered = static_cast<std::int64_t>(remembered_max_);
  std::int64_t low = 0;
  std::int64_t high = 1;
  while (high < remembered && taken(first + high)) low = std::exchange(high, 2 * high);
  // The range is one more than the remembered number, so one unit in it is free.
  high = std::min(high, remembered);
  if (taken(first + high)) {
    for (high = 1; taken(first + high);) ++high;
    return first + high;
  }
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (taken(first + middle) ? low : high) = middle;
  }
  return first + high;
}

void RepeatFilter::on_link_made(Address peer) {
  const auto of_peer = delivered_.find(peer);
  if (of_peer == delivered_.end()) return;
  for (Entry& entry : of_peer->second) {
    if (entry.earlier_link) continue;
    entry.earlier_link = true;
    known_.emplace(entry.key, entry.last_repeat);
  }
}

bool RepeatFilter::is_repeat(Instant now, Address peer, const DataSpdu& data) const {
  if (known_.empty() || !data.time_to_die) return false;
  const auto [first, last] = known_.equal_range(key_with_date(data, peer));
  return std::any_of(first, last, [now](const auto& known) { return now <= known.second; });
}

void RepeatFilter::on_delivered(Address peer, const DataSpdu& data, Instant last_repeat) {
  if (!data.time_to_die) return;
  delivered_[peer].push_back(Entry{key_with_date(data, peer), numbers_++, last_repeat});
  if (++remembered_ > remembered_max_) forget_one();
}

std::optional<std::uint64_t> RepeatFilter::key_of(Address peer, const DataSpdu& data) {
  if (!data.time_to_die) return std::nullopt;
  return key_with_date(data, peer);
}

void RepeatFilter::forget(const std::unordered_set<std::uint64_t>& keys) {
  if (keys.empty()) return;
  for (auto of_peer = delivered_.begin(); of_peer != delivered_.end();) {
    remembered_ -= std::erase_if(of_peer->second, [&](const Entry& entry) {
      if (keys.count(entry.key) == 0) return false;
      forget_known(entry);
      return true;
    });
    of_peer = of_peer->second.empty() ? delivered_.erase(of_peer) : std::next(of_peer);
  }
}

void RepeatFilter::forget_known(const Entry& entry) {
  if (!entry.earlier_link) return;
  const auto [first, last] = known_.equal_range(entry.key);
  known_.erase(std::find_if(first, last,
                            [&](const auto& known) { return known.second == entry.last_repeat; }));
}

// Forgets one entry of the senders that have most: the oldest of all.
void RepeatFilter::forget_one() {
  const auto gives = [](const auto& a, const auto& b) {
    if (a.second.size() != b.second.size()) return a.second.size() > b.second.size();
    return a.second.front().number < b.second.front().number;
  };
  const auto most = std::min_element(delivered_.begin(), delivered_.end(), gives);
  const Entry& oldest = most->second.front();
  forget_known(oldest);
  most->second.pop_front();
  if (most->second.empty()) delivered_.erase(most);
  --remembered_;
}

}  // namespace s5066::sap
