#include "s5066d/dts/slot_order.h"

#include <algorithm>

namespace s5066::dts {

void SlotOrder::on_station(Instant now, Address station) {
  heard_at_[station] = now;
  if (heard_at_.size() <= kStationsMax) return;
  heard_at_.erase(
      std::min_element(heard_at_.begin(), heard_at_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; }));
}

std::size_t SlotOrder::members(Instant now) const {
  return static_cast<std::size_t>(
      std::count_if(heard_at_.begin(), heard_at_.end(),
                    [&](const auto& entry) { return there(now, entry.second); }));
}

std::size_t SlotOrder::others(Instant now) const {
  const auto self = heard_at_.find(self_);
  const bool member = self != heard_at_.end() && there(now, self->second);
  return members(now) - (member ? 1 : 0);
}

std::uint32_t SlotOrder::slots(Instant now) const {
  return static_cast<std::uint32_t>(members(now)) + kSpareSlots;
}

std::uint32_t SlotOrder::draw_slot(Instant now, Rng& rng) const {
  const std::uint32_t spares_from = slots(now) - kSpareSlots;
  const auto self = heard_at_.find(self_);
  if (self == heard_at_.end() || !there(now, self->second)) {
    return spares_from + rng.below(kSpareSlots);
  }
  // Members after the one that began, then those up to and with it.
  const Address began = began_last_.value_or(Address{});
  std::uint32_t slot = 0;
  for (const auto& [address, heard_at] : heard_at_) {
    if (!there(now, heard_at) || address == self_) continue;
    const bool after = began < address;
    const bool self_after = began < self_;
    const bool first = after == self_after ? address < self_ : after;
    slot += first ? 1 : 0;
  }
  return slot;
}

}  // namespace s5066::dts
