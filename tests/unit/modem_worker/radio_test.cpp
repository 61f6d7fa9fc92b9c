// SPDX-License-Identifier: Apache-2.0
#include "modem/worker/radio.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "modem/api/airtime.h"
#include "modem/api/morse.h"
#include "modem/worker/sample_time.h"
#include "tests/unit/modem_worker/radio_bench.h"

namespace s5066::modem {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Bench = RadioBench;

TEST(SampleTime, samples_and_times_are_the_same_clock) {
  EXPECT_EQ(samples_to_duration(kSampleRate), seconds(1));
  for (const std::uint64_t n : {0ULL, 1ULL, 2ULL, 3ULL, 192ULL, 9599ULL, 123'456'789'012ULL}) {
    EXPECT_EQ(duration_to_samples(samples_to_duration(n)), n);
    EXPECT_EQ(duration_to_samples(samples_to_duration(n) + Duration(50)), n);
    EXPECT_EQ(duration_to_samples(samples_to_duration(n) + Duration(1000)), n + 1);
  }
  EXPECT_EQ(duration_to_samples(Duration(-1)), 0U);
}

TEST(Radio, a_burst_starts_at_the_very_sample_that_was_asked_for) {
  for (const std::uint64_t first : {192ULL, 193ULL, 383ULL, 384ULL, 5000ULL}) {
    SCOPED_TRACE(first);
    Bench bench(config());
    const TransmitBurst command = burst(1, sample_to_instant(first));
    bench.radio.on_received(std::vector<float>(kBlock));
    bench.radio.on_command(command);
    bench.answer();
    const auto expected = modulated(command);
    bench.run((first + expected.size()) / kBlock + 2);
    const auto at = bench.sent.begin() + static_cast<std::ptrdiff_t>(first - kBlock);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), at));
    const auto is_zero = [](float x) { return x == 0; };
    EXPECT_TRUE(std::all_of(bench.sent.begin(), at, is_zero));
    const auto end = at + static_cast<std::ptrdiff_t>(expected.size());
    EXPECT_TRUE(std::all_of(end, bench.sent.end(), is_zero));
    ASSERT_EQ(bench.events.size(), 2U);
    const auto started = std::get<TransmitStarted>(bench.events[0]);
    EXPECT_EQ(started.at, sample_to_instant(first));
    const auto finished = std::get<TransmitFinished>(bench.events[1]);
    EXPECT_EQ(finished.at, sample_to_instant(first + expected.size()));
    EXPECT_EQ(finished.at - started.at, airtime(kMode, command.bytes.size()));
    EXPECT_EQ(finished.outcome, TransmitOutcome::sent);
    EXPECT_EQ(finished.id.value, 1U);
  }
}

TEST(Radio, a_time_that_has_passed_means_at_once) {
  Bench bench(config());
  bench.run(10);
  bench.radio.on_command(burst(1, sample_to_instant(5)));
  bench.run(200);
  EXPECT_EQ(bench.all<TransmitStarted>().at(0).at, sample_to_instant(11 * kBlock));
}

TEST(Radio, the_key_goes_down_before_the_first_sample_and_up_after_the_tail) {
  Radio::Config with_times = config();
  with_times.ptt_lead = milliseconds(100);  // 960 samples: 5 blocks
  with_times.ptt_tail = milliseconds(60);   // 3 blocks
  Bench bench(with_times);
  const std::uint64_t first = 20 * kBlock;
  bench.radio.on_command(burst(1, sample_to_instant(first)));
  const std::uint64_t samples = modulated(burst(1)).size();
  ASSERT_EQ(samples % kBlock, 0U);
  bench.run(20 + samples / kBlock + 10);
  // Entry n of the lists belongs to the block that begins at block n + 1.
  const std::size_t down = 20 - 5 - 1;
  const std::size_t up = 20 + samples / kBlock + 3 - 1;
  for (std::size_t n = 0; n < bench.keyed.size(); ++n) {
    EXPECT_EQ(bench.keyed[n], n >= down && n < up) << n;
    EXPECT_EQ(bench.key[n], n >= down && n < up) << n;
  }
  EXPECT_EQ(bench.all<TransmitStarted>().at(0).at, sample_to_instant(first));
  EXPECT_EQ(bench.all<TransmitFinished>().at(0).at,
            sample_to_instant(first + samples + 3 * kBlock));
}

