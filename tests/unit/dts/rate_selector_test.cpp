// SPDX-License-Identifier: Apache-2.0
// RateSelector chooses a rate from measurements (C.6.4.2).
#include "s5066d/dts/rate_selector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "s5066d/base/rng.h"

namespace s5066::dts {
namespace {

using modem::Interleaver;
using modem::Mode;
constexpr Mode kStart{.rate_bps = 300, .interleaver = Interleaver::short_};
constexpr Duration kLong = std::chrono::milliseconds(127500);

RateSelector selector(const Mode& start = kStart) {
  return RateSelector(
      {.modes = modes_to_choose_from(start, {}), .start = start, .transmission_max = kLong});
}

/// Returns a long transmission of which the share `intact` arrived, on a channel that fades a
/// little.
Reception heard(const Mode& mode, double intact, std::optional<double> snr_db) {
  const double spread_db = mode.interleaver == Interleaver::long_ ? 0.8 : 1.4;
  Reception reception{.mode = mode,
                      .octets = mode.rate_bps * 12,
                      .blocks = 20,
                      .snr_db = snr_db,
                      .spread_db = spread_db};
  reception.octets_intact =
      static_cast<std::size_t>(intact * static_cast<double>(reception.octets));
  return reception;
}

/// Returns the share that arrives on a link that needs `more_db` more than the table and fades a
/// little.
double share(const Mode& mode, double snr_db, double more_db) {
  const double above = snr_db - snr_needed_db(mode) - more_db;
  return 0.5 * std::erfc(-above / std::sqrt(2.0) / 1.5);
}

TEST(RateSelector, modes_to_choose_from_can_be_named_and_heard_and_keep_the_limits) {
  const auto all = modes_to_choose_from(kStart, {});
  EXPECT_EQ(all.size(), 22u);
  EXPECT_EQ(all.front().rate_bps, 75u);
  EXPECT_EQ(all.back().rate_bps, 9600u);
  const auto some = modes_to_choose_from(kStart, {.rate_min_bps = 600, .rate_max_bps = 2400});
  EXPECT_EQ(some.size(), 6u);
  EXPECT_EQ(some.front().rate_bps, 600u);
  EXPECT_EQ(some.back().rate_bps, 2400u);
  const auto none = modes_to_choose_from(kStart, {.rate_min_bps = 76, .rate_max_bps = 149});
  EXPECT_EQ(none, std::vector<Mode>{kStart});
}

TEST(RateSelector, one_choice_holds_the_modes_of_110D_that_need_less_than_others_of_their_rate) {
  const auto own = modes_to_choose_from(kStart, {});
  const auto all = modes_of_one_choice(kStart, {});
  EXPECT_EQ(all.size(), 34u);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(),
                             [](const Mode& a, const Mode& b) { return a.rate_bps < b.rate_bps; }));
  for (const Mode& mode : all) {
    if (std::find(own.begin(), own.end(), mode) != own.end()) continue;
    EXPECT_EQ(mode.waveform, modem::Waveform::ms110d);
    EXPECT_LE(mode.rate_bps, 2400u);
  }
  const Mode untold{modem::Waveform::stanag4285, 600, Interleaver::short_};
  EXPECT_EQ(modes_of_one_choice(untold, {}), modes_to_choose_from(untold, {}));
  const auto limited = modes_of_one_choice(kStart, {.rate_min_bps = 600, .rate_max_bps = 1200});
  EXPECT_EQ(limited.size(), 8u);
}

/// Returns REQUEST or ACCEPTED as it is received through white noise.
Reception link_control(double snr_db) {
  return {.mode = kStart,
          .octets = 29,
          .octets_intact = 29,
          .blocks = 3,
          .snr_db = snr_db,
          .spread_db = 0.2,
          .managed = true};
}

// Goal:   the mode of the first data is the fastest that comes whole in white noise, as measured
//         with the waveforms.
TEST(RateSelector, link_control_without_fading_tells_the_fastest_mode_that_comes_whole) {
  struct Case {
    double snr_db;
    Mode best;
  };
  constexpr auto k110d = modem::Waveform::ms110d;
  constexpr Interleaver kShort = Interleaver::short_;
  for (const Case& c :
       {Case{-7, {modem::Waveform::ms110a, 150, Interleaver::long_}},
        Case{-4, {k110d, 300, kShort}}, Case{0, {k110d, 600, kShort}},
        Case{4, {k110d, 2400, kShort}}, Case{20, {modem::Waveform::stanag4539, 8000, kShort}}}) {
    RateSelector rates(
        {.modes = modes_of_one_choice(kStart, {}), .start = kStart, .transmission_max = kLong});
    rates.set_one_choice(true);
    rates.on_reception({}, link_control(c.snr_db));
    EXPECT_EQ(to_string(rates.mode()), to_string(c.best)) << c.snr_db;
  }
}

