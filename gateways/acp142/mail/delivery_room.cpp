// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/mail/delivery_room.h"

#include <algorithm>

namespace s5066::acp142 {

std::uint32_t DeliveryRoom::steps_of(std::uint8_t priority) {
  if (priority <= 3) return kStepsMax;
  return priority <= 5 ? 2 : priority <= 7 ? 1 : 0;
}

bool DeliveryRoom::all_of(const std::vector<NodeId>& stations, const std::set<NodeId>& known) {
  return !stations.empty() && std::all_of(stations.begin(), stations.end(),
                                          [&](NodeId node) { return known.contains(node); });
}

bool DeliveryRoom::is_for_silent(const std::vector<NodeId>& stations) const {
  return all_of(stations, silent_stations_);
}

void DeliveryRoom::add(const Load& load, bool gives_way) {
  const bool for_silent = is_for_silent(load.stations);
  Pool& pool = for_silent ? silent_ : answering_;
  const auto count = [&](Use& use) {
    ++use.items;
    use.octets += load.octets;
  };
  count(pool.all);
  if (!gives_way) count(pool.firm);
  // A message that a silent station has been sent as often as configured leaves its place to
  // others.
  if (for_silent && gives_way) return;
  for (const NodeId station : load.stations) count(pool.stations[station]);
}

bool DeliveryRoom::has_room(const Pool& pool, const Use& use, std::uint32_t steps) {
  const Limits& limits = pool.limits;
  return use.items < limits.items_max + limits.items_reserve * steps &&
         use.octets < limits.octets_max + limits.octets_reserve * steps;
}

bool DeliveryRoom::has_station_room(const Pool& pool, NodeId station, std::uint32_t steps) {
  const auto at = pool.stations.find(station);
  if (at == pool.stations.end()) return true;
  const Limits& limits = pool.limits;
  return at->second.items < limits.station_items_max + limits.station_items_reserve * steps &&
         at->second.octets < limits.station_octets_max + limits.station_octets_reserve * steps;
}

// One station with room is enough: stations without room must not hold up the message for the
// others.
bool DeliveryRoom::admits(std::uint8_t priority, const std::vector<NodeId>& stations) const {
  const bool for_silent = is_for_silent(stations);
  const Pool& pool = for_silent ? silent_ : answering_;
  const std::uint32_t steps = steps_of(priority);
  const bool unanswering = !for_silent && all_of(stations, unanswering_);
  if (!has_room(pool, unanswering ? pool.all : pool.firm, steps)) return false;
  return stations.empty() || std::any_of(stations.begin(), stations.end(), [&](NodeId station) {
           return has_station_room(pool, station, steps);
         });
}

bool DeliveryRoom::admits_some() const {
  return has_room(answering_, answering_.firm, kStepsMax) ||
         has_room(silent_, silent_.firm, kStepsMax);
}

bool DeliveryRoom::is_over(bool for_silent) const {
  const Pool& pool = for_silent ? silent_ : answering_;
  const Limits& limits = pool.limits;
  return pool.all.items > limits.items_max + limits.items_reserve * kStepsMax ||
         pool.all.octets > limits.octets_max + limits.octets_reserve * kStepsMax;
}

}  // namespace s5066::acp142