TEST(Radio, a_tone_as_loud_as_the_burst_fills_the_lead_where_that_is_asked_for) {
  Radio::Config with_tone = config();
  with_tone.ptt_lead = milliseconds(100);  // 960 samples: 5 blocks
  with_tone.lead_tone = true;
  Bench bench(with_tone);
  bench.run(2);
  const TransmitBurst command = burst(1);
  bench.radio.on_command(command);
  bench.run(70);
  const auto first = std::find_if(bench.sent.begin(), bench.sent.end(),
                                  [](float sample) { return sample != 0.0F; });
  // The first sample of the sine is 0.
  const auto begin = static_cast<std::size_t>(first - bench.sent.begin()) - 1;
  const std::vector<float> expected = modulated(command);
  ASSERT_GE(bench.sent.size(), begin + 960 + expected.size());
  double power = 0;
  for (std::size_t i = begin; i < begin + 960; ++i) power += bench.sent[i] * bench.sent[i];
  EXPECT_NEAR(power / 960, kTransmitPower, 1e-4);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(),
                         bench.sent.begin() + static_cast<std::ptrdiff_t>(begin) + 960));
}

TEST(Radio, all_sound_is_sent_at_the_transmit_level_from_the_next_block_on) {
  Radio::Config quiet = config();
  quiet.transmit_level_db = -6;
  Bench bench(quiet);
  bench.run(2);
  bench.radio.on_command(burst(1));
  bench.run(10);
  bench.radio.on_command(SetTransmitLevel{-40});
  bench.run(10);
  const std::vector<float> full = modulated(burst(1));
  const std::size_t begin = 2 * kBlock;
  ASSERT_GE(full.size(), 20 * kBlock);
  for (std::size_t i = 0; i < 20 * kBlock; ++i) {
    const double gain = std::pow(10.0, i < 10 * kBlock ? -6.0 / 20 : -2.0);
    ASSERT_NEAR(bench.sent[begin + i], gain * full[i], 1e-6) << i;
  }
}

TEST(Radio, sends_morse_code_as_a_burst_with_its_own_length) {
  Bench bench(config());
  bench.run(2);
  bench.radio.on_command(
      TransmitBurst{.id = {1}, .mode = kMode, .bytes = {}, .not_before = {}, .morse = "DL0ABC"});
  bench.run(static_cast<std::size_t>(morse_airtime("DL0ABC") / milliseconds(20)) + 5);
  ASSERT_EQ(bench.all<TransmitFinished>().size(), 1U);
  EXPECT_EQ(bench.all<TransmitFinished>()[0].outcome, TransmitOutcome::sent);
  EXPECT_EQ(bench.all<TransmitFinished>()[0].at - bench.all<TransmitStarted>().at(0).at,
            morse_airtime("DL0ABC"));
}

TEST(Radio, refuses_a_text_that_has_no_morse_code) {
  Bench bench(config());
  bench.radio.on_command(
      TransmitBurst{.id = {1}, .mode = kMode, .bytes = {}, .not_before = {}, .morse = "a?b"});
  bench.run(5);
  ASSERT_EQ(bench.all<Fault>().size(), 1U);
  EXPECT_EQ(bench.all<Fault>()[0].kind, FaultKind::command_refused);
}