// Goal:   data that came whole in white noise raises the rate to no mode that needs more than the
//         SNR, and the same data on a channel that fades leaves that to a trial.
TEST(RateSelector, data_without_fading_raises_the_rate_only_as_far_as_the_ratio_goes) {
  constexpr Mode kBest{modem::Waveform::ms110d, 300, Interleaver::short_};
  for (const double spread_db : {0.4, 2.5}) {
    RateSelector rates(
        {.modes = modes_of_one_choice(kStart, {}), .start = kStart, .transmission_max = kLong});
    rates.set_one_choice(true);
    rates.on_reception({}, link_control(-4));
    ASSERT_EQ(to_string(rates.mode()), to_string(kBest));
    Reception data = heard(kBest, 1, -4 + 2.2);
    data.spread_db = spread_db;
    rates.on_reception({}, data);
    if (spread_db < 1) {
      EXPECT_EQ(to_string(rates.mode()), to_string(kBest));
    } else {
      EXPECT_GT(rates.mode().rate_bps, kBest.rate_bps);
    }
  }
}

// Goal:   in white noise bulk data goes at twice the rate if about half of the usual segments
//         arrive there, because shorter ones get more through; not where hardly any would arrive,
//         and not for a peer whose segments may have one length.
TEST(RateSelector, without_fading_bulk_data_counts_on_shorter_segments) {
  constexpr Mode kSlower{modem::Waveform::ms110d, 600, Interleaver::short_};
  constexpr Mode kFaster{modem::Waveform::ms110d, 1200, Interleaver::short_};
  struct Case {
    double snr_db;
    bool by_agreement;
    Mode best;
  };
  for (const Case& c :
       {Case{-0.4, false, kFaster}, Case{-1.2, false, kSlower}, Case{-0.4, true, kSlower}}) {
    RateSelector rates(
        {.modes = modes_of_one_choice(kStart, {}), .start = kStart, .transmission_max = kLong});
    rates.set_one_choice(true);
    rates.on_reception({}, link_control(c.snr_db));
    ASSERT_EQ(to_string(rates.mode()), to_string(kSlower)) << c.snr_db;
    rates.set_by_agreement(c.by_agreement);
    Reception data = heard(kSlower, 1, c.snr_db + 2.2);
    data.spread_db = 0.4;
    rates.on_reception({}, data);
    EXPECT_EQ(to_string(rates.mode()), to_string(c.best)) << c.snr_db;
  }
}

TEST(RateSelector, modes_that_the_peer_does_not_hear_are_chosen_only_once_it_offers_one_choice) {
  RateSelector rates(
      {.modes = modes_of_one_choice(kStart, {}), .start = kStart, .transmission_max = kLong});
  rates.on_reception({}, link_control(4));
  EXPECT_EQ(rates.mode().waveform, modem::Waveform::ms110a);
  rates.set_one_choice(true);
  EXPECT_EQ(rates.mode().waveform, modem::Waveform::ms110d);
  rates.set_one_choice(false);
  EXPECT_EQ(rates.mode().waveform, modem::Waveform::ms110a);
}

TEST(RateSelector, it_climbs_at_once_where_the_ratio_is_high) {
  RateSelector rates = selector();
  EXPECT_EQ(rates.mode(), kStart);
  rates.on_reception({}, heard(kStart, 1, 30));
  EXPECT_GE(rates.mode().rate_bps, 8000u);
}

TEST(RateSelector, it_falls_at_once_when_the_ratio_does) {
  RateSelector rates = selector();
  rates.on_reception({}, heard(kStart, 1, 30));
  const Mode fast = rates.mode();
  rates.on_reception({}, heard(fast, 0, 3));
  EXPECT_LE(rates.mode().rate_bps, 1200u);
}

