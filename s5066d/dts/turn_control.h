// SPDX-License-Identifier: Apache-2.0
// Decides when this station may key its transmitter on a shared half-duplex channel (C.3.2.3; the
// rules around it are ours and written down in docs/protocol/channel_access.md).
//
// - No station transmits over a carrier, nor before an announced end of transmission has passed. A
//   fade can hide the carrier in mid-burst, so the announced end outlives it.
// - A station that was asked for an answer owns the next turn and takes it after `turnaround`. All
//   others wait `reply_guard` longer and then for their slot (see slot_order.h). After several
//   turns in a row the owner does the same unless an answer is owed, so that two stations with much
//   data do not shut the others out. If no third station was heard in the last 30 minutes, a
//   station takes more turns and waits less.
// - Among three stations and more the slots go on after a transmission for as long as all stations
//   know when they began. A station that has data later, while nobody sends, takes its own slot,
//   too. A station that always has something to send leaves a round now and then to stations not
//   heard yet, whose slots are behind its own.
// - After a transmission that asks for an answer, this station is silent until the answer has come
//   or its time is up.
// - Energy that no receiver decodes may be on the air (an occupied channel). While it is, no
//   station begins an exchange of its own, in a slot or outside; a station that has the turn still
//   takes it. In one contention an occupied channel counts for no longer than a transmission may
//   last, however often it comes and goes. From then on it moves nothing, neither its end nor where
//   the slots begin. The next contention starts when a turn that was no answer has been taken, when
//   there was nothing left to send, or when an exchange has gone on for as long again.
//
// In full duplex each of two stations has a frequency of its own to send on, and there are no
// turns. Data goes at once. An answer is missing when nothing answered within its time, or in a
// whole transmission that began later.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <variant>

#include "s5066d/base/driven_core.h"
#include "s5066d/base/rng.h"
#include "s5066d/base/time.h"
#include "s5066d/dts/slot_order.h"

namespace s5066::dts {

class TurnControl {
 public:
  struct Config {
    Address self;
    Duration turnaround;         // silence after any transmission: key-up, settling, processing
    Duration preamble;           // ours; preambles heard of others may be longer
    unsigned own_turns_max = 2;  // own turns in a row before the others get their chance
    Duration gap_alone = std::chrono::milliseconds(500);  // extra gap after an own transmission
    std::uint32_t slots_min = 4;  // slots to draw from if no other station was heard
    /// The rounds to wait double up to this number of slots at each missing reply. Among three and
    /// more stations they grow at least until they are as long as the transmission that was not
    /// answered.
    std::uint32_t slots_max = 32;
    bool full_duplex = false;
    /// Only two stations use the frequency. Once the other has been heard, no slots are left for
    /// unknown stations.
    bool dedicated = false;
  };
  /// Fill and send a transmission now.
  struct KeyTransmitter {
    Duration held{};        // time since an occupied channel first held this back
    bool occupied = false;  // the channel is still occupied
  };
  struct ReplyMissing {};  // the awaited answer has not come
  using Action = std::variant<KeyTransmitter, ReplyMissing>;

  /// A carrier that lasts longer than any legal transmission no longer counts as one.
  static constexpr Duration kCarrierMax = std::chrono::seconds(140);
  /// Time after which an occupied channel no longer counts, and the sum of such times in one
  /// contention.
  static constexpr Duration kOccupiedMax = kCarrierMax;

  /// Time until the next attempt after a modem refused a transmission, because it would refuse it
  /// again in the same instant.
  static constexpr Duration kRefusedWait = std::chrono::milliseconds(20);

  TurnControl(const Config& config, Rng& rng);

  /// Do not call while we send.
  void set_full_duplex(Instant now, bool on);

  // Events in. `now` never goes backwards.