TEST(Radio, a_burst_aborted_in_its_lead_ends_the_tone) {
  Radio::Config with_tone = config();
  with_tone.ptt_lead = milliseconds(100);
  with_tone.lead_tone = true;
  Bench bench(with_tone);
  bench.radio.on_command(burst(1));
  bench.run(2);
  bench.radio.on_command(AbortTransmit{{1}});
  const std::size_t sent = bench.sent.size();
  bench.run(10);
  EXPECT_TRUE(std::all_of(bench.sent.begin() + static_cast<std::ptrdiff_t>(sent), bench.sent.end(),
                          [](float sample) { return sample == 0.0F; }));
}

TEST(Radio, a_lead_delays_a_burst_that_should_start_at_once) {
  Radio::Config with_lead = config();
  with_lead.ptt_lead = milliseconds(100);
  Bench bench(with_lead);
  bench.run(1);
  bench.radio.on_command(burst(1));
  bench.run(20);
  EXPECT_EQ(bench.all<TransmitStarted>().at(0).at, sample_to_instant(2 * kBlock + 960));
}

TEST(Radio, a_delay_of_the_device_moves_sending_but_not_the_time_line) {
  Radio::Config delayed = config();
  delayed.transmit_delay = 1000;
  Bench bench(delayed);
  const TransmitBurst command = burst(1, sample_to_instant(5000));
  bench.radio.on_command(command);
  const auto expected = modulated(command);
  bench.run(5000 / kBlock + expected.size() / kBlock + 10);
  const auto at = bench.sent.begin() + (5000 - 1000 - kBlock);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), at));
  EXPECT_EQ(bench.all<TransmitStarted>().at(0).at, sample_to_instant(5000));
  EXPECT_EQ(bench.all<TransmitFinished>().at(0).at, sample_to_instant(5000 + expected.size()));
  // The key follows the time line, not the time at which the samples are made.
  const auto first_key = std::find(bench.key.begin(), bench.key.end(), true) - bench.key.begin();
  EXPECT_EQ(first_key, 5000 / static_cast<long>(kBlock) - 1);
}

TEST(Radio, a_second_burst_is_refused_while_one_is_pending) {
  Bench bench(config());
  bench.radio.on_command(burst(1, sample_to_instant(5000)));
  bench.radio.on_command(burst(2));
  bench.run(300);
  ASSERT_EQ(bench.all<Fault>().size(), 1U);
  EXPECT_EQ(bench.all<Fault>()[0].kind, FaultKind::command_refused);
  ASSERT_EQ(bench.all<TransmitFinished>().size(), 1U);
  EXPECT_EQ(bench.all<TransmitFinished>()[0].id.value, 1U);
  bench.radio.on_command(burst(3));
  bench.run(300);
  EXPECT_EQ(bench.all<TransmitFinished>().at(1).id.value, 3U);
}

TEST(Radio, the_longest_burst_is_taken_and_a_longer_one_is_not) {
  Radio::Config tight = config();
  tight.keyed_max = airtime(kMode, 50) + tight.keyed_margin;
  Bench bench(tight);
  bench.radio.on_command(burst(1));
  bench.run(300);
  EXPECT_EQ(bench.all<TransmitFinished>().size(), 1U);
  EXPECT_TRUE(bench.all<Fault>().empty());
  tight.keyed_max -= Duration(1);
  Bench tighter(tight);
  tighter.radio.on_command(burst(1));
  tighter.run(300);
  EXPECT_TRUE(tighter.all<TransmitFinished>().empty());
  EXPECT_EQ(tighter.all<Fault>().at(0).kind, FaultKind::command_refused);
}

TEST(Radio, an_unknown_mode_is_refused) {
  Bench bench(config());
  TransmitBurst command = burst(1);
  command.mode.rate_bps = 2401;
  bench.radio.on_command(command);
  bench.run(2);
  EXPECT_EQ(bench.all<Fault>().at(0).kind, FaultKind::command_refused);
}