// Method: the first part of a transmission arrives whole at one ratio, and the second at another
//         ratio or not at all.
TEST(RateSelector, what_a_transmission_ended_with_counts) {
  for (const bool falls : {true, false}) {
    RateSelector rates = selector();
    for (int i = 0; i < 3; ++i) rates.on_reception({}, heard(rates.mode(), 1, falls ? 25 : 2));
    const Mode before = rates.mode();
    Reception first = heard(before, 1, falls ? 25 : 2);
    first.more_follows = true;
    rates.on_reception({}, first);
    EXPECT_EQ(rates.mode(), before);  // not yet
    rates.on_reception({}, heard(before, falls ? 0 : 1, falls ? 2 : 25));
    if (falls) {
      EXPECT_LE(rates.mode().rate_bps, 1200u);
    } else {
      EXPECT_GE(rates.mode().rate_bps, 4800u);
    }
  }
}

// Goal:   transmissions that peers send in parts count no shorter for that.
// Method: transmissions of some seconds come whole, and in two parts of which each would be short.
TEST(RateSelector, the_parts_of_a_transmission_are_as_long_as_the_whole) {
  std::array<RateSelector, 2> rates = {selector(), selector()};
  for (int i = 0; i < 8; ++i) {
    const Mode mode = rates[0].mode();
    Reception whole = heard(mode, 1, 8);
    whole.octets = whole.octets_intact = mode.rate_bps * 9 / 8;
    rates[0].on_reception({}, whole);
    Reception part = whole;
    part.octets = part.octets_intact = whole.octets / 2;
    part.blocks = whole.blocks / 2;
    part.more_follows = true;
    rates[1].on_reception({}, part);
    part.more_follows = false;
    rates[1].on_reception({}, part);
  }
  EXPECT_EQ(rates[0].mode(), rates[1].mode());
}

// A silence may have any cause. The measurement after it counts, and no mode suffers for anything
// before it.
TEST(RateSelector, silence_is_forgotten_with_the_next_measurement) {
  RateSelector rates = selector();
  for (int i = 0; i < 3; ++i) rates.on_reception({}, heard(rates.mode(), 1, 25));
  const Mode before = rates.mode();
  ASSERT_GE(before.rate_bps, 6400u);
  for (int i = 0; i < 8; ++i) rates.on_silence();
  EXPECT_LE(rates.mode().rate_bps, 300u);
  rates.on_reception({}, heard(kStart, 1, 25));
  EXPECT_EQ(rates.mode(), before);
}

TEST(RateSelector, it_learns_what_a_link_needs_beyond_the_table) {
  for (const double more_db : {-2.0, 0.0, 3.0, 6.0}) {
    RateSelector rates = selector();
    Rng rng(1);
    for (int i = 0; i < 40; ++i) {
      const Mode mode = rates.mode();
      rates.on_reception({}, heard(mode, share(mode, 15, more_db), 15 + 0.5 * rng.gaussian()));
    }
    const auto brings = [&](const Mode& m) { return m.rate_bps * share(m, 15, more_db); };
    double most = 0;
    for (const Mode& mode : modes_to_choose_from(kStart, {})) most = std::max(most, brings(mode));
    EXPECT_GE(brings(rates.mode()), 0.8 * most) << more_db;
  }
}

TEST(RateSelector, it_does_not_hunt_where_nothing_changes) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    RateSelector rates = selector();
    Rng rng(seed);
    const double snr_db = 30 * rng.uniform();
    const double more_db = 5 * rng.uniform();
    int changes = 0;
    for (int i = 0; i < 200; ++i) {
      const Mode mode = rates.mode();
      rates.on_reception({}, heard(mode, share(mode, snr_db, more_db), snr_db + rng.gaussian()));
      if (i >= 100 && rates.mode() != mode) ++changes;
    }
    EXPECT_LE(changes, 12) << "seed " << seed << ", " << snr_db << " dB";
  }
}

/// Returns, for 150 long transmissions after 50 others, the number with the short interleaver and
/// the number of changes of the interleaver alone.
std::pair<int, int> in_short(bool by_agreement, double share_of_short) {
  RateSelector rates = selector();
  rates.set_by_agreement(by_agreement);
  std::pair<int, int> counted;
  for (int i = 0; i < 200; ++i) {
    const Mode mode = rates.mode();
    const bool is_short = mode.interleaver == Interleaver::short_;
    const double comes = mode.rate_bps > 1200 ? 0 : is_short ? share_of_short : 1;
    rates.on_reception({}, heard(mode, comes, 10));
    if (i < 50) continue;
    counted.first += is_short ? 1 : 0;
    counted.second += mode.rate_bps == rates.mode().rate_bps && mode != rates.mode() ? 1 : 0;
  }
  return counted;
}

