#include "s5066d/sap/repeats.h"

#include <algorithm>
#include <cstring>

namespace s5066::sap {
namespace {

// FNV-1a over words of 64 bits, folded so that high bits count too. A chance collision needs equal
// times to die as well.
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

}  // namespace

UtcSeconds RepeatMarker::distinct(Address destination, const DataSpdu& data, UtcSeconds wanted) {
  const std::uint64_t content = content_of(data, destination);
  Sent& sent = sent_[content];
  const std::int64_t first = wanted.value / 2;
  // One more than are remembered, so one of them is free; it is most likely behind the last one.
  const std::int64_t end = first + static_cast<std::int64_t>(remembered_max_) + 1;
  const bool behind_last = sent.last >= first && sent.last + 1 < end;
  std::int64_t unit = behind_last && !sent.units.empty() ? sent.last + 1 : first;
  while (sent.units.count(unit) > 0) unit = unit + 1 < end ? unit + 1 : first;
  sent.last = unit;
  sent.units.insert(unit);
  order_.push_back({content, unit});
  const UtcSeconds given{std::max(wanted.value, 2 * unit)};
  if (order_.size() <= remembered_max_) return given;
  const auto oldest = sent_.find(order_.front().content);
  oldest->second.units.erase(order_.front().unit);
  if (oldest->second.units.empty()) sent_.erase(oldest);
  order_.pop_front();
  return given;
}

void RepeatFilter::on_link_made(Address peer) {
  for (Entry& entry : delivered_) entry.earlier_link = entry.earlier_link || entry.peer == peer;
}

bool RepeatFilter::is_repeat(Address peer, const DataSpdu& data) const {
  if (!data.time_to_die) return false;
  const std::uint64_t content = content_of(data, peer);
  if (times_.count(content) == 0) return false;
  return std::any_of(delivered_.begin(), delivered_.end(), [&](const Entry& entry) {
    return entry.earlier_link && entry.peer == peer && entry.content == content &&
           entry.time_to_die == *data.time_to_die;
  });
}

void RepeatFilter::on_delivered(Address peer, const DataSpdu& data) {
  if (!data.time_to_die) return;
  delivered_.push_back(Entry{peer, content_of(data, peer), *data.time_to_die});
  ++times_[delivered_.back().content];
  if (delivered_.size() <= remembered_max_) return;
  const auto oldest = times_.find(delivered_.front().content);
  if (--oldest->second == 0) times_.erase(oldest);
  delivered_.pop_front();
}

}  // namespace s5066::sap