TEST(Radio, an_aborted_burst_is_silent_from_the_next_block_on) {
  Bench bench(config());
  bench.radio.on_command(burst(1));
  bench.run(30);
  bench.radio.on_command(AbortTransmit{{2}});  // not the id of our burst
  bench.tick();
  EXPECT_TRUE(bench.keyed.back());
  bench.radio.on_received(std::vector<float>(kBlock));
  bench.radio.on_command(AbortTransmit{{1}});
  bench.drain();
  EXPECT_FALSE(bench.radio.key_wanted());
  const auto finished = bench.all<TransmitFinished>();
  ASSERT_EQ(finished.size(), 1U);
  EXPECT_EQ(finished[0].outcome, TransmitOutcome::aborted);
  EXPECT_EQ(finished[0].at, bench.radio.now());
  bench.answer();
  EXPECT_FALSE(bench.keyed.back());
  EXPECT_EQ(bench.sent.back(), 0.0F);
  bench.radio.on_command(AbortTransmit{{1}});
  bench.run(200);
  EXPECT_EQ(bench.all<TransmitFinished>().size(), 1U);
}

TEST(Radio, a_burst_aborted_before_its_time_is_never_keyed) {
  Bench bench(config());
  bench.radio.on_command(burst(1, sample_to_instant(5000)));
  bench.run(3);
  bench.radio.on_command(AbortTransmit{{1}});
  bench.run(200);
  EXPECT_TRUE(bench.all<TransmitStarted>().empty());
  EXPECT_EQ(bench.all<TransmitFinished>().at(0).outcome, TransmitOutcome::aborted);
  EXPECT_EQ(std::count(bench.keyed.begin(), bench.keyed.end(), true), 0);
}

/// The burst begins at the second block. Three blocks after its ninth were lost. They must be
/// missing in the sent samples, and the samples after them must be in their places.
void expect_hole_and_no_slip(const Bench& bench, const std::vector<float>& burst) {
  const auto sent = bench.sent.begin() + kBlock;
  EXPECT_TRUE(std::equal(burst.begin(), burst.begin() + 9 * kBlock, sent));
  EXPECT_TRUE(std::equal(burst.begin() + 12 * kBlock, burst.end(), sent + 9 * kBlock));
  EXPECT_EQ(bench.all<TransmitFinished>().at(0).outcome, TransmitOutcome::underrun);
  EXPECT_EQ(bench.all<TransmitFinished>().at(0).at, sample_to_instant(2 * kBlock + burst.size()));
}

TEST(Radio, samples_lost_in_mid_burst_leave_a_hole_and_no_slip) {
  Bench bench(config());
  const TransmitBurst command = burst(1, sample_to_instant(2 * kBlock));
  bench.radio.on_command(command);
  bench.run(10);
  bench.radio.on_dropped(3 * kBlock);
  bench.run(300);
  expect_hole_and_no_slip(bench, modulated(command));
  EXPECT_EQ(bench.all<Fault>().at(0).kind, FaultKind::samples_dropped);
}

TEST(Radio, a_clock_found_behind_in_mid_burst_leaves_a_hole_and_no_slip) {
  Bench bench(config());
  const TransmitBurst command = burst(1, sample_to_instant(2 * kBlock));
  bench.radio.on_command(command);
  bench.run(10);
  bench.radio.on_clock_behind(3 * kBlock);
  bench.run(300);
  expect_hole_and_no_slip(bench, modulated(command));
}

TEST(Radio, a_burst_goes_on_where_it_was_behind_a_pause_of_the_device) {
  for (const bool in_lead : {false, true}) {
    Radio::Config with_lead = config();
    with_lead.ptt_lead = milliseconds(100);  // the lead has 5 blocks
    Bench bench(with_lead);
    const TransmitBurst command = burst(1, sample_to_instant(8 * kBlock));
    bench.radio.on_command(command);
    bench.run(in_lead ? 5 : 12);
    bench.radio.on_pause(1000 * kBlock);
    bench.run(200);
    const auto whole = modulated(command);
    EXPECT_TRUE(std::equal(whole.begin(), whole.end(), bench.sent.begin() + 7 * kBlock));
    const std::uint64_t began = 8 + (in_lead ? 1000 : 0);
    EXPECT_EQ(bench.all<TransmitStarted>().at(0).at, sample_to_instant(began * kBlock));
    EXPECT_EQ(bench.all<TransmitFinished>().at(0).outcome, TransmitOutcome::sent);
    EXPECT_EQ(bench.all<TransmitFinished>().at(0).at,
              sample_to_instant(1008 * kBlock + whole.size()));
    EXPECT_TRUE(bench.all<Fault>().empty());
  }
}

