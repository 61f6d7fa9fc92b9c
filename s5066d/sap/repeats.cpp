#include "s5066d/sap/repeats.h"

#include <algorithm>

namespace s5066::sap {
namespace {

// FNV-1a, 64 bits. A chance collision needs equal times to die as well.
std::uint64_t mix(std::uint64_t hash, std::uint64_t octet) {
  return (hash ^ octet) * 0x100000001B3u;
}

std::uint64_t content_of(const DataSpdu& data, Address peer) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (int shift = 0; shift < 32; shift += 8) hash = mix(hash, peer.value >> shift & 0xFF);
  hash = mix(hash, data.priority);
  hash = mix(hash, data.source_sap.value);
  hash = mix(hash, data.destination_sap.value);
  hash = mix(hash, data.client_confirm_required);
  for (const std::uint8_t octet : data.updu) hash = mix(hash, octet);
  return hash;
}

template <typename Entry>
void remember(std::deque<Entry>& entries, std::size_t entries_max, Entry entry) {
  if (entries.size() >= entries_max) entries.pop_front();
  entries.push_back(entry);
}

}  // namespace

UtcSeconds RepeatMarker::distinct(Address destination, const DataSpdu& data, UtcSeconds wanted) {
  Entry entry{content_of(data, destination), wanted.value / 2};
  for (const Entry& before : sent_) {
    if (before.content == entry.content) entry.unit = std::max(entry.unit, before.unit + 1);
  }
  remember(sent_, remembered_max_, entry);
  return UtcSeconds{std::max(wanted.value, 2 * entry.unit)};
}

void RepeatFilter::on_link_made(Address peer) {
  for (Entry& entry : delivered_) entry.earlier_link = entry.earlier_link || entry.peer == peer;
}

bool RepeatFilter::is_repeat(Address peer, const DataSpdu& data) const {
  if (!data.time_to_die) return false;
  const std::uint64_t content = content_of(data, peer);
  return std::any_of(delivered_.begin(), delivered_.end(), [&](const Entry& entry) {
    return entry.earlier_link && entry.peer == peer && entry.content == content &&
           entry.time_to_die == *data.time_to_die;
  });
}

void RepeatFilter::on_delivered(Address peer, const DataSpdu& data) {
  if (!data.time_to_die) return;
  remember(delivered_, remembered_max_, Entry{peer, content_of(data, peer), *data.time_to_die});
}

}  // namespace s5066::sap