// Goal:   at one rate little is at stake, so one transmission shows which interleaver brings more.
// Method: nothing above 1200 bit/s arrives. The short interleaver brings all, or less than the long
//         one, which costs 3 % of the rate.
TEST(RateSelector, at_one_rate_it_tries_the_interleaver_that_may_bring_a_little_more) {
  EXPECT_GE(in_short(false, 1).first, 145);  // the others are trials of a higher rate
  const auto [tried, changes] = in_short(false, 0.8);
  EXPECT_LE(tried, 8);
  EXPECT_LE(changes, 16);
  EXPECT_EQ(in_short(true, 1).second, 0);  // the messages would cost more
}

// The channel has an echo that the high rates cannot stand at any ratio.
TEST(RateSelector, what_fails_is_left_alone_for_longer_each_time) {
  RateSelector rates = selector();
  int failed = 0;
  int failed_late = 0;
  for (int i = 0; i < 200; ++i) {
    const Mode mode = rates.mode();
    const bool works = mode.rate_bps <= 1200;
    rates.on_reception({}, heard(mode, works ? 1 : 0, 20));
    failed += works ? 0 : 1;
    failed_late += works || i < 100 ? 0 : 1;
  }
  EXPECT_LE(failed, 25);
  EXPECT_LE(failed_late, 8);
}

// Goal:   a partial loss is caused by the ratio and follows it. A total loss twice in a row may
//         have another cause.
// Method: little or nothing of a mode arrives, and then the ratio is somewhat better.
TEST(RateSelector, a_mode_is_left_alone_when_twice_nothing_of_it_came) {
  for (const double comes : {0.1, 0.0}) {
    RateSelector rates = selector();
    rates.on_reception({}, heard(kStart, 1, 14));
    const Mode first = rates.mode();
    for (int i = 0; i < 2; ++i) rates.on_reception({}, heard(first, comes, 14));
    EXPECT_LT(rates.mode().rate_bps, first.rate_bps);
    for (int i = 0; i < 3; ++i) rates.on_reception({}, heard(rates.mode(), 1, 18.5));
    EXPECT_EQ(rates.mode().rate_bps >= first.rate_bps, comes > 0);
  }
}

// Goal:   a loss that the ratio makes most unlikely has another cause, and one long transmission
//         shows that. It tells nothing about modes that need less.
// Method: nothing of a mode arrives at a ratio far above its need, in many octets or in a few.
TEST(RateSelector, a_mode_is_left_alone_at_once_when_the_ratio_promised_all_of_it) {
  const Mode fails{modem::Waveform::stanag4539, 3200, Interleaver::long_};
  for (const bool many : {true, false}) {
    RateSelector rates = selector();
    rates.on_reception({}, heard(kStart, 1, 15));
    Reception nothing = heard(fails, 0, 15);
    if (!many) nothing.octets = 1000;
    rates.on_reception({}, nothing);
    if (many) {
      EXPECT_EQ(rates.mode(), (Mode{.rate_bps = 1200, .interleaver = Interleaver::short_}));
    } else {
      EXPECT_EQ(rates.mode(), fails);
    }
  }
}

// The ratio fell within the transmission here, which explains the loss.
TEST(RateSelector, a_mode_that_went_with_the_ratio_is_not_left_alone) {
  const Mode fails{modem::Waveform::stanag4539, 3200, Interleaver::long_};
  RateSelector rates = selector();
  rates.on_reception({}, heard(kStart, 1, 15));
  rates.on_reception({}, heard(fails, 0, 8));
  EXPECT_LT(rates.mode().rate_bps, fails.rate_bps);
  // The ratio is so little above the need that a mode which is left alone would not be tried again.
  rates.on_reception({}, heard(rates.mode(), 1, 12.9));
  EXPECT_GE(rates.mode().rate_bps, fails.rate_bps);
}

