// Decides when this station may key its transmitter on a shared half-duplex channel (C.3.2.3; the
// rules around it are ours and written down in docs/ARCHITECTURE.md).
//
// - Nobody transmits over a carrier, nor before an announced end of transmission has passed: a fade
//   can hide the carrier in mid-burst, so the announced end outlives it.
// - The station that was spoken to owns the next turn and takes it after `turnaround`. Everybody
//   else leaves it `reply_guard` more, and then waits for its slot (see slot_order.h). Unless
//   somebody waits for its answer, it does the same after several turns in a row, so that two
//   stations with much to say do not shut the others out. More turns and less waiting where no
//   third station was heard of late.
// - Among three stations and more the slots go on after a transmission for as long as everybody
//   knows when they began: whoever comes to want something while nobody sends takes his own, too.
//   One that always has something to send leaves a round now and then to those not heard yet, whose
//   slots are behind its own.
// - After a transmission that asks for an answer, this station is silent until the answer has come
//   or its time is up.
// - What no receiver knows may be on the air, too. While it is, nobody begins of his own accord or
//   in his slot; it takes no turn from whoever has one. In one contention it counts for no longer
//   than a transmission may last, however often it comes and goes: from then on nothing is moved by
//   it, neither its end nor where the slots begin. The next contention begins anew, when a turn
//   that was no answer has been taken, or there was nothing left to send, or an exchange has gone
//   on for as long again.
//
// In full duplex, where each of two stations has a frequency of its own to send on, there are no
// turns: what is to be sent goes at once, and an answer is missing when nothing answered within its
// time, or in a whole transmission that began later.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <variant>

#include "s5066d/base/rng.h"
#include "s5066d/base/time.h"
#include "s5066d/dts/slot_order.h"

namespace s5066::dts {

class TurnControl {
 public:
  struct Config {
    Address self;
    Duration turnaround;         // silence left after anyone stops: key-up, settling, processing
    Duration preamble;           // ours; longer ones are known when they were on the air
    Duration reply_guard;        // until an answer with that preamble was detected, at the latest
    Duration slot;               // longer than the detection of that preamble plus turnaround
    unsigned own_turns_max = 2;  // in a row, then the others get their chance
    Duration gap_alone = std::chrono::milliseconds(500);  // after an own transmission, besides
    std::uint32_t slots_min = 4;                          // of which who has heard nobody draws one
    /// The rounds to wait double up to this at each missing reply; among three and more at least
    /// until they are as long as what was not answered.
    std::uint32_t slots_max = 32;
    bool full_duplex = false;
    /// Nobody but two stations uses the frequency: once the other has been heard no slots are left
    /// to those that have not.
    bool dedicated = false;
  };
  /// Fill and send a transmission now.
  struct KeyTransmitter {
    Duration held{};        // since what no receiver knew first held this back
    bool occupied = false;  // and it still is
  };
  struct ReplyMissing {};  // the answer that was awaited has not come
  using Action = std::variant<KeyTransmitter, ReplyMissing>;

  /// A carrier that stays longer than any legal transmission no longer counts as one.
  static constexpr Duration kCarrierMax = std::chrono::seconds(140);
  /// Nor does an occupied channel, nor several of them together in one contention.
  static constexpr Duration kOccupiedMax = kCarrierMax;

  /// What a modem refuses it would refuse again in the same instant.
  static constexpr Duration kRefusedWait = std::chrono::milliseconds(20);

  TurnControl(const Config& config, Rng& rng);

  /// Not while we send.
  void set_full_duplex(Instant now, bool on);

  // Events in. `now` never goes backwards.

  /// There is something to send, or nothing any more; `answer_owed` when somebody waits for it.
  /// Harmless when repeated.
  void on_transmit_wanted(Instant now, bool wanted, bool answer_owed = false);
  void on_carrier_up(Instant now);
  /// `ended_at` may lie before `now`; a fade is no end (see on_end_announced), and where the end
  /// was not heard the announced one is waited for.
  void on_carrier_down(Instant now, Instant ended_at, bool end_heard = true);
  /// Power on the channel, whatever it is of.
  void on_occupancy(Instant now, bool occupied);
  /// A D_PDU, addressed to whomever, bounds the end of the transmission it is part of: it is over
  /// between `earliest` and `latest`.
  void on_end_announced(Instant now, Instant earliest, Instant latest);
  /// A D_PDU of the transmission being heard says whose it is; `asks` when its destination is to
  /// answer. The first one is believed. `linked` when the D_PDU belongs to a connection: only then
  /// is its destination known to be there, because a call may be for a station that is switched
  /// off.
  void on_station_heard(Instant now, Address source, Address destination, bool asks, bool linked);
  /// Transmissions begin with a preamble as long as that, or may from now on.
  void on_preamble(Instant now, Duration preamble);
  /// The transmission being heard speaks to this station, so the next turn is ours.
  void on_spoken_to(Instant now);
  void on_transmit_started(Instant now, Duration preamble = {});
  /// With `reply_within`, silence is kept for so long unless the answer comes, in full duplex too.
  /// `turn_given` was spoken to and has the turn.
  void on_transmit_done(Instant now, std::optional<Duration> reply_within,
                        std::optional<Address> turn_given);
  /// The modem did not take the transmission; on_transmit_done() follows. The next attempt is no
  /// sooner than kRefusedWait from now.
  void on_transmit_refused(Instant now) { refused_until_ = now + kRefusedWait; }
  /// From now on an answer is awaited, in full duplex without keeping silence.
  void await_reply(Instant now, Duration within);
  bool reply_awaited() const { return reply_until_.has_value(); }
  /// It is awaited no more, and was not missed.
  void await_no_reply() { reply_until_.reset(); }
  /// What was awaited has been received.
  void on_reply(Instant now);
  void on_deadline(Instant now);

