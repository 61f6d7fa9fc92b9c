// A radio channel that several stations share, without waveforms: bursts, losses, fades,
// collisions. Each station sees it through the modem port. What is sent is cut into D_PDUs here
// only to damage them and to check the rules of the air; a receiver gets octets and nothing else.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "modem/api/port.h"
#include "s5066d/base/rng.h"
#include "tests/support/air.h"
#include "tests/support/event_heap.h"
#include "tests/support/fading_channel.h"

namespace s5066::sim {

/// The listener notices nothing at all of the sender.
struct DeafTo {
  std::size_t listener = 0;
  std::size_t sender = 0;
  friend bool operator==(const DeafTo&, const DeafTo&) = default;
};

/// The listener notices nothing of what is sent in that mode.
struct UnheardMode {
  std::size_t listener = 0;
  modem::Mode mode;
  friend bool operator==(const UnheardMode&, const UnheardMode&) = default;
};

struct MediumOptions {
  double frame_loss = 0;         // a D_PDU has a wrong bit somewhere, for each listener
  double data_loss = 0;          // the same, only of D_PDUs with user data
  double octet_loss = 0;         // the same for each octet of a D_PDU: longer ones are lost sooner
  double loss_run = 1;           // mean number of D_PDUs lost in a row, where above 1
  double loss_factor_first = 1;  // losses are so many times as likely at the first station
  double missed_sync = 0;        // a listener does not notice a burst at all
  double fades_per_burst = 0;    // the carrier is lost in mid-burst, for each listener
  double flickers_per_hour = 0;  // a carrier that is none, for each station
  Duration latency{};            // between the end of a block and its delivery
  std::vector<DeafTo> deaf;      // stations out of reach, in one direction
  std::vector<modem::Mode> unheard_modes;  // nobody notices what is sent in them
  std::vector<UnheardMode> unheard_by;
  /// Each station hears the other while it sends itself.
  bool full_duplex = false;
  /// But for these, which are deaf while they send.
  std::vector<std::size_t> half_duplex;
  /// Full duplex on one frequency: each hears what it sends itself as well.
  bool hears_itself = false;
  /// Modems tell that the channel is occupied while they hear power, that of bursts too; without it
  /// only of what occupy() puts there.
  bool power_heard = false;
  /// Without, nothing is damaged by D_PDUs and no rule is checked: for measurements of speed.
  bool looks_into_bursts = true;
  /// Damages bits and hides preambles besides, in both directions alike, and is what receivers
  /// measure; without it they measure 20 dB.
  std::shared_ptr<const FadingChannel> fading;
};

/// Broken rules; a test asserts that they stay 0.
struct MediumFaults {
  std::uint64_t keyed_over_announced_burst = 0;  // whose sender was deaf meanwhile
  std::uint64_t eot_increased = 0;
  std::uint64_t eot_wrong = 0;  // not the time to the end of the burst, rounded up; in full duplex
                                // nor 0 throughout
};

class Medium final : public Air {
 public:
  Medium(EventHeap& heap, Rng rng, const MediumOptions& options);

  std::size_t add_station(Deliver deliver) override;
  void command(std::size_t station, const modem::Command& command) override;

  /// The station's power goes: what it transmits breaks off, what it was about to is never sent.
  void break_off(std::size_t station);
  /// The station's modem begins anew: what is on the air is heard without its octets, if at all.
  void on_restart(std::size_t station);

  /// Something that no modem knows is on the air for so long, and is heard by all.
  void occupy(Duration lasting);
  /// The station's modem tells that the channel is occupied, whatever is on it, from now on.
  void stick(std::size_t station);
  /// The station's modem tells that it is occupied and free by turns, each for half of `period`.
  void flap(std::size_t station, Duration period);

  /// From now on.
  void set_options(const MediumOptions& options) { options_ = options; }

  const MediumFaults& faults() const { return faults_; }
  std::uint64_t bursts() const { return bursts_; }
  /// Times a listener lost something because two sent.
  std::uint64_t collisions() const { return collisions_; }
  /// Transmissions during which somebody else sent.
  std::uint64_t bursts_collided() const { return bursts_collided_; }
  /// Transmissions that began over what occupy() put there, a third of a second old or older.
  std::uint64_t bursts_over_unknown() const { return bursts_over_unknown_; }
  /// Time during which a station was keyed.
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
    Bytes octets;               // as damaged for this listener
    std::size_t delivered = 0;  // octets handed over
    std::optional<Instant> fades_at;
    std::optional<Instant> announced_end;  // the earliest that an intact D_PDU told
    std::vector<bool> damaged;             // by frame
    std::size_t frames_told = 0;           // those whose end was delivered
  };
  struct Station {
    Deliver deliver;
    std::shared_ptr<Burst> sending;
    std::shared_ptr<Reception> hearing;
    Duration keyed_time{};
    unsigned powered = 0;   // how often its power has gone
    bool joined = false;    // hears a transmission whose preamble it missed, and none of its octets
    bool losing = false;    // in a run of losses
    bool occupied = false;  // as told
    bool stuck = false;     // and it stays so
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
  unsigned unknown_ = 0;  // signals of occupy()
  Instant unknown_since_{};
  std::uint64_t bursts_over_unknown_ = 0;
};

}  // namespace s5066::sim
