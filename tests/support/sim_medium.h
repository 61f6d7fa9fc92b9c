// SPDX-License-Identifier: Apache-2.0
// A radio channel that several stations share, without waveforms: bursts, losses, fades,
// collisions. Each station has a modem port to it. The medium cuts transmissions into D_PDUs only
// to damage them and to check the rules of the air; a receiver gets octets and nothing else.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "modem/api/port.h"
#include "s5066d/base/rng.h"
#include "tests/support/air.h"
#include "tests/support/fading_channel.h"
#include "tests/support/virtual_time.h"

namespace s5066::sim {

/// The listener hears nothing of the sender.
struct DeafTo {
  std::size_t listener = 0;
  std::size_t sender = 0;
  friend bool operator==(const DeafTo&, const DeafTo&) = default;
};

/// The listener hears nothing that is sent in this mode.
struct UnheardMode {
  std::size_t listener = 0;
  modem::Mode mode;
  friend bool operator==(const UnheardMode&, const UnheardMode&) = default;
};

struct MediumOptions {
  double frame_loss = 0;         // probability of a wrong bit in a D_PDU, for each listener
  double data_loss = 0;          // the same for D_PDUs with user data only
  double octet_loss = 0;         // the same per octet of a D_PDU, so that long ones are lost sooner
  double loss_run = 1;           // mean number of D_PDUs lost in a row, if above 1
  double loss_factor_first = 1;  // factor for the losses at the first station
  double missed_sync = 0;        // probability that a listener misses a whole burst
  double fades_per_burst = 0;    // probability of a fade in mid-burst, for each listener
  double flickers_per_hour = 0;  // false carriers, for each station
  Duration latency{};            // time from the end of a block to its delivery
  std::vector<DeafTo> deaf;      // stations out of reach, in one direction
  std::vector<modem::Mode> unheard_modes;  // modes that no station hears
  std::vector<UnheardMode> unheard_by;
  /// Each station hears the other while it sends itself.
  bool full_duplex = false;
  /// In full duplex these stations cannot receive while they send.
  std::vector<std::size_t> half_duplex;
  /// Full duplex on one frequency: each station also hears its own transmissions.
  bool hears_itself = false;
  /// Modems report an occupied channel while they receive power, that of bursts included. Without
  /// this option they report only the signals of occupy().
  bool power_heard = false;
  /// If false, the medium damages nothing by D_PDUs and checks no rule: for measurements of speed.
  bool looks_into_bursts = true;
  /// Damages bits and hides preambles in addition, in both directions alike, and gives the ratio
  /// that receivers measure. Without it they measure 20 dB.
  std::shared_ptr<const FadingChannel> fading;
};

/// Counters of broken rules; a test asserts that they stay 0.
struct MediumFaults {
  std::uint64_t keyed_over_announced_burst = 0;  // over a sender that cannot receive meanwhile
  std::uint64_t eot_increased = 0;
  /// EOT values that are neither the time to the end of the burst, rounded up, nor, in full duplex,
  /// 0 throughout.
  std::uint64_t eot_wrong = 0;
};

class Medium final : public Air {
 public:
  Medium(EventHeap& heap, Rng rng, const MediumOptions& options);

  std::size_t add_station(Deliver deliver) override;
  void command(std::size_t station, const modem::Command& command) override;

  /// Cuts the station's power: its transmission breaks off, and a pending one is never sent.
  void break_off(std::size_t station);
  /// Restarts the station's modem: it hears a burst under way without its octets, if at all.
  void on_restart(std::size_t station);

  /// Puts a signal that no modem knows on the air for this time; all stations hear it.
  void occupy(Duration lasting);
  /// Makes the station's modem report an occupied channel from now on, whatever the channel
  /// carries.
  void stick(std::size_t station);
  /// The station's modem reports occupied and free in turn, each for half of `period`.
  void flap(std::size_t station, Duration period);