TEST(Radio, a_burst_that_was_to_begin_when_the_clock_stood_still_is_aborted) {
  // Ten blocks have passed, and 21 more passed unnoticed.
  for (const std::uint64_t block : {10ULL, 11ULL, 30ULL, 31ULL}) {
    SCOPED_TRACE(block);
    Bench bench(config());
    bench.radio.on_received(std::vector<float>(kBlock));
    for (int n = 0; n < 9; ++n) {
      bench.answer();
      bench.radio.on_received(std::vector<float>(kBlock));
    }
    bench.radio.on_command(burst(1, sample_to_instant(block * kBlock)));
    bench.radio.on_clock_behind(21 * kBlock);
    bench.answer();
    bench.run(3);
    if (block < 31) {
      EXPECT_TRUE(bench.all<TransmitStarted>().empty());
      EXPECT_EQ(bench.all<TransmitFinished>().at(0).outcome, TransmitOutcome::aborted);
      EXPECT_EQ(std::count(bench.key.begin(), bench.key.end(), true), 0);
    } else {
      EXPECT_EQ(bench.all<TransmitStarted>().at(0).at, sample_to_instant(31 * kBlock));
    }
  }
}

TEST(Radio, a_burst_that_is_taken_too_late_is_refused) {
  const Instant time = sample_to_instant(kBlock);
  for (const auto& [not_before, late, taken] : {std::tuple{time, kBurstLateMax, true},
                                                {time, kBurstLateMax + Duration(1), false},
                                                {Instant{}, 10 * kBurstLateMax, true}}) {
    Bench bench(config());
    bench.run(5);
    bench.radio.on_command(burst(1, not_before), time + late);
    bench.run(5);
    EXPECT_EQ(bench.all<TransmitStarted>().size(), taken ? 1U : 0U);
    EXPECT_EQ(bench.key.back(), taken);
    EXPECT_EQ(bench.all<Fault>().size(), taken ? 0U : 1U);
    if (taken) continue;
    EXPECT_EQ(bench.all<Fault>()[0].kind, FaultKind::command_refused);
  }
}

// The radio has heard and answered ten blocks. It makes the samples of block 11 next.
TEST(Radio, a_burst_that_was_to_begin_among_lost_samples_is_aborted) {
  for (const std::uint64_t lost :
       // A gap heard as silence, and one too long for that.
       {std::uint64_t{21}, std::uint64_t{100}}) {
    for (const std::uint64_t block : {std::uint64_t{11}, lost + 10, lost + 11}) {
      SCOPED_TRACE(block);
      Bench bench(config());
      bench.run(10);
      bench.radio.on_command(burst(1, sample_to_instant(block * kBlock)));
      bench.radio.on_dropped(lost * kBlock);
      bench.run(300);
      const bool begins = block == lost + 11;
      EXPECT_EQ(bench.all<TransmitStarted>().size(), begins ? 1U : 0U);
      EXPECT_EQ(bench.all<TransmitFinished>().at(0).outcome,
                begins ? TransmitOutcome::sent : TransmitOutcome::aborted);
      EXPECT_EQ(std::count(bench.key.begin(), bench.key.end(), true) > 0, begins);
    }
  }
}

