// SPDX-License-Identifier: Apache-2.0
// Says which messages may be under way at a time. Each destination has a limit of its own and all
// of them have one together, each with a reserve for higher precedence, so that a destination that
// does not answer keeps no other destination waiting and no urgent message of its own.
//
// Add what is under way, then ask for each message that waits whether it is admitted, and add it if
// it is begun.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "gateways/acp142/mail/p_mul_names.h"

namespace s5066::acp142 {

class DeliveryRoom {
 public:
  static constexpr std::uint32_t kStepsMax = 3;
  /// Steps of precedence above routine: priority, immediate, flash and override together.
  static std::uint32_t steps_of(std::uint8_t priority);

  /// A reserve is added once for priority, twice for immediate and three times for flash and above.
  /// A message is admitted while its octets are below a limit, so one more than that is in memory.
  struct Limits {
    std::uint32_t items_max = 0;  // for all destinations
    std::uint32_t items_reserve = 0;
    std::uint64_t octets_max = 0;  // octets of content
    std::uint64_t octets_reserve = 0;
    std::uint32_t station_items_max = 0;  // for one destination
    std::uint32_t station_items_reserve = 0;
    std::uint64_t station_octets_max = 0;
    std::uint64_t station_octets_reserve = 0;
  };
  struct Load {
    std::uint8_t priority = 0;  // priority of P_MUL
    std::uint64_t octets = 0;
    std::vector<NodeId> stations{};  // stations with recipients that have not ended, each once
  };

  DeliveryRoom(const Limits& answering, const Limits& silent)
      : answering_(answering), silent_(silent) {}

  /// Names the stations in EMCON. Messages that wait only for such stations have limits of their
  /// own.
  void set_silent(std::set<NodeId> stations) { silent_stations_ = std::move(stations); }
  /// Names the stations that did not answer. A message that is only for such stations makes no
  /// other give way.
  void set_unanswering(std::set<NodeId> stations) { unanswering_ = std::move(stations); }

  /// Counts a message as under way. `gives_way`: it waits for stations that did not answer, or for
  /// stations in EMCON that have been sent all configured rounds, and can be put back if another
  /// message needs the room.
  void add(const Load& load, bool gives_way = false);
  bool admits(std::uint8_t priority, const std::vector<NodeId>& stations) const;
  /// True if at least one message could be admitted.
  bool admits_some() const;
  /// True if more is under way than the limits and all reserves allow.
  bool is_over(bool for_silent) const;
  bool is_for_silent(const std::vector<NodeId>& stations) const;

 private:
  struct Use {
    std::uint32_t items = 0;
    std::uint64_t octets = 0;
  };
  struct Pool {
    explicit Pool(const Limits& from) : limits(from) {}
    Limits limits;
    Use all;
    Use firm;  // messages that do not give way
    std::map<NodeId, Use> stations;
  };

  static bool all_of(const std::vector<NodeId>& stations, const std::set<NodeId>& known);
  static bool has_room(const Pool& pool, const Use& use, std::uint32_t steps);
  static bool has_station_room(const Pool& pool, NodeId station, std::uint32_t steps);

  Pool answering_;
  Pool silent_;
  std::set<NodeId> silent_stations_;
  std::set<NodeId> unanswering_;
};

}  // namespace s5066::acp142