TEST(RateSelector, what_is_lost_in_both_parts_of_a_transmission_is_lost_once) {
  RateSelector rates = selector();
  rates.on_reception({}, heard(kStart, 1, 14));
  const Mode first = rates.mode();
  for (const bool more_follows : {true, false}) {
    Reception part = heard(first, 0, 14);
    part.more_follows = more_follows;
    rates.on_reception({}, part);
  }
  for (int i = 0; i < 3; ++i) rates.on_reception({}, heard(rates.mode(), 1, 18.5));
  EXPECT_GE(rates.mode().rate_bps, first.rate_bps);
}

TEST(RateSelector, two_transmissions_in_a_row_that_nobody_heard_lower_the_rate) {
  RateSelector rates = selector();
  rates.on_reception({}, heard(kStart, 1, 20));
  const Mode fast = rates.mode();
  rates.on_lost(fast);
  EXPECT_LT(rates.mode().rate_bps, fast.rate_bps);  // the ratio may have fallen
  rates.on_reception({}, heard(rates.mode(), 1, 20));
  EXPECT_EQ(rates.mode(), fast);  // it had not
  rates.on_lost(fast);
  rates.on_lost(fast);
  rates.on_reception({}, heard(rates.mode(), 1, 20));
  EXPECT_LT(rates.mode().rate_bps, fast.rate_bps);
}

// Method: the ratio is high, but no transmission in STANAG 4539 is noticed. Each time the peer
//         comes back at a rate that arrives whole.
TEST(RateSelector, a_mode_that_is_never_heard_is_given_up_although_others_come_whole) {
  RateSelector rates = selector();
  rates.on_reception({}, heard(kStart, 1, 25));
  int tries = 0;
  int tries_late = 0;
  constexpr int kRounds = 300;
  for (int i = 0; i < kRounds; ++i) {
    if (rates.mode().waveform == modem::Waveform::ms110a) {
      rates.on_reception({}, heard(rates.mode(), 1, 25));
      continue;
    }
    ++tries;
    tries_late += i >= kRounds / 2;
    rates.on_lost(rates.mode());
    rates.on_reception({}, heard({.rate_bps = 600, .interleaver = Interleaver::short_}, 1, 25));
  }
  EXPECT_LE(tries, 80);
  EXPECT_LE(tries_late, 15);
}

// No data arrives in any mode, although the SNR promises much.
TEST(RateSelector, where_all_is_left_alone_the_most_robust_is_wished_for) {
  RateSelector rates = selector();
  rates.on_reception({}, heard(kStart, 1, 25));
  for (const Mode& mode : modes_to_choose_from(kStart, {})) {
    for (int i = 0; i < 4; ++i) rates.on_reception({}, heard(mode, 0, 25));
  }
  for (int i = 0; i < 4; ++i) {
    rates.on_reception({}, heard({.rate_bps = 75, .interleaver = Interleaver::long_}, 0, 25));
  }
  EXPECT_EQ(rates.mode(), (Mode{.rate_bps = 75, .interleaver = Interleaver::long_}));
}

TEST(RateSelector, a_single_transmission_that_was_missed_is_held_against_no_mode) {
  RateSelector rates = selector();
  for (int i = 0; i < 3; ++i) rates.on_reception({}, heard(rates.mode(), 1, 25));
  const Mode fast = rates.mode();
  for (int i = 0; i < 10; ++i) {
    rates.on_lost(fast);
    rates.on_reception({}, heard(kStart, 1, 25));
    EXPECT_EQ(rates.mode(), fast);
    rates.on_reception({}, heard(fast, 1, 25));
    EXPECT_EQ(rates.mode(), fast);
  }
}

TEST(RateSelector, without_a_ratio_it_climbs_step_by_step_until_something_is_lost) {
  RateSelector rates = selector();
  std::vector<std::uint32_t> steps;
  for (int i = 0; i < 60; ++i) {
    const Mode mode = rates.mode();
    if (steps.empty() || steps.back() != mode.rate_bps) steps.push_back(mode.rate_bps);
    rates.on_reception({}, heard(mode, mode.rate_bps <= 1200 ? 1 : 0, std::nullopt));
  }
  EXPECT_EQ(steps.front(), 300u);
  EXPECT_NE(std::find(steps.begin(), steps.end(), 1200u), steps.end());
  EXPECT_LE(rates.mode().rate_bps, 3200u);
}

}  // namespace
}  // namespace s5066::dts
