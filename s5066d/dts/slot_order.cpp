// SPDX-License-Identifier: Apache-2.0
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

void SlotOrder::on_sent(Instant now) {
  new_ = !is_member(now);
  on_station(now, self_);
}

void SlotOrder::on_called(Instant now) {
  if (!new_) return;
  called_at_ = now;
  heard_at_.erase(self_);
}

void SlotOrder::on_spoken_to(Instant now) {
  const bool called = called_at_ && there(now, *called_at_);
  if (called && !is_member(now)) on_station(*called_at_, self_);
}

bool SlotOrder::is_member(Instant now) const {
  const auto self = heard_at_.find(self_);
  return self != heard_at_.end() && there(now, self->second);
}

std::size_t SlotOrder::others(Instant now) const {
  return members(now) - (is_member(now) ? 1 : 0);
}

std::uint32_t SlotOrder::slots(Instant now) const {
  const bool counted = is_member(now) || (called_at_ && there(now, *called_at_));
  return static_cast<std::uint32_t>(others(now)) + (counted ? 1 : 0) + kSpareSlots;
}

std::uint32_t SlotOrder::draw_slot(Instant now, Rng& rng) const {
  const std::uint32_t spares_from = slots(now) - kSpareSlots;
  if (!is_member(now)) return spares_from + rng.below(kSpareSlots);
  // Counts members after the station that began first, then those up to and including it.
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
