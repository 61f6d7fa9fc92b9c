#include "s5066d/dts/turn_control.h"

#include <algorithm>

#include "s5066d/base/deadline_table.h"

namespace s5066::dts {
namespace {
// The receiver's clock and the air agree to better than this.
constexpr Duration kClockSlack = std::chrono::milliseconds(50);
}  // namespace

TurnControl::TurnControl(const Config& config, Rng& rng) : config_(config), rng_(rng) {
  S5066_ASSERT(config.slots_min >= 1 && config.slots_min <= config.slots_max);
}

void TurnControl::on_transmit_wanted(Instant now, bool wanted, bool answer_owed) {
  wanted_ = wanted;
  answer_owed_ = answer_owed;
  if (!wanted) backoff_.reset();
  plan(now);
}

void TurnControl::on_carrier_up(Instant now) {
  if (carrier_since_) on_carrier_down(now, now);
  carrier_since_ = now;
  announced_ = false;
  own_turn_ = false;
  plan(now);
}

void TurnControl::on_carrier_down(Instant now, Instant ended_at, bool end_heard) {
  if (!carrier_since_) return;
  carrier_since_.reset();
  // A loss of carrier before the announced end is a fade; the transmission goes on unheard.
  const bool faded = announced_ && (end_heard ? ended_at + kClockSlack < announced_earliest_
                                              : ended_at < announced_latest_);
  quiet_since_ = std::max(quiet_since_, faded ? announced_latest_ : ended_at);
  announced_ = false;
  if (own_turn_ && reply_until_) reply_until_ = std::min(*reply_until_, quiet_since_);
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
  } else {  // the sender does not count properly: believe the later end
    announced_earliest_ = std::max(announced_earliest_, earliest);
    announced_latest_ = std::max(announced_latest_, latest);
  }
  announced_ = carrier_since_.has_value();
  plan(now);
}

void TurnControl::on_spoken_to(Instant now) {
  own_turn_ = true;
  replies_missed_ = 0;
  plan(now);
}

void TurnControl::on_transmit_started(Instant now) {
  keyed_ = true;
  own_turns_ = takes_own_turn() ? own_turns_ + 1 : 0;
  own_turn_ = false;
  backoff_.reset();
  // Half duplex: our own transmitter drowns whatever was there.
  if (carrier_since_) on_carrier_down(now, now);
  plan(now);
}

void TurnControl::on_transmit_done(Instant now, std::optional<Duration> reply_within) {
  keyed_ = false;
  quiet_since_ = std::max(quiet_since_, now);
  reply_until_.reset();
  if (reply_within) reply_until_ = now + *reply_within;
  plan(now);
}

void TurnControl::on_reply(Instant now) {
  reply_until_.reset();
  replies_missed_ = 0;
  plan(now);
}

void TurnControl::on_deadline(Instant now) {
  if (carrier_since_ && now >= *carrier_since_ + kCarrierMax) on_carrier_down(now, now);
  if (const auto due = reply_due(); due && now >= *due) {
    reply_until_.reset();
    ++replies_missed_;
    backoff_.reset();
    actions_.push_back(ReplyMissing{});
    plan(now);
  }
  if (!attempt_at_ || now < *attempt_at_) return;  // early and spurious calls are harmless
  S5066_ASSERT(!carrier_since_ && now >= quiet_since_);
  attempt_at_.reset();
  wanted_ = false;
  actions_.push_back(KeyTransmitter{});
}

std::optional<TurnControl::Action> TurnControl::poll_action() {
  if (actions_.empty()) return std::nullopt;
  const Action action = actions_.front();
  actions_.pop_front();
  return action;
}

std::optional<Instant> TurnControl::next_deadline() const {
  std::optional<Instant> carrier_end;
  if (carrier_since_) carrier_end = *carrier_since_ + kCarrierMax;
  return earlier(earlier(attempt_at_, reply_due()), carrier_end);
}

// An answer that is still on the air is not missing.
std::optional<Instant> TurnControl::reply_due() const {
  if (!reply_until_ || carrier_since_ || keyed_) return std::nullopt;
  return std::max(*reply_until_, quiet_since_);
}

bool TurnControl::takes_own_turn() const {
  return own_turn_ && (answer_owed_ || own_turns_ < config_.own_turns_max);
}

void TurnControl::draw_backoff(Instant now) {
  std::uint32_t slots = config_.slots_min;
  for (unsigned i = 1; i < replies_missed_ && slots < config_.slots_max; ++i) slots *= 2;
  slots = std::min(slots, config_.slots_max);
  backoff_ = Backoff{now, rng_.below(slots) * config_.slot};
}

void TurnControl::plan(Instant now) {
  attempt_at_.reset();
  if (!wanted_ || keyed_ || reply_until_) return;
  const Instant others_first = quiet_since_ + config_.turnaround + config_.reply_guard;
  const bool contended = carrier_since_ || now < others_first || replies_missed_ > 0;
  if (!takes_own_turn() && contended && !backoff_) draw_backoff(now);
  if (carrier_since_) return;
  if (takes_own_turn()) {
    attempt_at_ = quiet_since_ + config_.turnaround;
  } else if (backoff_) {
    attempt_at_ = std::max(backoff_->from, others_first) + backoff_->wait;
  } else {
    attempt_at_ = now;
  }
}

}  // namespace s5066::dts
