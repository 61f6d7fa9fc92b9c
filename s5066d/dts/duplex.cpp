// SPDX-License-Identifier: Apache-2.0
#include "s5066d/dts/duplex.h"

#include <algorithm>
#include <utility>

#include "modem/api/airtime.h"

namespace s5066::dts {
namespace {

/// Largest difference between the clocks of receiver and transmitter.
constexpr Duration kClockSlack = std::chrono::milliseconds(50);
/// If more of our transmissions in a row are not heard here, the frequencies are separate again.
constexpr unsigned kOwnUnheardMax = 5;

}  // namespace

std::string_view to_string(Duplex duplex) {
  switch (duplex) {
    case Duplex::half:
      return "half";
    case Duplex::full:
      return "full";
    case Duplex::no_link:
      return "no_link";
    case Duplex::untold:
      return "untold";
    case Duplex::peer_is_half:
      return "peer_is_half";
    case Duplex::hears_itself:
      return "hears_itself";
    case Duplex::third_station:
      return "third_station";
  }
  return "unknown";
}

Duplex DuplexDetector::update(bool third_stations, Duplex peers) {
  Duplex next = peers;
  if (third_stations) next = Duplex::third_station;
  if (hears_itself_) next = Duplex::hears_itself;
  if (!configured_) next = Duplex::half;
  return std::exchange(state_, next);
}

void DuplexDetector::on_own_heard() {
  hears_itself_ = true;
  own_unheard_ = 0;
}

void DuplexDetector::on_own_ended(Instant now, bool sent) {
  own_ended_ = now;
  if (sent && hears_itself_ && ++own_unheard_ > kOwnUnheardMax) hears_itself_ = false;
}

// The sender leaves a turnaround after a transmission that it has heard. If turns are taken, a
// station that keyed after our transmission has heard it, however soon it keyed.
std::optional<Instant> DuplexDetector::formed_at(const HeardBurst& burst, bool sending,
                                                 Duration turnaround) const {
  if (!configured_) return std::nullopt;
  const Instant keyed = *burst.start - modem::preamble_duration(burst.mode);
  const Instant formed = keyed - turnaround / 2;
  const bool in_turn = !full() && !sending && keyed + kClockSlack >= own_ended_;
  return in_turn ? std::max(formed, own_ended_) : formed;
}

}  // namespace s5066::dts
