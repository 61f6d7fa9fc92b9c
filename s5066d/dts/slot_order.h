// SPDX-License-Identifier: Apache-2.0
// Order in which stations may begin an exchange when a shared channel falls free: round robin over
// the stations that are on the air, by minislots (MSRR: L. Kleinrock and M. Scholl, "Packet
// switching in radio channels: new conflict-free multiple access schemes", IEEE Trans. Commun.
// 28(7), 1980).
//
// Stations that hear the same frames compute the same slots. The next address after that of the
// station which began the last exchange comes first, and that station comes last. Behind it are
// kSpareSlots slots for stations that have not been heard yet.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "s5066d/base/ids.h"
#include "s5066d/base/rng.h"
#include "s5066d/base/time.h"

namespace s5066::dts {

class SlotOrder {
 public:
  /// Time for which a station counts as on the air after it was heard.
  static constexpr Duration kStationMemory = std::chrono::minutes(30);
  /// Largest number of remembered stations; the one heard longest ago makes room.
  static constexpr std::size_t kStationsMax = 32;
  /// Slots for unknown stations, behind those of the stations that are on the air.
  static constexpr std::uint32_t kSpareSlots = 2;

  explicit SlotOrder(Address self) : self_(self) {}

  /// Call when another station was heard.
  void on_station(Instant now, Address station);
  /// Call when this station transmits.
  void on_sent(Instant now);
  /// Call when that transmission was a call of another station. Until the call is answered,
  /// perhaps no station has received it.
  void on_called(Instant now);
  /// Call when another station asks this one for an answer.
  void on_spoken_to(Instant now);
  /// Call when `by` has begun an exchange: its transmission was no answer.
  void on_exchange_begun(Address by) { began_last_ = by; }
  /// Call when others may differ about who began. The order is then that of the addresses until an
  /// exchange begins.
  void on_order_doubted() { began_last_.reset(); }

  /// Returns the number of other stations that were heard in the last kStationMemory.
  std::size_t others(Instant now) const;
  /// Returns the number of slots of one round.
  std::uint32_t slots(Instant now) const;
  /// Returns the slot of this station in each round. Until it has sent, and a call of it has been
  /// answered, this is one of the spare slots at random. Two stations that called at once have not
  /// been heard, and would collide again and again in the slot that each computes for itself.
  std::uint32_t draw_slot(Instant now, Rng& rng) const;

 private:
  bool there(Instant now, Instant heard_at) const { return now < heard_at + kStationMemory; }
  std::size_t members(Instant now) const;
  bool is_member(Instant now) const;

  Address self_;
  std::map<Address, Instant> heard_at_;  // includes this station, when it transmitted
  bool new_ = false;                  // our last transmission made this station count as on the air
  std::optional<Instant> called_at_;  // stations that heard the call count it
  std::optional<Address> began_last_;
};

}  // namespace s5066::dts