  /// Replaces the options from now on.
  void set_options(const MediumOptions& options) { options_ = options; }

  const MediumFaults& faults() const { return faults_; }
  std::uint64_t bursts() const { return bursts_; }
  /// Counts the receptions that a listener lost because two stations sent.
  std::uint64_t collisions() const { return collisions_; }
  /// Counts the transmissions during which another station sent.
  std::uint64_t bursts_collided() const { return bursts_collided_; }
  /// Counts the transmissions that began over a signal of occupy() at least 340 ms old.
  std::uint64_t bursts_over_unknown() const { return bursts_over_unknown_; }
  /// Returns the time during which the station was keyed.
  Duration keyed_time(std::size_t station) const { return stations_[station].keyed_time; }

 private:
  struct Frame {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::uint8_t eot_half_s = 0;
  };
  struct Burst {
    std::size_t sender = 0;
    modem::TransmitBurst command;
    std::vector<Frame> frames;
    Instant data_start{};
    Instant end{};
    bool over = false;
    bool collided = false;
  };
  /// One listener's view of one burst.
  struct Reception {
    std::shared_ptr<Burst> burst;
    Bytes octets;               // octets with this listener's damage
    std::size_t delivered = 0;  // octets handed over
    std::optional<Instant> fades_at;
    std::optional<Instant> announced_end;  // the earliest end that an intact D_PDU announced
    std::vector<bool> damaged;             // one flag per frame
    std::size_t frames_told = 0;           // frames whose end was delivered
  };
  struct Station {
    Deliver deliver;
    std::shared_ptr<Burst> sending;
    std::shared_ptr<Reception> hearing;
    Duration keyed_time{};
    unsigned powered = 0;   // number of power cuts
    bool joined = false;    // hears a transmission whose preamble it missed, and none of its octets
    bool losing = false;    // a run of losses is going on
    bool occupied = false;  // the last report to the station
    bool stuck = false;     // reports an occupied channel for ever
  };

  void start(std::size_t station, modem::TransmitBurst command);
  void finish(std::size_t station, const std::shared_ptr<Burst>& burst,
              modem::TransmitOutcome outcome);
  void preamble_heard(std::size_t listener, const std::shared_ptr<Burst>& burst);
  void block_heard(std::size_t listener, const std::shared_ptr<Reception>& reception,
                   std::size_t block);
  void lose(std::size_t listener);
  void join_later(std::size_t listener, const std::shared_ptr<Burst>& burst);
  void leave(std::size_t listener, modem::CarrierDownReason reason);
  bool drowns(std::size_t station) const;
  bool drowned(const Station& station) const;
  bool apart() const { return options_.full_duplex && !options_.hears_itself; }
  bool others_send(std::size_t listener) const;
  bool hears_power(std::size_t listener) const;
  void look_for_power(std::size_t listener);
  void look_for_power();
  void tell_occupancy(std::size_t listener, bool occupied);
  bool hears(std::size_t listener, const Burst& burst) const;
  void damage(std::size_t listener, Reception& reception);
  void fade(Reception& reception);
  bool lost(std::size_t listener, double probability);
  void note_keying_over_a_burst(Instant now, const Station& self);
  void note_collisions(const std::shared_ptr<Burst>& burst);
  /// The burst begins for this listener: it is heard, missed or collides.
  void reach(std::size_t listener, const std::shared_ptr<Burst>& burst);
  void check_frames(const Burst& burst);
  void schedule_flicker(std::size_t station);

  EventHeap& heap_;
  Rng rng_;
  MediumOptions options_;
  std::vector<Station> stations_;
  MediumFaults faults_;
  std::uint64_t bursts_ = 0;
  std::uint64_t collisions_ = 0;
  std::uint64_t bursts_collided_ = 0;
  unsigned unknown_ = 0;  // number of signals of occupy() on the air
  Instant unknown_since_{};
  std::uint64_t bursts_over_unknown_ = 0;
};

}  // namespace s5066::sim