TEST(Radio, a_burst_whose_beginning_is_lost_behind_its_lead_is_aborted_and_unkeyed) {
  Radio::Config with_lead = config();
  with_lead.ptt_lead = milliseconds(100);  // the lead has 5 blocks
  for (const std::uint64_t lost : {2ULL, 3ULL}) {
    Bench bench(with_lead);
    bench.run(10);
    bench.radio.on_command(burst(1, sample_to_instant(16 * kBlock)));
    bench.run(3);
    EXPECT_TRUE(bench.key.back());
    bench.radio.on_dropped(lost * kBlock);  // the lost blocks begin with block 14
    bench.run(3);
    EXPECT_EQ(bench.key.back(), lost == 2);
    EXPECT_EQ(bench.all<TransmitStarted>().size(), lost == 2 ? 1U : 0U);
  }
}

TEST(Radio, nothing_begins_with_samples_that_will_not_be_played) {
  for (const std::uint64_t block : {11ULL, 15ULL, 16ULL}) {
    SCOPED_TRACE(block);
    Bench bench(config());
    bench.run(10);
    bench.radio.on_command(burst(1, sample_to_instant(block * kBlock)));
    bench.radio.on_unplayable(5 * kBlock);
    bench.run(300);
    EXPECT_EQ(bench.all<TransmitFinished>().at(0).outcome,
              block == 16 ? TransmitOutcome::sent : TransmitOutcome::aborted);
  }
  Bench bench(config());
  bench.run(10);
  bench.radio.on_unplayable(5 * kBlock);
  bench.radio.on_command(burst(1));
  bench.radio.on_unplayable(0);
  bench.run(10);
  EXPECT_EQ(bench.all<TransmitStarted>().at(0).at, sample_to_instant(16 * kBlock));
}

TEST(Radio, late_samples_make_an_underrun_only_while_keyed) {
  Bench bench(config());
  bench.run(3);
  bench.radio.on_underrun(10);
  bench.run(1);
  EXPECT_TRUE(bench.events.empty());
  bench.radio.on_command(burst(1));
  bench.run(20);
  bench.radio.on_underrun(10);
  bench.radio.on_underrun(10);
  bench.run(300);
  EXPECT_EQ(bench.all<Fault>().size(), 1U);
  EXPECT_EQ(bench.all<TransmitFinished>().at(0).outcome, TransmitOutcome::underrun);
}

// This happens if the call that keys takes longer than the samples that lie ready.
TEST(Radio, late_samples_are_missing_in_a_burst_that_is_made_and_not_yet_keyed) {
  Radio::Config delayed = config();
  delayed.transmit_delay = 8 * kBlock;
  for (const bool made : {false, true}) {
    Bench bench(delayed);
    bench.radio.on_command(burst(1, sample_to_instant(20 * kBlock)));
    bench.run(made ? 12 : 11);  // after block n the samples of block n + 8 are made
    bench.radio.on_underrun(2000);
    EXPECT_FALSE(bench.key.back());
    bench.run(300);
    EXPECT_EQ(bench.all<Fault>().size(), made ? 1U : 0U);
    EXPECT_EQ(bench.all<TransmitFinished>().at(0).outcome,
              made ? TransmitOutcome::underrun : TransmitOutcome::sent);
  }
}

TEST(Radio, a_lost_device_ends_everything_and_bursts_are_refused_until_it_is_back) {
  Bench bench(config());
  bench.radio.on_command(burst(1));
  bench.run(20);
  bench.radio.on_device_lost("unplugged");
  bench.drain();
  EXPECT_EQ(bench.all<TransmitFinished>().at(0).outcome, TransmitOutcome::aborted);
  EXPECT_EQ(bench.all<Fault>().at(0).kind, FaultKind::device_lost);
  EXPECT_FALSE(bench.radio.key_wanted());
  bench.radio.on_command(burst(2));
  bench.drain();
  EXPECT_EQ(bench.all<Fault>().at(1).kind, FaultKind::command_refused);
  bench.radio.on_device_back();
  bench.radio.on_command(burst(3));
  bench.run(300);
  EXPECT_EQ(bench.all<TransmitFinished>().at(1).outcome, TransmitOutcome::sent);
}

