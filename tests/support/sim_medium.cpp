// SPDX-License-Identifier: Apache-2.0
#include "tests/support/sim_medium.h"

#include <algorithm>
#include <cmath>

#include "modem/api/airtime.h"
#include "modem/api/morse.h"
#include "s5066d/pdu/dpdu.h"

namespace s5066::sim {
namespace {

constexpr Duration kHalfSecond = std::chrono::milliseconds(500);
/// A receiver notices a transmission whose preamble it missed `kJoinAfter` after its start, and its
/// end `kLeaveAfter` after that end. It reports an end that lies `kEndTold` in the past
/// (docs/measurements/modem.md).
constexpr Duration kJoinAfter = std::chrono::milliseconds(1500);
constexpr Duration kLeaveAfter = std::chrono::milliseconds(1500);
constexpr Duration kEndTold = std::chrono::milliseconds(800);
/// Time until a modem reports power on the channel, and until it reports its end.
constexpr Duration kOccupiedAfter = std::chrono::milliseconds(260);
constexpr Duration kFreeAfter = std::chrono::milliseconds(340);
/// Ratio that a receiver measures on a channel without fading, and its error of measurement.
constexpr float kSnrDb = 20;
constexpr double kReadErrorDb = 0.7;

Duration bit_time(std::uint64_t bits, const modem::Mode& mode) {
  return Duration(static_cast<Duration::rep>(bits) * 1'000'000'000 / mode.rate_bps);
}

}  // namespace

Medium::Medium(EventHeap& heap, Rng rng, const MediumOptions& options)
    : heap_(heap), rng_(rng), options_(options) {}

std::size_t Medium::add_station(Deliver deliver) {
  stations_.push_back(Station{.deliver = std::move(deliver)});
  if (options_.flickers_per_hour > 0) schedule_flicker(stations_.size() - 1);
  return stations_.size() - 1;
}

void Medium::command(std::size_t station, const modem::Command& command) {
  if (const auto* transmit = std::get_if<modem::TransmitBurst>(&command)) {
    const Instant at = std::max(transmit->not_before, heap_.now());
    heap_.schedule(at, [this, station, burst = *transmit, since = stations_[station].powered] {
      if (stations_[station].powered == since) start(station, burst);
    });
  } else if (const auto* abort = std::get_if<modem::AbortTransmit>(&command)) {
    const auto burst = stations_[station].sending;
    if (burst && burst->command.id == abort->id) {
      heap_.schedule(heap_.now(), [this, station, burst] {
        finish(station, burst, modem::TransmitOutcome::aborted);
      });
    }
  }
}

void Medium::break_off(std::size_t station) {
  const auto burst = stations_[station].sending;
  if (burst) finish(station, burst, modem::TransmitOutcome::aborted);
  ++stations_[station].powered;
}

void Medium::on_restart(std::size_t station) {
  Station& self = stations_[station];
  self.hearing.reset();
  self.joined = false;
  self.occupied = false;
  look_for_power(station);
  for (const Station& other : stations_) {
    if (other.sending) join_later(station, other.sending);
  }
}

bool Medium::drowns(std::size_t station) const {
  const auto& half = options_.half_duplex;
  return !options_.full_duplex || std::find(half.begin(), half.end(), station) != half.end();
}

bool Medium::drowned(const Station& station) const {
  return station.sending && drowns(static_cast<std::size_t>(&station - stations_.data()));
}

bool Medium::others_send(std::size_t listener) const {
  return std::any_of(stations_.begin(), stations_.end(), [&](const Station& other) {
    return &other != &stations_[listener] && other.sending && hears(listener, *other.sending);
  });
}

bool Medium::hears(std::size_t listener, const Burst& burst) const {
  const auto contains = [](const auto& list, const auto& one) {
    return std::find(list.begin(), list.end(), one) != list.end();
  };
  return !contains(options_.deaf, DeafTo{listener, burst.sender}) &&
         !contains(options_.unheard_modes, burst.command.mode) &&
         !contains(options_.unheard_by, UnheardMode{listener, burst.command.mode});
}

void Medium::occupy(Duration lasting) {
  if (unknown_++ == 0) unknown_since_ = heap_.now();
  look_for_power();
  heap_.schedule(heap_.now() + lasting, [this] {
    --unknown_;
    look_for_power();
  });
}

void Medium::stick(std::size_t station) {
  stations_[station].stuck = true;
  look_for_power(station);
}

void Medium::flap(std::size_t station, Duration period) {
  const Station& self = stations_[station];
  if (!drowned(self)) tell_occupancy(station, !self.occupied);
  heap_.schedule(heap_.now() + period / 2, [this, station, period] { flap(station, period); });
}

bool Medium::hears_power(std::size_t listener) const {
  const Station& self = stations_[listener];
  if (drowned(self)) return false;
  return self.stuck || unknown_ > 0 || (options_.power_heard && others_send(listener));
}

void Medium::tell_occupancy(std::size_t listener, bool occupied) {
  Station& self = stations_[listener];
  if (std::exchange(self.occupied, occupied) == occupied) return;
  self.deliver(modem::ChannelOccupancy{heap_.now(), occupied});
}

void Medium::look_for_power(std::size_t listener) {
  const bool power = hears_power(listener);
  if (power == stations_[listener].occupied) return;
  heap_.schedule(heap_.now() + (power ? kOccupiedAfter : kFreeAfter), [this, listener, power] {
    if (hears_power(listener) == power) tell_occupancy(listener, power);
  });
}

void Medium::look_for_power() {
  for (std::size_t i = 0; i < stations_.size(); ++i) look_for_power(i);
}

// The listener joins if it has heard nothing else by then and the burst is still on the air.
void Medium::join_later(std::size_t listener, const std::shared_ptr<Burst>& burst) {
  heap_.schedule(heap_.now() + kJoinAfter, [this, listener, burst] {
    Station& self = stations_[listener];
    if (drowned(self) || self.hearing || self.joined) return;
    if (stations_[burst->sender].sending != burst || !hears(listener, *burst)) return;
    self.joined = true;
    self.deliver(modem::CarrierUp{heap_.now(), burst->command.mode, 20, 0});
  });
}

void Medium::leave(std::size_t listener, modem::CarrierDownReason reason) {
  Station& self = stations_[listener];
  if (!self.joined) return;
  self.joined = false;
  const bool lost = reason == modem::CarrierDownReason::lost;
  self.deliver(
      modem::CarrierDown{heap_.now(), lost ? heap_.now() - kEndTold : heap_.now(), reason});
}

void Medium::start(std::size_t station, modem::TransmitBurst command) {
  const Instant now = heap_.now();
  Station& self = stations_[station];
  if (self.sending) {
    self.deliver(modem::Fault{now, modem::FaultKind::command_refused, "still transmitting"});
    return;
  }
  note_keying_over_a_burst(now, self);
  if (drowns(station)) {
    lose(station);
    self.joined = false;
  }

  auto burst = std::make_shared<Burst>();
  burst->sender = station;
  burst->command = std::move(command);
  const modem::Mode& mode = burst->command.mode;
  burst->data_start = now + modem::preamble_duration(mode);
  const std::string& morse = burst->command.morse;
  burst->end = now + (morse.empty() ? modem::airtime(mode, burst->command.bytes.size())
                                    : modem::morse_airtime(morse));
  for (std::size_t at = 0; options_.looks_into_bursts && at < burst->command.bytes.size();) {
    const auto frame = pdu::decode(ByteSpan(burst->command.bytes).subspan(at));
    S5066_ASSERT(frame.ok());
    burst->frames.push_back({at, at + frame->octets, pdu::common_of(frame->dpdu).eot_half_s});
    at += frame->octets;
  }
  check_frames(*burst);
  if (unknown_ > 0 && now >= unknown_since_ + kFreeAfter) ++bursts_over_unknown_;
  self.sending = burst;
  ++bursts_;
  if (drowned(self)) tell_occupancy(station, false);
  look_for_power();
  note_collisions(burst);
  self.deliver(modem::TransmitStarted{now, burst->command.id});

  for (std::size_t other = 0; other < stations_.size(); ++other) {
    if (!morse.empty()) continue;  // no receiver of a modem recognises it
    if (other != station || options_.hears_itself) reach(other, burst);
  }
  heap_.schedule(burst->end,
                 [this, station, burst] { finish(station, burst, modem::TransmitOutcome::sent); });
}

void Medium::note_keying_over_a_burst(Instant now, const Station& self) {
  if (!self.hearing || self.hearing->burst->over || now >= self.hearing->burst->end) return;
  const bool announced = self.hearing->announced_end && now < *self.hearing->announced_end;
  if (announced && drowns(self.hearing->burst->sender)) ++faults_.keyed_over_announced_burst;
}

void Medium::note_collisions(const std::shared_ptr<Burst>& burst) {
  for (const Station& other : stations_) {
    if (!other.sending || other.sending == burst || apart()) continue;
    for (Burst* met : {burst.get(), other.sending.get()}) {
      if (!met->collided) ++bursts_collided_;
      met->collided = true;
    }
  }
}

void Medium::reach(std::size_t listener, const std::shared_ptr<Burst>& burst) {
  const Station& self = stations_[listener];
  const Instant now = heap_.now();
  if (drowned(self) || !hears(listener, *burst)) return;
  if (self.hearing && !self.hearing->burst->over) {
    ++collisions_;
    heap_.schedule(now, [this, listener] { lose(listener); });
    join_later(listener, burst);
    return;
  }
  if (rng_.chance(options_.missed_sync)) return;
  if (options_.fading && !options_.fading->found(burst->command.mode, now)) {
    join_later(listener, burst);
    return;
  }
  heap_.schedule(burst->data_start, [this, listener, burst] { preamble_heard(listener, burst); });
}

void Medium::check_frames(const Burst& burst) {
  const modem::Mode& mode = burst.command.mode;
  const std::uint64_t blocks = modem::block_count(mode, burst.command.bytes.size());
  // Times are in units of which a symbol and a bit are whole multiples.
  const std::uint64_t end = modem::data_symbols(mode, blocks) * mode.rate_bps;
  const std::uint64_t half_second = modem::symbol_rate(mode) / 2 * mode.rate_bps;
  std::uint8_t last = 255;
  for (const Frame& frame : burst.frames) {
    const std::uint64_t begin = 8 * frame.begin * modem::symbol_rate(mode);
    const std::uint64_t left = begin < end ? end - begin : 1;
    const std::uint64_t expected = (left + half_second - 1) / half_second;
    const bool untold = options_.full_duplex && burst.frames.front().eot_half_s == 0;
    const auto told = untold ? 0 : std::min<std::uint64_t>(255, expected);
    if (frame.eot_half_s != told) ++faults_.eot_wrong;
    if (frame.eot_half_s > last) ++faults_.eot_increased;
    last = frame.eot_half_s;
  }
}

void Medium::finish(std::size_t station, const std::shared_ptr<Burst>& burst,
                    modem::TransmitOutcome outcome) {
  Station& self = stations_[station];
  if (self.sending != burst) return;
  self.keyed_time +=
      heap_.now() - (burst->data_start - modem::preamble_duration(burst->command.mode));
  self.sending.reset();
  const bool cut = outcome != modem::TransmitOutcome::sent;
  burst->over = cut;
  burst->end = heap_.now();
  look_for_power();
  self.deliver(modem::TransmitFinished{heap_.now(), burst->command.id, outcome});
  for (std::size_t other = 0; other < stations_.size(); ++other) {
    if (stations_[other].sending) join_later(station, stations_[other].sending);
    if (!stations_[other].joined) continue;
    heap_.schedule(heap_.now() + kLeaveAfter, [this, other] {
      if (!others_send(other)) leave(other, modem::CarrierDownReason::lost);
    });
  }
  if (!cut) return;
  for (std::size_t other = 0; other < stations_.size(); ++other) {
    if (stations_[other].hearing && stations_[other].hearing->burst == burst) lose(other);
  }
}

void Medium::preamble_heard(std::size_t listener, const std::shared_ptr<Burst>& burst) {
  Station& self = stations_[listener];
  if (burst->over || burst->end <= heap_.now()) return;
  if (drowned(self)) return;  // joins after its own transmission
  const auto also_sending = [&](const Station& s) {
    const bool heard = &s != &self || options_.hears_itself;
    return heard && s.sending && s.sending != burst && hears(listener, *s.sending);
  };
  if (std::any_of(stations_.begin(), stations_.end(), also_sending)) {
    ++collisions_;  // neither burst can be decoded
    lose(listener);
    join_later(listener, burst);
    return;
  }
  if (self.hearing) lose(listener);
  leave(listener, modem::CarrierDownReason::replaced);
  auto reception = std::make_shared<Reception>();
  reception->burst = burst;
  reception->octets = burst->command.bytes;
  damage(listener, *reception);
  if (options_.fading) fade(*reception);
  if (rng_.chance(options_.fades_per_burst)) {
    reception->fades_at = burst->data_start +
                          from_seconds(to_seconds(burst->end - burst->data_start) * rng_.uniform());
  }
  self.hearing = reception;
  const double snr_db =
      options_.fading ? options_.fading->snr_db(heap_.now(), heap_.now()) : kSnrDb;
  self.deliver(modem::CarrierUp{heap_.now(), burst->command.mode, static_cast<float>(snr_db), 0});
  const auto blocks = modem::block_count(burst->command.mode, burst->command.bytes.size());
  for (std::size_t block = 0; block < blocks; ++block) {
    const Instant at = burst->data_start +
                       modem::data_duration_of_blocks(burst->command.mode, block + 1) +
                       options_.latency;
    heap_.schedule(at,
                   [this, listener, reception, block] { block_heard(listener, reception, block); });
  }
}

// Runs of losses and the gaps between them have geometric lengths (Gilbert's channel).
bool Medium::lost(std::size_t listener, double probability) {
  if (options_.loss_run <= 1 || probability <= 0 || probability >= 1) {
    return rng_.chance(probability);
  }
  bool& losing = stations_[listener].losing;
  const double begins = probability / (1 - probability) / options_.loss_run;
  losing = losing ? !rng_.chance(1 / options_.loss_run) : rng_.chance(begins);
  return losing;
}

void Medium::damage(std::size_t listener, Reception& reception) {
  const double factor = listener == 0 ? options_.loss_factor_first : 1;
  for (const Frame& frame : reception.burst->frames) {
    const int type = reception.octets[frame.begin + 2] >> 4;
    const bool data = type == 0 || type == 2 || type == 4 || (type >= 7 && type <= 9);
    const auto octets = static_cast<double>(frame.end - frame.begin);
    const double probability = options_.frame_loss + (data ? options_.data_loss : 0) +
                               (1 - std::pow(1 - options_.octet_loss, octets));
    const bool hit = lost(listener, std::min(1.0, factor * probability));
    reception.damaged.push_back(hit);
    if (!hit) continue;
    const auto bits = static_cast<std::uint32_t>(8 * (frame.end - frame.begin));
    const std::uint32_t bit = rng_.below(bits);
    reception.octets[frame.begin + bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
  }
}

// A decoder's errors come in events of a few bits. A block is the span of the interleaver.
void Medium::fade(Reception& reception) {
  constexpr double kEventBits = 8;
  const Burst& burst = *reception.burst;
  const modem::Mode& mode = burst.command.mode;
  const std::size_t bits = 8 * reception.octets.size();
  const std::size_t in_block = modem::block_bits(mode);
  for (std::size_t begin = 0, block = 0; begin < bits; begin += in_block, ++block) {
    const Instant from = burst.data_start + modem::data_duration_of_blocks(mode, block);
    const Instant to = burst.data_start + modem::data_duration_of_blocks(mode, block + 1);
    const double events = options_.fading->bit_errors(mode, from, to) / kEventBits * 2;
    const std::size_t end = std::min(bits, begin + in_block);
    for (auto at = static_cast<double>(begin);;) {
      at += std::floor(std::log(1 - rng_.uniform()) / std::log1p(-std::min(events, 0.5)));
      if (at >= static_cast<double>(end)) break;
      for (int i = 0; i < static_cast<int>(kEventBits); ++i, ++at) {
        const auto bit = static_cast<std::size_t>(at);
        if (bit < end && (i == 0 || rng_.chance(0.5))) {
          reception.octets[bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
        }
      }
    }
  }
  for (std::size_t i = 0; i < burst.frames.size(); ++i) {
    const auto begin = static_cast<std::ptrdiff_t>(burst.frames[i].begin);
    const auto end = static_cast<std::ptrdiff_t>(burst.frames[i].end);
    const Bytes& sent = burst.command.bytes;
    const bool same =
        std::equal(sent.begin() + begin, sent.begin() + end, reception.octets.begin() + begin);
    reception.damaged[i] = reception.damaged[i] || !same;
  }
}

void Medium::block_heard(std::size_t listener, const std::shared_ptr<Reception>& reception,
                         std::size_t block) {
  Station& self = stations_[listener];
  if (self.hearing != reception) return;  // the burst was lost meanwhile
  const Burst& burst = *reception->burst;
  const modem::Mode& mode = burst.command.mode;
  if (reception->fades_at && heap_.now() >= *reception->fades_at) return lose(listener);

  const std::size_t blocks = modem::block_count(mode, burst.command.bytes.size());
  const std::size_t upto =
      std::min(reception->octets.size(), (block + 1) * modem::block_bits(mode) / 8);
  if (upto > reception->delivered) {
    modem::ReceivedBytes event;
    event.at = heap_.now();
    event.first_bit_at = burst.data_start + bit_time(8 * reception->delivered, mode);
    event.mode = mode;
    event.bytes.assign(
        reception->octets.begin() + static_cast<std::ptrdiff_t>(reception->delivered),
        reception->octets.begin() + static_cast<std::ptrdiff_t>(upto));
    event.soft_quality = 1;
    event.channel.snr_db = kSnrDb;
    if (options_.fading) {
      const Instant from = burst.data_start + modem::data_duration_of_blocks(mode, block);
      const Instant to = burst.data_start + modem::data_duration_of_blocks(mode, block + 1);
      const double read = options_.fading->snr_db(from, to) + options_.fading->reads_more_db;
      event.channel.snr_db = static_cast<float>(read + kReadErrorDb * rng_.gaussian());
    }
    reception->delivered = upto;
    for (std::size_t& i = reception->frames_told; i < burst.frames.size(); ++i) {
      const Frame& frame = burst.frames[i];
      if (frame.end > upto) break;
      if (reception->damaged[i]) continue;
      const Instant told =
          burst.data_start + bit_time(8 * frame.begin, mode) + frame.eot_half_s * kHalfSecond;
      reception->announced_end = std::min(reception->announced_end.value_or(told), told);
    }
    self.deliver(event);
  }
  if (block + 1 < blocks || self.hearing != reception) return;
  self.hearing.reset();
  self.deliver(
      modem::CarrierDown{heap_.now(), burst.end, modem::CarrierDownReason::end_of_message});
}

void Medium::lose(std::size_t listener) {
  Station& self = stations_[listener];
  if (!self.hearing) return;
  const bool faded = self.hearing->fades_at.has_value() && !drowned(self);
  if (!faded) self.hearing.reset();
  // After a fade the burst goes on undecoded. The listener remembers it only so that the medium can
  // check that the listener does not key over it.
  if (faded) {
    const auto ghost = std::make_shared<Reception>(*self.hearing);
    ghost->fades_at.reset();
    self.hearing = ghost;
    const auto burst = ghost->burst;
    heap_.schedule(std::max(burst->end, heap_.now()), [this, listener, ghost] {
      if (stations_[listener].hearing == ghost) stations_[listener].hearing.reset();
    });
  }
  self.deliver(modem::CarrierDown{heap_.now(), heap_.now(), modem::CarrierDownReason::lost});
}

void Medium::schedule_flicker(std::size_t station) {
  if (options_.flickers_per_hour <= 0) return;
  const double hours = -std::log(1 - rng_.uniform()) / options_.flickers_per_hour;
  heap_.schedule(heap_.now() + from_seconds(3600 * hours), [this, station] {
    Station& self = stations_[station];
    if (!drowned(self) && !self.hearing && !self.joined) {
      self.deliver(modem::CarrierUp{heap_.now(), {}, 0, 0});
      heap_.schedule(heap_.now() + std::chrono::seconds(1), [this, station] {
        if (stations_[station].hearing || stations_[station].joined) return;
        const Instant at = heap_.now();
        stations_[station].deliver(modem::CarrierDown{at, at, modem::CarrierDownReason::lost});
      });
    }
    schedule_flicker(station);
  });
}

}  // namespace s5066::sim
