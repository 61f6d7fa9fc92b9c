// In which order stations may begin an exchange when a shared channel falls free: round robin over
// the stations that are there, by minislots (MSRR: L. Kleinrock and M. Scholl, "Packet switching in
// radio channels: new conflict-free multiple access schemes", IEEE Trans. Commun. 28(7), 1980).
//
// Whoever hears the same frames deals out the same slots: the next address after that of the
// station which began the last exchange comes first, that station last, and behind it are a few
// slots for stations that have not been heard yet.
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
  /// So long after a station was heard it counts as being there.
  static constexpr Duration kStationMemory = std::chrono::minutes(30);
  /// More are not remembered; the one heard longest ago makes room.
  static constexpr std::size_t kStationsMax = 32;
  /// Behind those of the stations that are there, for others.
  static constexpr std::uint32_t kSpareSlots = 2;

  explicit SlotOrder(Address self) : self_(self) {}

  /// Another station was heard.
  void on_station(Instant now, Address station);
  /// This one transmits.
  void on_sent(Instant now);
  /// That was a call of another. Until it is answered it may be that nobody heard it.
  void on_called(Instant now);
  /// Somebody asks this one.
  void on_spoken_to(Instant now);
  /// This station has begun an exchange: what it sent was no answer.
  void on_exchange_begun(Address by) { began_last_ = by; }
  /// Others may have another view of who began: the order is that of the addresses until an
  /// exchange begins.
  void on_order_doubted() { began_last_.reset(); }

  /// Others that were heard of late.
  std::size_t others(Instant now) const;
  /// The slots of one round.
  std::uint32_t slots(Instant now) const;
  /// The slot of this station in each round; one of the spare ones at random until it has sent, and
  /// been answered if that was a call: two that called at once have not been heard, and would meet
  /// again and again in the slot that each takes for its own.
  std::uint32_t draw_slot(Instant now, Rng& rng) const;

 private:
  bool there(Instant now, Instant heard_at) const { return now < heard_at + kStationMemory; }
  std::size_t members(Instant now) const;
  bool is_member(Instant now) const;

  Address self_;
  std::map<Address, Instant> heard_at_;  // this station too, when it transmitted
  bool new_ = false;                     // with its last transmission it came to be there
  std::optional<Instant> called_at_;     // whoever heard it then counts it in
  std::optional<Address> began_last_;
};

}  // namespace s5066::dts
