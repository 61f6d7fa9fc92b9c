// SPDX-License-Identifier: Apache-2.0
#include "s5066d/dts/turn_control.h"

#include <algorithm>

#include "s5066d/base/deadline_table.h"
#include "s5066d/base/take_front.h"

namespace s5066::dts {
namespace {
// Largest difference between the receiver's clock and the time on the air.
constexpr Duration kClockSlack = std::chrono::milliseconds(50);
/// The rounds to wait double up to this duration, but at least once, because links end when nothing
/// is heard for two minutes. Among three stations and more they double until they are as long as
/// our transmission that was not answered. A station that does not hear us may send as long, and
/// otherwise neither of the two leaves the other a gap.
constexpr Duration kRoundsMax = std::chrono::seconds(30);
/// A station that sends without a break leaves 0.5 % of the time to stations not heard yet, and
/// more if they would wait longer than kOwnRunMax.
constexpr int kOwnRunGaps = 200;
constexpr Duration kOwnRunMax = std::chrono::minutes(30);
/// Among three stations and more, one round is left to them after this many times the length of
/// their slots.
constexpr int kSparesEvery = 64;
/// For this time the stations' clocks agree on slots much better than a turnaround.
constexpr Duration kSlotsGoOn = std::chrono::minutes(2);
/// In full duplex no announcement tells the end of a transmission that has faded. The time for an
/// answer therefore doubles at each missing one, up to this.
constexpr Duration kReplyWithinMax = std::chrono::minutes(1);
/// For this time after a transmission that a receiver decoded, measured power counts as that
/// transmission.
constexpr Duration kPowerKnown = std::chrono::milliseconds(500);
/// Part of the reply guard that is neither a preamble nor a turnaround.
constexpr Duration kGuardBeyondPreamble = std::chrono::milliseconds(500);
}  // namespace

TurnControl::TurnControl(const Config& config, Rng& rng)
    : config_(config), rng_(rng), order_(config.self) {
  S5066_ASSERT(config.slots_min >= 1 && config.slots_min <= config.slots_max);
}

void TurnControl::set_full_duplex(Instant now, bool on) {
  S5066_ASSERT(!keyed_);
  config_.full_duplex = on;
  held_since_.reset();
  backoff_.reset();
  plan(now);
}

void TurnControl::on_transmit_wanted(Instant now, bool wanted, bool answer_owed) {
  wanted_ = wanted;
  answer_owed_ = answer_owed;
  if (!wanted) {
    backoff_.reset();
    // Else data that was held may still wait behind this transmission.
    if (!keyed_) held_since_.reset();
  }
  plan(now);
}

void TurnControl::on_carrier_up(Instant now) {
  if (carrier_since_) on_carrier_down(now, now);
  const Instant answered_until = quiet_since_ + config_.turnaround + reply_guard(now);
  if (now > answered_until + kClockSlack) asked_.reset();
  if (!asked_) {
    note_spares(now);
    // This counts once, or another station that always has something to send would have the channel
    // alone.
    if (backoff_ && backoff_->leaves_spares) spares_at_ = now;
  }
  // The power before was the preamble of this transmission.
  if (held_since_ && now <= *held_since_ + preamble(now) + kPowerKnown) held_since_.reset();
  source_.reset();
  carrier_since_ = now;
  announced_ = false;
  own_turn_ = false;
  own_last_ = false;
  plan(now);
}

void TurnControl::on_carrier_down(Instant now, Instant ended_at, bool end_heard) {
  if (!carrier_since_) return;
  if (occupied_since_) occupied_since_ = now;  // occupied by another signal, if at all
  end_carrier(now, ended_at, end_heard);
}

// A signal that no longer holds us back as a carrier does not hold us back as power either, however
// it fades.
void TurnControl::give_up_carrier(Instant now) {
  if (occupied_since_) {
    occupied_since_ = carrier_since_;
    if (wanted_) held_since_ = carrier_since_;
  }
  end_carrier(now, now, true);
}

void TurnControl::end_carrier(Instant now, Instant ended_at, bool end_heard) {
  const Instant began = *carrier_since_;
  carrier_since_.reset();
  // A loss of carrier before the announced end is a fade; the transmission goes on unheard.
  const bool faded = announced_ && (end_heard ? ended_at + kClockSlack < announced_earliest_
                                              : ended_at < announced_latest_);
  quiet_since_ = std::max(quiet_since_, faded ? announced_latest_ : ended_at);
  heard_until_ = now;
  if (source_) slots_since_ = quiet_since_;
  announced_ = false;
  backoff_.reset();
  if (config_.full_duplex) {
    // A transmission that began before its sender could know of ours is no answer, but the next one
    // is.
    const bool told = began - preamble(now) >= reply_awaited_since_ + config_.turnaround / 2;
    if (reply_until_) reply_until_ = told ? now : std::max(*reply_until_, now + reply_within_);
  } else if (own_turn_ && reply_until_) {
    reply_until_ = std::min(*reply_until_, quiet_since_);
  }
  plan(now);
}

void TurnControl::on_occupancy(Instant now, bool occupied) {
  if (occupied == occupied_since_.has_value()) return;
  if (occupied) {
    occupied_since_ = now;
  } else {
    const Instant until = *held_until(now);
    occupied_since_.reset();
    if (held_since_ && now < *held_since_) held_since_.reset();
    const bool known = keyed_ || carrier_since_ || now <= quiet_since_ + kPowerKnown;
    if (!known && hold_is_used_up(now)) {
      // A signal that comes and goes faster than our slot is reached would otherwise put it off for
      // ever. The slot must not come sooner either, or all waiting stations would begin in the same
      // gap.
      free_since_ = std::max(free_since_, until - config_.turnaround - reply_guard(now));
    } else if (!known) {
      // All stations noticed the end alike, though less exactly than the end of a transmission.
      free_since_ = now;
      if (now >= slots_since_ + kSlotsGoOn) slots_since_ = now;
    }
  }
  plan(now);
}

void TurnControl::on_end_announced(Instant now, Instant earliest, Instant latest) {
  S5066_ASSERT(earliest <= latest);
  if (!carrier_since_) {
    quiet_since_ = std::max(quiet_since_, latest);
  } else if (!announced_) {
    announced_earliest_ = earliest;
    announced_latest_ = latest;
  } else if (earliest <= announced_latest_ && announced_earliest_ <= latest) {
    announced_earliest_ = std::max(announced_earliest_, earliest);
    announced_latest_ = std::min(announced_latest_, latest);
  } else {  // the sender counts wrongly: the later end applies
    announced_earliest_ = std::max(announced_earliest_, earliest);
    announced_latest_ = std::max(announced_latest_, latest);
  }
  announced_ = carrier_since_.has_value();
  plan(now);
}

// A transmission has one sender. D_PDUs with other source addresses are ignored, because a faulty
// transmission with many addresses would make every station's round long.
void TurnControl::on_station_heard(Instant now, Address source, Address destination, bool asks,
                                   bool linked) {
  if (source_.value_or(source) != source) return;
  order_.on_station(now, source);
  if (destination == config_.self && asks) order_.on_spoken_to(now);
  accompanied_until_ = now + SlotOrder::kStationMemory;
  const bool for_one = !destination.group;
  const bool for_another = for_one && linked && destination != config_.self;
  if (for_another || order_.others(now) > 1) {
    shared_until_ = accompanied_until_;
  }
  if (!source_ && asked_ != source) {
    order_.on_exchange_begun(source);
    own_turns_ = 0;
    run_since_.reset();  // another station took a turn
  }
  source_ = source;
  if (for_one && asks) asked_ = destination;
}

void TurnControl::on_preamble(Instant now, Duration preamble) {
  if (preamble < this->preamble(now)) return;
  longest_preamble_ = preamble;
  preamble_until_ = now + SlotOrder::kStationMemory;
}

void TurnControl::on_spoken_to(Instant now) {
  own_turn_ = true;
  replies_missed_ = 0;
  plan(now);
}

void TurnControl::on_transmit_started(Instant now, Duration preamble) {
  keyed_ = true;
  if (!takes_own_turn(now)) note_spares(now);  // as all stations see it that have not heard us yet
  if (replies_missed_ == 0) longest_missed_ = {};
  keyed_since_ = now;
  on_preamble(now, preamble);
  order_.on_sent(now);
  if (!takes_own_turn(now)) {
    order_.on_exchange_begun(config_.self);
    held_since_.reset();
  }
  if (!run_since_ || !(takes_own_turn(now) || goes_on(now))) run_since_ = now;
  // An owed answer at the end of a run asks for nothing. A station that goes on anyway does
  // not know of the others, and would otherwise never get our data; so its exchange counts as a new
  // one.
  own_turns_ = takes_own_turn(now) && !run_is_over(now) ? own_turns_ + 1 : 0;
  own_turn_ = false;
  backoff_.reset();
  // In half duplex our own transmitter covers any signal.
  if (carrier_since_ && !config_.full_duplex) on_carrier_down(now, now);
  plan(now);
}

void TurnControl::on_transmit_done(Instant now, std::optional<Duration> reply_within,
                                   std::optional<Address> turn_given) {
  keyed_ = false;
  // The sublayer above detects a missing answer to a call.
  if (turn_given && !reply_within) order_.on_called(now);
  longest_missed_ = std::max(longest_missed_, now - keyed_since_);
  quiet_since_ = std::max(quiet_since_, now);
  slots_since_ = quiet_since_;
  asked_ = turn_given;
  own_ended_ = now;
  if (!config_.full_duplex) reply_until_.reset();
  if (reply_within) {
    expect_reply(now, *reply_within);
    silent_until_reply_ = true;
  }
  own_last_ = !turn_given.has_value();
  plan(now);
}

void TurnControl::expect_reply(Instant now, Duration within) {
  reply_until_ = now + within;
  reply_awaited_since_ = now;
  reply_within_ = within;
}

void TurnControl::await_reply(Instant now, Duration within) {
  S5066_ASSERT(!reply_until_);
  for (unsigned i = 0; i < replies_missed_ && within < kReplyWithinMax; ++i) within *= 2;
  expect_reply(now, within);
  silent_until_reply_ = false;
  plan(now);
}

void TurnControl::on_reply(Instant now) {
  reply_until_.reset();
  replies_missed_ = 0;
  plan(now);
}

void TurnControl::on_deadline(Instant now) {
  if (carrier_since_ && now >= *carrier_since_ + kCarrierMax) give_up_carrier(now);
  if (const auto due = reply_due(); due && now >= *due) {
    reply_until_.reset();
    ++replies_missed_;
    order_.on_order_doubted();
    backoff_.reset();
    actions_.push_back(ReplyMissing{});
    plan(now);
  }
  if (!attempt_at_ || now < *attempt_at_) return;  // early and spurious calls are harmless
  S5066_ASSERT(config_.full_duplex || (!carrier_since_ && now >= quiet_since_));
  attempt_at_.reset();
  wanted_ = false;
  const bool contends = !config_.full_duplex && !takes_own_turn(now);
  actions_.push_back(KeyTransmitter{
      .held = contends && held_since_ && now > *held_since_ ? now - *held_since_ : Duration{},
      .occupied = contends && occupied_since_.has_value(),
  });
}

std::optional<TurnControl::Action> TurnControl::poll_action() {
  return take_front(actions_);
}

std::optional<Instant> TurnControl::next_deadline() const {
  std::optional<Instant> carrier_end;
  if (carrier_since_) carrier_end = *carrier_since_ + kCarrierMax;
  return earlier(earlier(attempt_at_, reply_due()), carrier_end);
}

// An answer that is still on the air is not missing.
std::optional<Instant> TurnControl::reply_due() const {
  if (!reply_until_ || carrier_since_) return std::nullopt;
  if (config_.full_duplex) return reply_until_;
  if (keyed_) return std::nullopt;
  return std::max(*reply_until_, quiet_since_);
}

bool TurnControl::run_is_long(Instant now) const {
  if (!run_since_ || (config_.dedicated && now < accompanied_until_)) return false;
  const Duration left_open = reply_guard(now) + config_.slots_min * slot(now);
  return now >= *run_since_ + std::min<Duration>(kOwnRunGaps * left_open, kOwnRunMax);
}

bool TurnControl::takes_own_turn(Instant now) const {
  // A station that has data later finds the slots of the others already running.
  const Instant lapses = std::max(quiet_since_, heard_until_) + config_.turnaround +
                         kGuardBeyondPreamble + config_.turnaround;
  if (!own_turn_ || (!carrier_since_ && now > lapses)) return false;
  const bool enough = now < shared_until_ ? own_turns_ >= config_.own_turns_max : run_is_long(now);
  return answer_owed_ || !enough;
}

// A station that sends without an answer and has heard no other goes on before the earliest slot
// of any other, so that it collides with none. Now and then it leaves the slots to stations that
// have come meanwhile.
bool TurnControl::goes_on(Instant now) const {
  if (occupied_since_ || free_since_ > own_ended_) return false;
  return own_last_ && now >= accompanied_until_ && replies_missed_ == 0 && !run_is_long(now);
}

// If three or more stations share the channel and counted the same slots, none of them has to
// guess.
bool TurnControl::slots_go_on(Instant now) const {
  return order_.others(now) > 1 && now < slots_since_ + kSlotsGoOn;
}

// An exchange begins that is no answer. This notes whether stations that have not been heard had
// their chance before it. No known station begins around the middle of their slots.
void TurnControl::note_spares(Instant now) {
  const Instant middle = slots_since_ + config_.turnaround + reply_guard(now) +
                         (order_.slots(now) - SlotOrder::kSpareSlots / 2) * slot(now);
  if (order_.others(now) <= 1 || now >= middle) spares_at_ = now;
}

// If there are only two stations, the one that goes on for long leaves a gap by itself.
bool TurnControl::spares_are_due(Instant now) const {
  return slots_go_on(now) &&
         slots_since_ >= spares_at_ + kSparesEvery * SlotOrder::kSpareSlots * slot(now);
}

// Returns when the occupied channel no longer delays a transmission.
std::optional<Instant> TurnControl::held_until(Instant now) const {
  if (!occupied_since_) return std::nullopt;
  return std::min(*occupied_since_, held_since_.value_or(now)) + kOccupiedMax;
}

bool TurnControl::hold_is_used_up(Instant now) const {
  return held_since_ && now >= *held_since_ + kOccupiedMax;
}

// True if an exchange has gone on since. A slot that we wait for may be further away; it is not put
// off any more.
bool TurnControl::hold_is_stale(Instant now) const {
  return held_since_ && !backoff_ && now >= *held_since_ + 2 * kOccupiedMax;
}

void TurnControl::note_held(Instant now, Instant until) {
  if (held_since_ || now >= until) return;
  held_since_ = std::max(now, quiet_since_ + kPowerKnown);
}

Duration TurnControl::slot(Instant now) const {
  return preamble(now) + config_.turnaround;
}

Duration TurnControl::reply_guard(Instant now) const {
  return kGuardBeyondPreamble + preamble(now) + config_.turnaround;
}

void TurnControl::draw_backoff(Instant now) {
  const Duration slot = this->slot(now);
  const bool alone = order_.others(now) == 0;
  const std::uint32_t slots = alone ? config_.slots_min : order_.slots(now);
  // After a long run of our own, a waiting station has its chance first, whatever slot it drew.
  if (run_is_long(now)) {
    backoff_ = Backoff{.from = now, .wait = std::max(slots, config_.slots_min) * slot};
    return;
  }
  std::uint32_t rounds = 1;
  for (unsigned i = 1; i < replies_missed_; ++i) {
    const std::uint32_t doubled = 2 * rounds * slots;
    const bool many = doubled > config_.slots_max || (rounds > 1 && doubled * slot > kRoundsMax);
    const bool gap = now >= shared_until_ || rounds * slots * slot >= longest_missed_;
    if (many && gap) break;
    rounds *= 2;
  }
  const std::uint32_t wait = rng_.below(rounds) * slots;
  if (alone) {
    backoff_ = Backoff{.from = now, .wait = (wait + rng_.below(slots)) * slot};
    return;
  }
  // Two stations alone need no common count of the slots: the one that missed an answer goes on at
  // once.
  if (replies_missed_ > 0 && order_.others(now) <= 1 && now >= shared_until_) {
    backoff_ = Backoff{.from = now, .wait = (wait + order_.draw_slot(now, rng_)) * slot};
    return;
  }
  const std::uint32_t own = order_.draw_slot(now, rng_);
  backoff_ =
      Backoff{.from = now, .wait = wait * slot, .to_slot = own * slot, .round = slots * slot};
  backoff_->leaves_spares = spares_are_due(now) && own + SlotOrder::kSpareSlots < slots;
  if (backoff_->leaves_spares) backoff_->wait += backoff_->round;
}

// Returns the first time at or after `earliest` that lies in our slot of any round, plus the wait
// that was drawn.
Instant TurnControl::slot_at(Instant earliest) const {
  if (backoff_->round == Duration::zero()) return earliest + backoff_->wait;
  Instant at = slots_since_ + config_.turnaround + reply_guard(backoff_->from) + backoff_->to_slot;
  if (at < earliest) {
    const auto rounds = (earliest - at + backoff_->round - Duration(1)) / backoff_->round;
    at += rounds * backoff_->round;
  }
  return at + backoff_->wait;
}

void TurnControl::plan_full_duplex(Instant now) {
  const bool silent = reply_until_ && silent_until_reply_;
  if (!wanted_ || keyed_ || silent) return;
  // After the turnaround both stations have heard the end of the last transmission completely.
  attempt_at_ = std::max({now, own_ended_ + config_.turnaround, quiet_since_ + config_.turnaround});
}

void TurnControl::plan(Instant now) {
  attempt_at_.reset();
  config_.full_duplex ? plan_full_duplex(now) : plan_half_duplex(now);
  if (attempt_at_) attempt_at_ = std::max(*attempt_at_, refused_until_);
}

void TurnControl::plan_half_duplex(Instant now) {
  if (!wanted_ || keyed_ || reply_until_) return;
  if (hold_is_stale(now)) held_since_.reset();
  const auto held_until = this->held_until(now);
  const Instant left_open =
      std::max(quiet_since_, free_since_) + config_.turnaround + reply_guard(now);
  const Instant others_first = std::max(left_open, held_until.value_or(left_open));
  const bool contended =
      carrier_since_ || now < others_first || replies_missed_ > 0 || slots_go_on(now);
  const bool at_once = takes_own_turn(now) || goes_on(now);
  if (!at_once && !carrier_since_ && held_until) note_held(now, *held_until);
  if (!at_once && contended && !backoff_) draw_backoff(now);
  if (carrier_since_) return;
  if (takes_own_turn(now)) {
    attempt_at_ = quiet_since_ + config_.turnaround;
  } else if (goes_on(now)) {
    attempt_at_ = std::max(now, quiet_since_ + config_.turnaround + config_.gap_alone);
  } else if (backoff_) {
    attempt_at_ = slot_at(std::max(backoff_->from, others_first));
  } else {
    attempt_at_ = now;
  }
}

}  // namespace s5066::dts