TEST(Radio, a_key_that_fails_ends_the_burst) {
  Bench bench(config());
  bench.radio.on_command(burst(1));
  bench.run(20);
  bench.radio.on_key_failed("no answer");
  bench.run(2);
  EXPECT_EQ(bench.all<Fault>().at(0).kind, FaultKind::ptt_failed);
  EXPECT_EQ(bench.all<TransmitFinished>().at(0).outcome, TransmitOutcome::aborted);
  EXPECT_FALSE(bench.keyed.back());
}

// --- Receiving ---

/// Feeds a burst that begins at sample `first` of the radio's time line.
void hear(Bench& bench, const TransmitBurst& command, std::size_t silence) {
  std::vector<float> audio(silence);
  const auto samples = modulated(command);
  audio.insert(audio.end(), samples.begin(), samples.end());
  audio.resize((audio.size() / kBlock + 20) * kBlock);
  for (std::size_t at = 0; at < audio.size(); at += kBlock) {
    bench.tick(std::span(audio).subspan(at, kBlock));
  }
}

Bytes received_bytes(const Bench& bench) {
  Bytes bytes;
  for (const auto& part : bench.all<ReceivedBytes>()) append(bytes, part.bytes);
  return bytes;
}

TEST(Radio, a_burst_is_received_with_times_of_the_sample_clock) {
  Bench bench(config());
  bench.run(7);
  const std::uint64_t first = bench.radio.clock() + 1234;
  hear(bench, burst(1), 1234);
  EXPECT_EQ(received_bytes(bench), some_bytes(50));
  ASSERT_EQ(bench.all<CarrierUp>().size(), 1U);
  EXPECT_EQ(bench.all<CarrierUp>()[0].mode, kMode);
  ASSERT_EQ(bench.all<CarrierDown>().size(), 1U);
  EXPECT_EQ(bench.all<CarrierDown>()[0].reason, CarrierDownReason::end_of_message);
  const Instant began = sample_to_instant(first);
  const auto up = bench.all<CarrierUp>()[0].at - began;
  EXPECT_GT(up, milliseconds(0));
  EXPECT_LE(up, preamble_duration(kMode) + milliseconds(20));
  const auto first_bit = bench.all<ReceivedBytes>().at(0).first_bit_at - began;
  EXPECT_LT(std::chrono::abs(first_bit - preamble_duration(kMode)), milliseconds(2));
  const auto end = bench.all<CarrierDown>()[0].ended_at - began;
  EXPECT_LT(std::chrono::abs(end - airtime(kMode, 50)), milliseconds(2));
  for (std::size_t n = 1; n < bench.events.size(); ++n) {
    EXPECT_GE(at(bench.events[n]), at(bench.events[n - 1]));
  }
}

TEST(Radio, what_is_received_goes_on_when_the_clock_is_found_behind) {
  Bench bench(config());
  const auto heard = modulated(burst(1));
  constexpr std::uint64_t kBehind = 60 * kSampleRate;
  for (std::size_t at_sample = 0; at_sample < heard.size() + 20 * kBlock; at_sample += kBlock) {
    const std::size_t from = std::min(at_sample, heard.size());
    bench.tick(std::span(heard).subspan(from, std::min(kBlock, heard.size() - from)));
    if (at_sample == 20 * kBlock) bench.radio.on_clock_behind(kBehind);
  }
  EXPECT_EQ(received_bytes(bench), some_bytes(50));
  ASSERT_EQ(bench.all<CarrierDown>().size(), 1U);
  const auto end = bench.all<CarrierDown>()[0].ended_at - sample_to_instant(kBehind);
  EXPECT_LT(std::chrono::abs(end - airtime(kMode, 50)), milliseconds(2));
}

