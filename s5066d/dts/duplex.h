// SPDX-License-Identifier: Apache-2.0
// Decides whether both stations send at the same time, each on a frequency of its own, and tells
// when a received transmission was formed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "s5066d/base/time.h"
#include "s5066d/dts/heard_burst.h"

namespace s5066::dts {

/// Tells whether both stations send at the same time, and if that is configured, why they do not.
enum class Duplex : std::uint8_t {
  half,     // as configured
  full,     // both send at the same time
  no_link,  // turns are taken until there is a link
  untold,   // the other has not been heard on the link, nor told what it can do
  // Full duplex should not have been configured, here or there, in these states:
  peer_is_half,   // the other does not announce that it receives while it sends
  hears_itself,   // we receive our own transmission: both frequencies are one
  third_station,  // a third station was heard in the last 30 minutes
};
std::string_view to_string(Duplex duplex);

class DuplexDetector {
 public:
  explicit DuplexDetector(bool configured)
      : configured_(configured), state_(configured ? Duplex::no_link : Duplex::half) {}

  Duplex state() const { return state_; }
  bool full() const { return state_ == Duplex::full; }
  bool hears_itself() const { return hears_itself_; }
  /// True if the burst being heard is our own.
  bool is_own_echo(const HeardBurst& burst) const { return hears_itself_ && burst.beside_own; }
  /// Returns what we announce to peers. No third station receives two stations with a frequency
  /// each.
  bool may_hear_while_sending(bool third_stations) const {
    return configured_ && !hears_itself_ && !third_stations;
  }
  /// Takes over a new state and returns the one before. `peers`: full, no_link, untold or
  /// peer_is_half, as the stations with a link would have it. Call between own transmissions only,
  /// because half a transmission would otherwise have no end announced.
  Duplex update(bool third_stations, Duplex peers);

  // --- Our own transmissions ---
  void on_keyed(Instant now) { own_began_ = now; }
  void on_own_ended(Instant now, bool sent);
  /// Call when a D_PDU of our own transmission was received.
  void on_own_heard();
  /// True if a D_PDU with our address is of our last transmission; otherwise another station uses
  /// our address.
  bool is_own(Instant first_bit_at, bool sending) const {
    return configured_ && first_bit_at >= own_began_ && (sending || first_bit_at <= own_ended_);
  }

  /// Returns when the transmission being received was formed: when its sender keyed, a little
  /// before its first symbol. Empty in half duplex, where every answer covers all that was sent.
  std::optional<Instant> formed_at(const HeardBurst& burst, bool sending,
                                   Duration turnaround) const;

 private:
  const bool configured_;
  Duplex state_;
  bool hears_itself_ = false;
  unsigned own_unheard_ = 0;  // our transmissions in a row that we did not receive
  Instant own_began_{};       // our last transmission
  Instant own_ended_{};
};

}  // namespace s5066::dts