  // Actions out. Drain both after every event.
  std::optional<Action> poll_action();
  std::optional<Instant> next_deadline() const;

  bool channel_busy(Instant now) const { return carrier_since_ || now < quiet_since_; }
  bool keyed() const { return keyed_; }
  /// Whom the transmission before asked for the one being heard, if that began in time.
  const std::optional<Address>& answers() const { return asked_; }
  /// Besides the one we speak to.
  bool third_stations(Instant now) const { return order_.others(now) > 1; }
  std::size_t others(Instant now) const { return order_.others(now); }
  /// An answer that is owed should ask for nothing: third stations wait for their chance.
  bool run_is_over(Instant now) const {
    return !config_.full_duplex && now < shared_until_ && own_turns_ >= config_.own_turns_max;
  }
  /// The longest preamble that an answer can be expected to begin with.
  Duration preamble(Instant now) const {
    return now < preamble_until_ ? longest_preamble_ : config_.preamble;
  }

 private:
  std::optional<Instant> reply_due() const;
  bool takes_own_turn(Instant now) const;
  bool goes_on(Instant now) const;
  bool run_is_long(Instant now) const;
  bool slots_go_on(Instant now) const;
  bool spares_are_due(Instant now) const;
  void note_spares(Instant now);
  std::optional<Instant> held_until(Instant now) const;
  bool hold_is_used_up(Instant now) const;
  bool hold_is_stale(Instant now) const;
  void note_held(Instant now, Instant until);
  Duration reply_guard(Instant now) const;
  Duration slot(Instant now) const;
  void give_up_carrier(Instant now);
  void end_carrier(Instant now, Instant ended_at, bool end_heard);
  void plan(Instant now);
  void plan_half_duplex(Instant now);
  void plan_full_duplex(Instant now);
  void expect_reply(Instant now, Duration within);
  void draw_backoff(Instant now);
  Instant slot_at(Instant earliest) const;

  Config config_;
  Rng& rng_;
  SlotOrder order_;
  bool wanted_ = false;
  bool keyed_ = false;
  bool own_turn_ = false;  // the last transmission heard spoke to us
  Instant heard_until_{};  // then its end was known here
  bool answer_owed_ = false;
  unsigned own_turns_ = 0;  // taken in a row, in one exchange, since an answer that asked for none
  bool own_last_ = false;   // the last transmission was ours, and the next turn is nobody's
  std::optional<Instant> run_since_;  // since then we took every turn, and left none
  Instant accompanied_until_{};       // others are there
  Instant shared_until_{};            // more than one other
  Duration longest_preamble_{};
  Instant preamble_until_{};  // so long it counts

  std::optional<Instant> carrier_since_;
  bool announced_ = false;        // the transmission being heard told its end
  Instant announced_earliest_{};  // bounds of that end
  Instant announced_latest_{};
  Instant quiet_since_{};  // end of the last transmission, announced or seen, foreign or our own
  Instant own_ended_{};    // the last transmission of ours
  Instant refused_until_{};
  Instant slots_since_{};  // the same of the last one that everybody knows of
  Instant spares_at_{};    // when those not heard yet last had their chance, as far as we know
  std::optional<Address> source_;  // of the transmission being heard, by its first D_PDU
  std::optional<Address> asked_;   // by the last transmission, and the next is its answer

  std::optional<Instant> occupied_since_;
  Instant free_since_{};               // of what no receiver knew
  std::optional<Instant> held_since_;  // in this contention

  std::optional<Instant> reply_until_;
  Instant reply_awaited_since_{};
  Duration reply_within_{};
  bool silent_until_reply_ = true;
  unsigned replies_missed_ = 0;  // in a row
  Instant keyed_since_{};
  Duration longest_missed_{};  // of our transmissions since the last answer
  struct Backoff {
    Instant from{};
    Duration wait{};     // before the round begins, or to the slot where there are no rounds
    Duration to_slot{};  // from the beginning of a round
    Duration round{};    // zero: nobody else counts the same slots
    bool leaves_spares = false;  // a round is left to stations not heard yet
  };
  std::optional<Backoff> backoff_;  // drawn once for each contention
  std::optional<Instant> attempt_at_;
  std::deque<Action> actions_;
};

}  // namespace s5066::dts