TEST(Radio, keying_in_mid_reception_loses_the_carrier_and_hearing_returns_afterwards) {
  Bench bench(config());
  const auto heard = modulated(burst(1));
  std::size_t at_sample = 0;
  while (bench.all<CarrierUp>().empty()) {
    ASSERT_LT(at_sample, heard.size());
    bench.tick(std::span(heard).subspan(at_sample, kBlock));
    at_sample += kBlock;
  }
  bench.radio.on_command(burst(2));
  bench.run(20);
  ASSERT_EQ(bench.all<CarrierDown>().size(), 1U);
  EXPECT_EQ(bench.all<CarrierDown>()[0].reason, CarrierDownReason::lost);
  EXPECT_LE(bench.all<CarrierDown>()[0].at, bench.all<TransmitStarted>().at(0).at);
  bench.run(200);
  ASSERT_EQ(bench.all<TransmitFinished>().size(), 1U);
  hear(bench, burst(3), 100);
  EXPECT_EQ(received_bytes(bench), some_bytes(50));
  EXPECT_EQ(bench.all<CarrierUp>().size(), 2U);
}

TEST(Radio, while_keyed_nothing_is_heard) {
  Bench bench(config());
  TransmitBurst longer = burst(1);
  longer.bytes = some_bytes(2000);
  bench.radio.on_command(longer);
  bench.run(2);
  hear(bench, burst(2), 0);
  EXPECT_TRUE(bench.all<CarrierUp>().empty());
}

TEST(Radio, in_full_duplex_a_burst_is_received_while_another_is_sent) {
  Radio::Config duplex = config();
  duplex.full_duplex = true;
  Bench bench(duplex);
  TransmitBurst longer = burst(1);
  longer.bytes = some_bytes(2000);
  bench.run(1);
  bench.radio.on_command(longer);
  hear(bench, burst(2), 100);
  EXPECT_EQ(received_bytes(bench), some_bytes(50));
  ASSERT_EQ(bench.all<CarrierDown>().size(), 1U);
  EXPECT_EQ(bench.all<CarrierDown>()[0].reason, CarrierDownReason::end_of_message);
  EXPECT_TRUE(bench.all<TransmitFinished>().empty());  // the whole burst was heard meanwhile
  bench.run(1000);
  ASSERT_EQ(bench.all<TransmitFinished>().size(), 1U);
  EXPECT_EQ(bench.all<TransmitFinished>()[0].outcome, TransmitOutcome::sent);
}

TEST(Radio, of_a_mode_that_is_not_listened_for_no_octets_come) {
  Bench bench(config());
  const Mode other{.rate_bps = 300, .interleaver = Interleaver::long_};
  bench.radio.on_command(SetReceiveModes{{other}});
  hear(bench, burst(1), 100);
  EXPECT_TRUE(bench.all<ReceivedBytes>().empty());
  bench.radio.on_command(SetReceiveModes{{other, kMode}});
  hear(bench, burst(1), 100);
  EXPECT_FALSE(bench.all<ReceivedBytes>().empty());
}

TEST(Radio, a_short_gap_is_a_fade_and_a_long_one_ends_the_burst) {
  for (const bool too_long : {false, true}) {
    SCOPED_TRACE(too_long);
    Radio::Config with_limit = config();
    with_limit.gap_samples_max = kBlock;
    Bench bench(with_limit);
    const auto heard = modulated(burst(1));
    std::size_t at_sample = 0;
    while (bench.all<CarrierUp>().empty()) {
      ASSERT_LT(at_sample, heard.size());
      bench.tick(std::span(heard).subspan(at_sample, kBlock));
      at_sample += kBlock;
    }
    bench.radio.on_dropped(too_long ? kBlock + 1 : kBlock);
    bench.drain();
    EXPECT_EQ(bench.all<CarrierDown>().size(), too_long ? 1U : 0U);
    EXPECT_EQ(bench.all<Fault>().size(), 1U);
  }
}

}  // namespace
}  // namespace s5066::modem
