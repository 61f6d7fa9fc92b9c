// SPDX-License-Identifier: Apache-2.0
// A station begins while there is power on the air that no receiver recognises.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "s5066d/dts/turn_control.h"

namespace s5066::dts {
namespace {

using namespace std::chrono_literals;

class OccupiedChannel : public ::testing::Test {
 protected:
  static Instant t(Duration d) { return Instant(d); }
  /// Runs to the next time at which the station keys or misses an answer.
  std::string step() {
    for (int i = 0; i < 10; ++i) {
      const auto deadline = turn_.next_deadline();
      if (!deadline) return "idle";
      now_ = std::max(now_, *deadline);
      turn_.on_deadline(now_);
      const auto action = turn_.poll_action();
      if (!action) continue;
      const auto* key = std::get_if<TurnControl::KeyTransmitter>(&*action);
      if (key) key_ = *key;
      return key ? "key" : "missing";
    }
    return "nothing";
  }
  /// Two stations exchange data until `end`. They address us if `spoken_to`.
  void exchange(Instant end, bool spoken_to) {
    turn_.on_carrier_up(end - 5s);
    turn_.on_station_heard(end - 4s, kPeer, spoken_to ? kUs : kThird, true, true);
    if (spoken_to) turn_.on_spoken_to(end - 4s);
    turn_.on_carrier_down(end, end);
  }
  static constexpr Address kUs{0x01020302};
  static constexpr Address kPeer{0x01020303};
  static constexpr Address kThird{0x01020304};
  static constexpr Duration kTurnaround = 200ms;
  static constexpr Duration kGuard = 1300ms;
  static constexpr Duration kSlot = 800ms;
  static constexpr Duration kMax = TurnControl::kOccupiedMax;
  static constexpr TurnControl::Config kConfig{
      .self = kUs, .turnaround = kTurnaround, .preamble = 600ms};
  Rng rng_{5};
  TurnControl turn_{kConfig, rng_};
  Instant now_{};
  TurnControl::KeyTransmitter key_;
};

TEST_F(OccupiedChannel, nothing_is_begun_until_a_slot_after_it) {
  turn_.on_occupancy(t(50s), true);
  turn_.on_transmit_wanted(t(60s), true);
  EXPECT_GE(turn_.next_deadline(), t(50s) + kMax);
  turn_.on_occupancy(t(70s), false);
  EXPECT_EQ(step(), "key");
  EXPECT_GE(now_, t(70s + kTurnaround + kGuard));
  EXPECT_LT(now_, t(70s + kTurnaround + kGuard + 4 * kSlot));
  EXPECT_EQ(key_.held, now_ - t(60s));
  EXPECT_FALSE(key_.occupied);
}

TEST_F(OccupiedChannel, what_was_planned_waits_when_something_comes_before_its_slot) {
  exchange(t(10s), false);
  turn_.on_transmit_wanted(t(10s), true);
  turn_.on_occupancy(t(11s), true);
  EXPECT_GE(turn_.next_deadline(), t(11s) + kMax);
  turn_.on_occupancy(t(31s), false);
  EXPECT_EQ(step(), "key");
  EXPECT_GE(now_, t(31s + kTurnaround + kGuard));
}

TEST_F(OccupiedChannel, an_answer_is_given_in_time_whatever_is_heard) {
  turn_.on_occupancy(t(4s), true);
  exchange(t(10s), true);
  turn_.on_transmit_wanted(t(10s), true, true);
  EXPECT_EQ(step(), "key");
  EXPECT_EQ(now_, t(10s + kTurnaround));
  EXPECT_FALSE(key_.occupied);
}

TEST_F(OccupiedChannel, the_own_turn_is_taken_without_an_answer_that_is_owed_too) {
  turn_.on_occupancy(t(4s), true);
  exchange(t(10s), true);
  turn_.on_transmit_wanted(t(10s), true, false);
  EXPECT_EQ(step(), "key");
  EXPECT_EQ(now_, t(10s + kTurnaround));
}

TEST_F(OccupiedChannel, an_answer_is_missing_when_it_always_was) {
  turn_.on_transmit_started(t(10s));
  turn_.on_transmit_done(t(12s), 2s, kPeer);
  turn_.on_occupancy(t(12500ms), true);
  turn_.on_transmit_wanted(t(13s), true);
  EXPECT_EQ(step(), "missing");
  EXPECT_EQ(now_, t(14s));
  turn_.on_transmit_wanted(now_, true);
  EXPECT_GE(turn_.next_deadline(), t(12500ms) + kMax);  // we ask when the channel is free
}

TEST_F(OccupiedChannel, after_140_s_it_is_sent_over_in_a_slot) {
  turn_.on_occupancy(t(50s), true);
  turn_.on_transmit_wanted(t(60s), true);
  EXPECT_EQ(step(), "key");
  EXPECT_GE(now_, t(50s) + kMax);
  EXPECT_LT(now_, t(50s) + kMax + 4 * kSlot);
  EXPECT_TRUE(key_.occupied);
  EXPECT_EQ(key_.held, now_ - t(60s));
}

TEST_F(OccupiedChannel, an_end_after_140_s_moves_no_slot) {
  const Instant wanted = t(200s);
  int tried = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Rng rng(seed);
    TurnControl turn(kConfig, rng);
    turn.on_occupancy(wanted, true);
    turn.on_transmit_wanted(wanted, true);
    const auto slot = turn.next_deadline();
    ASSERT_TRUE(slot && *slot >= wanted + kMax);
    if (*slot <= wanted + kMax + 2ms) continue;  // our slot is the first one
    ++tried;
    turn.on_occupancy(wanted + kMax + 1ms, false);
    EXPECT_EQ(turn.next_deadline(), slot);
    turn.on_occupancy(wanted + kMax + 2ms, true);
    EXPECT_EQ(turn.next_deadline(), slot);
  }
  EXPECT_GT(tried, 5);
}

TEST_F(OccupiedChannel, what_never_ends_holds_nothing_back_any_more) {
  turn_.on_occupancy(t(50s), true);
  turn_.on_transmit_wanted(t(50s) + kMax, true);
  EXPECT_EQ(step(), "key");
  EXPECT_EQ(now_, t(50s) + kMax);
  EXPECT_TRUE(key_.occupied);
  EXPECT_EQ(key_.held, 0s);
}

TEST_F(OccupiedChannel, several_together_hold_back_for_no_longer_than_one) {
  turn_.on_transmit_wanted(t(99s), false);
  turn_.on_occupancy(t(100s), true);
  turn_.on_transmit_wanted(t(100s), true);
  for (Instant at = t(101s); at < t(100s) + kMax; at += 2s) {
    turn_.on_occupancy(at, false);
    ASSERT_GT(turn_.next_deadline(), at + 1s);
    turn_.on_occupancy(at + 1s, true);
    ASSERT_GE(turn_.next_deadline(), t(100s) + kMax);
  }
  EXPECT_EQ(step(), "key");
  EXPECT_LT(now_, t(100s) + kMax + 4 * kSlot);
}

// Otherwise a station that is asked again and again never begins anything of its own.
TEST_F(OccupiedChannel, answers_given_meanwhile_prolong_no_wait) {
  turn_.on_occupancy(t(90s), true);
  turn_.on_transmit_wanted(t(100s), true);
  for (Instant at = t(110s); at < t(220s); at += 30s) {
    turn_.on_transmit_wanted(at, true);
    turn_.on_carrier_up(at);
    turn_.on_station_heard(at + 1s, kPeer, kUs, true, true);
    turn_.on_spoken_to(at + 1s);
    turn_.on_carrier_down(at + 5s, at + 5s);
    turn_.on_transmit_wanted(at + 5s, true, true);
    now_ = at + 5s;
    ASSERT_EQ(step(), "key");
    ASSERT_EQ(now_, at + 5s + kTurnaround);
    turn_.on_transmit_started(now_);
    turn_.on_transmit_wanted(now_, false);
    turn_.on_transmit_done(now_ + 2s, {}, kPeer);
    turn_.on_transmit_wanted(now_ + 2s, true);
  }
  EXPECT_EQ(step(), "key");
  EXPECT_GE(now_, t(100s) + kMax);
  EXPECT_LT(now_, t(100s) + kMax + 4 * kSlot);
  EXPECT_TRUE(key_.occupied);
}

// Each of the two always has data for the other, so no slot is waited for in all that time.
TEST_F(OccupiedChannel, a_long_exchange_ends_what_was_held_before_it) {
  turn_.on_occupancy(t(90s), true);
  turn_.on_transmit_wanted(t(100s), true);
  turn_.on_occupancy(t(109s), false);
  for (Instant at = t(110s); at < t(600s); at += 10s) {
    turn_.on_carrier_up(at);
    turn_.on_station_heard(at + 1s, kPeer, kUs, true, true);
    turn_.on_spoken_to(at + 1s);
    turn_.on_carrier_down(at + 5s, at + 5s);
    now_ = at + 5s;
    ASSERT_EQ(step(), "key");
    ASSERT_EQ(now_, at + 5s + kTurnaround);
    turn_.on_transmit_started(now_);
    turn_.on_transmit_wanted(now_, true);
    turn_.on_transmit_done(at + 9s, 2s, kPeer);
    turn_.on_reply(at + 9s);
  }
  turn_.await_reply(t(609s), 2s);
  turn_.on_occupancy(t(609500ms), true);
  EXPECT_EQ(step(), "missing");
  turn_.on_transmit_wanted(now_, true);
  EXPECT_GE(turn_.next_deadline(), t(609500ms) + kMax);
}

TEST_F(OccupiedChannel, a_carrier_that_was_too_long_is_given_up_once) {
  for (const Duration power_after : {-260ms, 240ms}) {
    SCOPED_TRACE(to_seconds(power_after));
    Rng rng(5);
    TurnControl turn(kConfig, rng);
    const Instant up = t(10s);
    if (power_after < 0s) turn.on_occupancy(up + power_after, true);
    turn.on_carrier_up(up);
    if (power_after > 0s) turn.on_occupancy(up + power_after, true);
    turn.on_transmit_wanted(t(20s), true);
    const Instant given_up = up + TurnControl::kCarrierMax;
    ASSERT_EQ(turn.next_deadline(), given_up);
    turn.on_deadline(given_up);
    const auto slot = turn.next_deadline();
    ASSERT_TRUE(slot);
    EXPECT_GE(*slot, given_up + kTurnaround + kGuard);
    EXPECT_LT(*slot, given_up + kTurnaround + kGuard + 4 * kSlot);
    // The power fades for a moment and goes on.
    turn.on_occupancy(given_up + 600ms, false);
    turn.on_occupancy(given_up + 900ms, true);
    EXPECT_EQ(turn.next_deadline(), slot);
    turn.on_deadline(*slot);
    const auto action = turn.poll_action();
    ASSERT_TRUE(action);
    const auto* key = std::get_if<TurnControl::KeyTransmitter>(&*action);
    EXPECT_TRUE(key && key->occupied);
  }
}

TEST_F(OccupiedChannel, the_power_of_a_known_transmission_changes_no_slot) {
  const auto begins = [](bool with_power) {
    Rng rng(5);
    TurnControl turn({.self = kUs, .turnaround = kTurnaround, .preamble = 600ms}, rng);
    std::vector<Instant> at;
    for (Instant begin = t(10s); begin < t(200s); begin += 30s) {
      turn.on_transmit_wanted(begin - 1ms, false);
      if (with_power) turn.on_occupancy(begin + 260ms, true);
      turn.on_carrier_up(begin + 600ms);
      turn.on_transmit_wanted(begin + 650ms, true);
      turn.on_station_heard(begin + 700ms, kPeer, kThird, true, true);
      turn.on_carrier_down(begin + 9s, begin + 9s);
      if (with_power) turn.on_occupancy(begin + 9340ms, false);
      at.push_back(turn.next_deadline().value_or(Instant{}));
      turn.on_deadline(at.back());
      const auto action = turn.poll_action();
      EXPECT_TRUE(action.has_value());
      const auto* key = std::get_if<TurnControl::KeyTransmitter>(&*action);
      EXPECT_TRUE(key && key->held == 0s && !key->occupied);
    }
    return at;
  };
  EXPECT_EQ(begins(true), begins(false));
}

TEST_F(OccupiedChannel, the_preamble_of_a_known_transmission_is_no_wait_for_something_else) {
  turn_.on_occupancy(t(10260ms), true);
  turn_.on_transmit_wanted(t(10300ms), true);
  turn_.on_carrier_up(t(10600ms));
  turn_.on_carrier_down(t(19s), t(19s));
  turn_.on_occupancy(t(19340ms), false);
  EXPECT_EQ(step(), "key");
  EXPECT_EQ(key_.held, 0s);
}

TEST_F(OccupiedChannel, what_goes_on_behind_a_known_transmission_is_something_else) {
  turn_.on_occupancy(t(10260ms), true);
  turn_.on_carrier_up(t(10600ms));
  turn_.on_transmit_wanted(t(12s), true);
  turn_.on_carrier_down(t(19s), t(19s));
  EXPECT_GE(turn_.next_deadline(), t(19s) + kMax);
  turn_.on_occupancy(t(60s), false);
  EXPECT_EQ(step(), "key");
  EXPECT_GE(now_, t(60s + kTurnaround + kGuard));
  EXPECT_GT(key_.held, 40s);
}

// The station sends to no station that answers, has heard none, and leaves no slot to others.
TEST_F(OccupiedChannel, a_run_of_own_transmissions_stops_for_it) {
  turn_.on_transmit_started(t(10s));
  turn_.on_transmit_done(t(20s), {}, {});
  turn_.on_transmit_wanted(t(20s), true);
  EXPECT_EQ(turn_.next_deadline(), t(20s + kTurnaround + 500ms));
  turn_.on_occupancy(t(20300ms), true);
  EXPECT_GE(turn_.next_deadline(), t(20300ms) + kMax);
  turn_.on_occupancy(t(25s), false);
  EXPECT_EQ(step(), "key");
  EXPECT_GE(now_, t(25s + kTurnaround + kGuard));
}

TEST_F(OccupiedChannel, two_that_waited_for_the_same_end_choose_slots_of_their_own) {
  std::vector<Instant> begun;
  for (const Address self : {kUs, kPeer, kThird}) {
    Rng rng(self.value);
    TurnControl::Config config = kConfig;
    config.self = self;
    TurnControl turn(config, rng);
    Instant at = t(1s);
    for (const Address sender : {kUs, kPeer, kThird}) {  // each has heard the others
      if (sender == self) {
        turn.on_transmit_started(at);
        turn.on_transmit_done(at + 5s, {}, {});
      } else {
        turn.on_carrier_up(at);
        turn.on_station_heard(at + 1s, sender, Address{.value = 0, .group = true}, false, false);
        turn.on_carrier_down(at + 5s, at + 5s);
      }
      at += 20s;
    }
    // This is much later, when the slots of that time no longer count.
    turn.on_occupancy(t(400s + Duration(1ms) * static_cast<int>(self.value % 7)), true);
    turn.on_transmit_wanted(t(410s), true);
    turn.on_occupancy(t(440s + Duration(10ms) * static_cast<int>(self.value % 7)), false);
    begun.push_back(turn.next_deadline().value_or(Instant{}));
  }
  std::sort(begun.begin(), begun.end());
  EXPECT_GE(begun[1] - begun[0], kSlot - 100ms);
  EXPECT_GE(begun[2] - begun[1], kSlot - 100ms);
}

// A station always has something to send, beside a detector that changes its report all the time.
class FlappingDetector : public OccupiedChannel {
 protected:
  /// Lets the detector change its report from `at` on. Events that are due first go first.
  void flap_until(Instant end, Instant at, Duration occupied, Duration free) {
    bool told = false;
    while (now_ < end) {
      const auto deadline = turn_.next_deadline();
      if (deadline && *deadline <= at) {
        now_ = std::max(now_, *deadline);
        turn_.on_deadline(now_);
      } else {
        now_ = at;
        told = !told;
        at += told ? occupied : free;
        turn_.on_occupancy(now_, told);
      }
      while (const auto action = turn_.poll_action()) {
        if (const auto* key = std::get_if<TurnControl::KeyTransmitter>(&*action)) {
          on_key(*key);
        } else {
          want();
        }
      }
    }
  }
  void want() {
    wanted_since_ = now_;
    turn_.on_transmit_wanted(now_, true);
  }
  void on_key(const TurnControl::KeyTransmitter& key) {
    ++begun_;
    longest_ = std::max(longest_, now_ - wanted_since_);
    longest_held_ = std::max(longest_held_, key.held);
    turn_.on_transmit_wanted(now_, false);
    turn_.on_transmit_started(now_);
    now_ += 2s;
    if (answered_) {
      turn_.on_transmit_done(now_, {}, {});
      want();
    } else {
      turn_.on_transmit_done(now_, 2s, kPeer);
      turn_.on_transmit_wanted(now_, true);
    }
  }
  void hear(unsigned others) {
    const Address group{.value = 0, .group = true};
    for (unsigned i = 0; i < others; ++i) {
      turn_.on_carrier_up(t(10s * (i + 1)));
      turn_.on_station_heard(t(10s * (i + 1) + 1s), Address{kPeer.value + i}, group, false, false);
      turn_.on_carrier_down(t(10s * (i + 1) + 5s), t(10s * (i + 1) + 5s));
    }
  }
  bool answered_ = true;
  Instant wanted_since_{};
  int begun_ = 0;
  Duration longest_{};
  Duration longest_held_{};
};

class AnyFlap : public FlappingDetector,
                public ::testing::WithParamInterface<std::tuple<Duration, unsigned, bool>> {};

// At the limit the station behaves as if the channel had been free from then on.
TEST_P(AnyFlap, holds_nothing_back_for_longer_than_140_s_and_a_slot) {
  const auto [period, others, answered] = GetParam();
  answered_ = answered;
  hear(others);
  now_ = t(200s);
  want();
  const Instant end = now_ + kMax + 10min;
  flap_until(end, now_, period / 2, period - period / 2);
  // The station leaves a turnaround and a guard, and then waits for a slot of the round, or of 32
  // when nothing is answered. It may have waited as long before the first OCCUPIED.
  const Duration own = kTurnaround + kGuard + (answered ? 8 : 32 + 8) * kSlot;
  EXPECT_LE(longest_held_, kMax + own);
  EXPECT_LE(longest_, kMax + own + kTurnaround + kGuard + 4 * kSlot);
  EXPECT_GE(begun_, 740s / (kMax + own + 4s));
}

INSTANTIATE_TEST_SUITE_P(Periods, AnyFlap,
                         ::testing::Combine(::testing::Values(600ms, 1400ms, 2s, 5s),
                                            ::testing::Values(0u, 1u, 2u), ::testing::Bool()));

// If there are many stations and the preamble is long, a round is longer than the time for which
// occupancy holds back.
TEST_F(FlappingDetector, a_slot_more_than_140_s_away_is_put_off_no_more) {
  TurnControl::Config config = kConfig;
  config.preamble = 6s - kTurnaround;
  int far = 0;
  for (unsigned others = 28; others <= 31; ++others) {
    for (unsigned seed = 1; seed <= 10; ++seed) {
      Rng rng(seed);
      TurnControl turn(config, rng);
      const Address group{.value = 0, .group = true};
      for (unsigned i = 0; i < others; ++i) {
        turn.on_carrier_up(t(10s * (i + 1)));
        turn.on_station_heard(t(10s * (i + 1) + 1s), Address{kPeer.value + i}, group, false, false);
        turn.on_carrier_down(t(10s * (i + 1) + 5s), t(10s * (i + 1) + 5s));
      }
      const Instant wanted = t(600s);
      turn.on_occupancy(wanted, true);
      turn.on_transmit_wanted(wanted, true);
      const auto slot = turn.next_deadline();
      ASSERT_TRUE(slot);
      if (*slot <= wanted + 2 * kMax + 10s) continue;
      ++far;
      for (Instant at = wanted + kMax + 1s; at < *slot; at += 1s) {
        turn.on_occupancy(at, false);
        ASSERT_EQ(turn.next_deadline(), slot);
        turn.on_occupancy(at + 500ms, true);
        ASSERT_EQ(turn.next_deadline(), slot);
      }
    }
  }
  EXPECT_GT(far, 3);
}

// The detector reports power just when the slot comes, at any distance before it, for the shortest
// time that a detector may.
TEST_F(FlappingDetector, no_choice_of_moments_silences_a_station) {
  for (Duration occupied = 260ms; occupied < 3s; occupied += 370ms) {
    for (Duration free = 340ms; free < 6s; free += 230ms) {
      SCOPED_TRACE(std::to_string(to_seconds(occupied)) + " " + std::to_string(to_seconds(free)));
      const int before = begun_;
      want();
      flap_until(now_ + kMax + 10s, now_ + 10ms, occupied, free);
      ASSERT_GT(begun_, before);
    }
  }
}

// The next contention has its 140 s again.
TEST_F(FlappingDetector, each_contention_is_held_back_anew) {
  turn_.on_occupancy(t(50s), true);
  turn_.on_transmit_wanted(t(60s), true);
  EXPECT_EQ(step(), "key");
  turn_.on_transmit_started(now_);
  turn_.on_transmit_done(now_ + 2s, {}, {});
  turn_.on_occupancy(now_ + 10s, false);
  const Instant again = now_ + 20s;
  turn_.on_occupancy(again, true);
  turn_.on_transmit_wanted(again, true);
  EXPECT_GE(turn_.next_deadline(), again + kMax);
}

TEST_F(FlappingDetector, what_was_given_up_is_no_part_of_the_next_contention) {
  turn_.on_occupancy(t(50s), true);
  turn_.on_transmit_wanted(t(60s), true);
  turn_.on_transmit_wanted(t(150s), false);
  turn_.on_occupancy(t(151s), false);
  turn_.on_occupancy(t(160s), true);
  turn_.on_transmit_wanted(t(170s), true);
  EXPECT_GE(turn_.next_deadline(), t(160s) + kMax);
}

// In full duplex the power is on another frequency. When turns are taken again, it is on the
// frequency of the turns.
TEST_F(FlappingDetector, what_was_heard_in_full_duplex_counts_once_turns_are_taken) {
  turn_.set_full_duplex(t(1s), true);
  turn_.on_occupancy(t(50s), true);
  turn_.on_transmit_wanted(t(60s), true);
  EXPECT_EQ(turn_.next_deadline(), t(60s));
  turn_.set_full_duplex(t(60s), false);
  EXPECT_GE(turn_.next_deadline(), t(50s) + kMax);
}

TEST_F(FlappingDetector, a_contention_ends_where_full_duplex_begins) {
  turn_.on_occupancy(t(50s), true);
  turn_.on_transmit_wanted(t(60s), true);
  turn_.set_full_duplex(t(100s), true);
  turn_.set_full_duplex(t(180s), false);
  turn_.on_occupancy(t(181s), false);
  turn_.on_occupancy(t(182s), true);
  EXPECT_GE(turn_.next_deadline(), t(182s) + kMax);
}

}  // namespace
}  // namespace s5066::dts