  /// Tells whether there is something to send; `answer_owed` if a peer waits for it. Repeated calls
  /// are harmless.
  void on_transmit_wanted(Instant now, bool wanted, bool answer_owed = false);
  void on_carrier_up(Instant now);
  /// `ended_at` may lie before `now`. A fade is no end (see on_end_announced). If the end was not
  /// heard, the announced end counts.
  void on_carrier_down(Instant now, Instant ended_at, bool end_heard = true);
  /// Reports power on the channel, of any signal.
  void on_occupancy(Instant now, bool occupied);
  /// Call for a D_PDU with any destination: it bounds the end of its transmission between
  /// `earliest` and `latest`.
  void on_end_announced(Instant now, Instant earliest, Instant latest);
  /// Call for a D_PDU of the transmission being received: it names the sender; `asks` if its
  /// destination is to answer. The first D_PDU decides. `linked` if the D_PDU belongs to a
  /// connection: only then is its destination known to be on the air, because a call may be for a
  /// station that is switched off.
  void on_station_heard(Instant now, Address source, Address destination, bool asks, bool linked);
  /// Transmissions begin with a preamble of this length, or may from now on.
  void on_preamble(Instant now, Duration preamble);
  /// The transmission being received asks this station, so the next turn is ours.
  void on_spoken_to(Instant now);
  void on_transmit_started(Instant now, Duration preamble = {});
  /// If `reply_within` is set, we stay silent for it unless the answer comes, in full duplex too.
  /// `turn_given` was asked for an answer and has the turn.
  void on_transmit_done(Instant now, std::optional<Duration> reply_within,
                        std::optional<Address> turn_given);
  /// The modem refused the transmission; on_transmit_done() follows. The next attempt is no sooner
  /// than kRefusedWait from now.
  void on_transmit_refused(Instant now) { refused_until_ = now + kRefusedWait; }
  /// Waits for an answer from now on, in full duplex without staying silent.
  void await_reply(Instant now, Duration within);
  bool reply_awaited() const { return reply_until_.has_value(); }
  /// Stops waiting for the answer, which does not count as missed.
  void await_no_reply() { reply_until_.reset(); }
  /// The awaited answer has been received.
  void on_reply(Instant now);
  void on_deadline(Instant now);

  // Actions out. Drain both after every event.
  std::optional<Action> poll_action();
  std::optional<Instant> next_deadline() const;

  bool channel_busy(Instant now) const { return carrier_since_ || now < quiet_since_; }
  bool keyed() const { return keyed_; }
  /// Returns the station that the previous transmission asked for the one being heard, if that one
  /// began in time.
  const std::optional<Address>& answers() const { return asked_; }
  /// True if stations other than our peer were heard.
  bool third_stations(Instant now) const { return order_.others(now) > 1; }
  std::size_t others(Instant now) const { return order_.others(now); }
  /// True if an owed answer should ask for nothing, because third stations wait for their chance.
  bool run_is_over(Instant now) const {
    return !config_.full_duplex && now < shared_until_ && own_turns_ >= config_.own_turns_max;
  }
  /// Returns the longest preamble with which an answer may begin.
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
  /// Returns the time by which an answer with the longest preamble has been detected.
  Duration reply_guard(Instant now) const;
  /// Returns the length of a slot: the detection of the longest preamble, and the turnaround.
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
  bool own_turn_ = false;  // the last transmission heard asked us
  Instant heard_until_{};  // time at which its end was known here
  bool answer_owed_ = false;
  // Turns taken in a row in one exchange, since an answer that asked for none.
  unsigned own_turns_ = 0;
  bool own_last_ = false;  // the last transmission was ours, and no station has the next turn
  std::optional<Instant> run_since_;  // time since which we took every turn and left none
  Instant accompanied_until_{};  // time until which at least one other station counts as on the air
  Instant shared_until_{};       // time until which more than one other counts as on the air
  Duration longest_preamble_{};
  Instant preamble_until_{};  // time until which longest_preamble_ counts

  std::optional<Instant> carrier_since_;
  bool announced_ = false;        // the transmission being received announced its end
  Instant announced_earliest_{};  // bounds of that end
  Instant announced_latest_{};
  Instant quiet_since_{};  // end of the last transmission, announced or seen, ours or another's
  Instant own_ended_{};    // end of our last transmission
  Instant refused_until_{};
  Instant slots_since_{};          // end of the last transmission that all stations know of
  Instant spares_at_{};            // last chance of stations not heard yet, as far as we know
  std::optional<Address> source_;  // sender of the transmission being received, by its first D_PDU
  // Station that the last transmission asked; the next one is its answer.
  std::optional<Address> asked_;

  std::optional<Instant> occupied_since_;
  Instant free_since_{};  // end of the last occupied time that no receiver decoded
  // Since when an occupied channel holds us back in this contention.
  std::optional<Instant> held_since_;

  std::optional<Instant> reply_until_;
  Instant reply_awaited_since_{};
  Duration reply_within_{};
  bool silent_until_reply_ = true;
  unsigned replies_missed_ = 0;  // missing replies in a row
  Instant keyed_since_{};
  Duration longest_missed_{};  // longest of our transmissions since the last answer
  struct Backoff {
    Instant from{};
    Duration wait{};     // time before the round begins, or to the slot if there are no rounds
    Duration to_slot{};  // time from the beginning of a round to our slot
    Duration round{};    // length of a round; zero: no other station counts the same slots
    bool leaves_spares = false;  // one round is left to stations not heard yet
  };
  std::optional<Backoff> backoff_;  // drawn once for each contention
  std::optional<Instant> attempt_at_;
  std::deque<Action> actions_;
};
static_assert(DrivenCore<TurnControl>);

}  // namespace s5066::dts
