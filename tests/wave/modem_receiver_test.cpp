// SPDX-License-Identifier: Apache-2.0
// Tests the receiver as a stream: portions, order of bursts, signals that are not bursts, samples
// that are not audio.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "modem/api/airtime.h"
#include "modem/waveforms/framed/constellation.h"
#include "modem/waveforms/ms110a/parameters.h"
#include "modem/waveforms/ms110a/symbols.h"
#include "tests/wave/modem_rig.h"

namespace s5066::modem {
namespace {

const Mode kShort2400{Waveform::ms110a, 2400, Interleaver::short_};
const Mode kShort1200{Waveform::ms110a, 1200, Interleaver::short_};
const Mode kShort300{Waveform::ms110a, 300, Interleaver::short_};
const Mode kLong2400{Waveform::ms110a, 2400, Interleaver::long_};

// Returns all fields of an event as one text.
std::string describe(const BurstEvent& event) {
  if (const auto* e = std::get_if<BurstAcquired>(&event)) {
    return "acquired " + std::to_string(e->at_sample) + to_string(e->mode) +
           std::to_string(e->snr_db) + " " + std::to_string(e->offset_hz);
  }
  if (const auto* e = std::get_if<BurstBytes>(&event)) {
    return "bytes " + std::to_string(e->at_sample) + " " + std::to_string(e->first_bit_sample) +
           to_hex(e->bytes) + std::to_string(e->soft_quality);
  }
  const auto& e = std::get<BurstEnded>(event);
  return "ended " + std::to_string(e.at_sample) + " " + std::to_string(e.ended_sample) + " " +
         std::to_string(static_cast<int>(e.reason));
}

std::vector<std::string> events_of(std::span<const float> samples, std::size_t portion_max,
                                   std::uint64_t seed) {
  BurstReceiver receiver;
  Rng rng(seed);
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < samples.size();) {
    const std::size_t wanted = 1 + rng.below(static_cast<std::uint32_t>(portion_max));
    const std::size_t count = std::min(wanted, samples.size() - at);
    receiver.process(samples.subspan(at, count));
    while (const auto event = receiver.poll_event()) texts.push_back(describe(*event));
    at += count;
  }
  return texts;
}

TEST(ModemReceiver, events_do_not_depend_on_how_samples_are_portioned) {
  Tape tape;
  tape.silence(0.31).burst(kShort1200, random_octets(150, 1));
  tape.silence(0.2).burst(kShort2400, random_octets(500, 2));
  tape.silence(3).noise(9, 3);
  const auto whole = events_of(tape.samples(), 100 * kSampleRate, 1);
  ASSERT_GE(whole.size(), 6u);
  EXPECT_EQ(events_of(tape.samples(), 1, 1), whole);
  EXPECT_EQ(events_of(tape.samples(), 100, 2), whole);
  EXPECT_EQ(events_of(tape.samples(), 5000, 3), whole);
}

TEST(ModemReceiver, events_come_in_order_of_time) {
  Tape tape;
  for (std::uint64_t i = 0; i < 5; ++i) {
    tape.silence(0.05).burst(all_modes()[i], random_octets(40, i));
  }
  tape.silence(1).noise(15, 3);
  BurstReceiver receiver;
  receiver.process(tape.samples());
  std::uint64_t last = 0;
  while (const auto event = receiver.poll_event()) {
    const auto at = std::visit([](const auto& e) { return e.at_sample; }, *event);
    EXPECT_GE(at, last);
    last = at;
  }
  EXPECT_LE(last, tape.size());
  EXPECT_FALSE(receiver.busy());
}

TEST(ModemReceiver, noise_alone_is_never_a_burst) {
  BurstReceiver receiver;
  channel::Awgn noise(0.3, Rng(77));
  Listener listener;
  for (int second = 0; second < 1800; ++second) {
    std::vector<float> samples(kSampleRate, 0.0F);
    noise.process(samples);
    receiver.process(samples);
    listener.drain(receiver);
  }
  EXPECT_TRUE(listener.bursts().empty());
  EXPECT_EQ(listener.unexpected(), 0u);
}

TEST(ModemReceiver, a_steady_tone_and_silence_are_never_a_burst) {
  for (const double frequency : {0.0, 600.0, 1800.0, 1875.0, 3000.0}) {
    std::vector<float> samples(60 * kSampleRate);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const double angle = 2 * std::numbers::pi * frequency * static_cast<double>(i) / kSampleRate;
      samples[i] = static_cast<float>(0.5 * std::sin(angle));
    }
    BurstReceiver receiver;
    EXPECT_TRUE(listen(receiver, samples).empty()) << frequency;
  }
}

TEST(ModemReceiver, bursts_without_a_pause_are_all_heard) {
  const std::vector<Mode> modes = {kShort2400, kShort300, kLong2400, kShort2400, kShort1200};
  Tape tape;
  tape.silence(0.2);
  for (std::size_t i = 0; i < modes.size(); ++i) tape.burst(modes[i], random_octets(90, i));
  const auto bursts = listen(tape.silence(0.5).noise(14, 1));
  ASSERT_EQ(bursts.size(), modes.size());
  for (std::size_t i = 0; i < modes.size(); ++i) {
    EXPECT_EQ(bursts[i].acquired.mode, modes[i]);
    EXPECT_EQ(bursts[i].octets(), random_octets(90, i));
    ASSERT_TRUE(bursts[i].ended);
    EXPECT_EQ(bursts[i].ended->reason, CarrierDownReason::end_of_message);
  }
}

TEST(ModemReceiver, level_plays_no_part_from_one_burst_to_the_next) {
  const std::vector<float> gains = {0.01F, 1.0F, 0.001F, 1.0F, 0.03F};
  Tape tape;
  tape.silence(0.2);
  for (std::size_t i = 0; i < gains.size(); ++i) {
    tape.burst(kShort2400, random_octets(120, i), gains[i]);
    tape.silence(0.1);
  }
  const auto bursts = listen(tape.silence(0.5).noise(75, 1));
  ASSERT_EQ(bursts.size(), gains.size());
  for (std::size_t i = 0; i < gains.size(); ++i) {
    EXPECT_EQ(bursts[i].octets(), random_octets(120, i)) << gains[i];
  }
}

TEST(ModemReceiver, octets_arrive_block_by_block_while_the_burst_goes_on) {
  const Bytes octets = random_octets(1000, 4);
  Tape tape;
  const auto start = tape.silence(0.2).burst(kShort2400, octets);
  const auto bursts = listen(tape.silence(0.5));
  ASSERT_EQ(bursts.size(), 1u);
  const auto& portions = bursts[0].portions;
  ASSERT_EQ(portions.size(), 6u);
  // The limit covers the preamble, one block, and some milliseconds for the filters.
  EXPECT_LT(portions[0].at_sample, start + kSampleRate * 1250U / 1000);
  for (std::size_t i = 1; i < portions.size(); ++i) {
    EXPECT_EQ(portions[i].at_sample - portions[i - 1].at_sample, 0.6 * kSampleRate);
  }
}

// If the tail of the mark falls into the next block, no part of the mark may be delivered as data.
TEST(ModemReceiver, the_end_mark_is_found_wherever_it_falls) {
  for (std::size_t count = 140; count <= 185; ++count) {
    const Bytes octets = random_octets(count, count);
    Tape tape;
    tape.silence(0.1).burst(kShort2400, octets);
    const auto end = tape.size();
    const auto bursts = listen(tape.silence(0.2));
    ASSERT_EQ(bursts.size(), 1u);
    EXPECT_EQ(bursts[0].octets(), octets) << count;
    ASSERT_TRUE(bursts[0].ended);
    EXPECT_NEAR(static_cast<double>(bursts[0].ended->ended_sample), static_cast<double>(end), 2);
  }
}

// --- Bursts that go wrong ------------------------------------------------------------------------

TEST(ModemReceiver, a_preamble_with_nothing_behind_it_is_given_up) {
  Tape tape;
  tape.silence(0.2).burst(kShort2400, random_octets(500, 1));
  tape.samples().resize(tape.size() - static_cast<std::size_t>(1.8 * kSampleRate));
  const auto cut = tape.size();
  tape.silence(8).noise(12, 2);
  const auto bursts = listen(tape);
  ASSERT_EQ(bursts.size(), 1u);
  ASSERT_TRUE(bursts[0].ended);
  EXPECT_EQ(bursts[0].ended->reason, CarrierDownReason::lost);
  EXPECT_LT(bursts[0].ended->at_sample, cut + 5 * kSampleRate);
  EXPECT_NEAR(static_cast<double>(bursts[0].ended->ended_sample), static_cast<double>(cut),
              0.3 * kSampleRate);
}

TEST(ModemReceiver, a_burst_cut_off_in_silence_is_given_up) {
  Tape tape;
  tape.silence(0.2).burst(kShort1200, random_octets(2000, 1));
  tape.samples().resize(tape.size() / 2);
  const auto bursts = listen(tape.silence(8));
  ASSERT_EQ(bursts.size(), 1u);
  ASSERT_TRUE(bursts[0].ended);
  EXPECT_EQ(bursts[0].ended->reason, CarrierDownReason::lost);
}

TEST(ModemReceiver, what_follows_a_burst_that_was_cut_off_is_not_delivered) {
  const Bytes octets = random_octets(4000, 1);
  for (const Mode& mode : {kShort1200, kShort2400, kLong2400}) {
    for (const double snr_db : {60.0, 12.0}) {
      Tape tape;
      const auto start = tape.silence(0.2).burst(mode, octets);
      const auto cut = start + kSampleRate * 122U / 10;  // cuts the burst in mid-block
      tape.samples().resize(cut);
      const auto bursts = listen(tape.silence(12).noise(snr_db, 2));
      ASSERT_EQ(bursts.size(), 1u);
      ASSERT_TRUE(bursts[0].ended);
      EXPECT_EQ(bursts[0].ended->reason, CarrierDownReason::lost);
      // All blocks that were sent whole arrive and no more, except for the bits that the decoder
      // does not give out before it has seen later ones.
      constexpr std::size_t kKeptBackMax = 12;
      const auto sent = std::chrono::nanoseconds((cut - start) * 1'000'000'000 / kSampleRate) -
                        preamble_duration(mode);
      const auto blocks = static_cast<std::size_t>(sent / data_duration_of_blocks(mode, 1));
      const Bytes heard = bursts[0].octets();
      EXPECT_GE(heard.size() + kKeptBackMax, blocks * block_bits(mode) / 8) << to_string(mode);
      EXPECT_LE(heard.size(), blocks * block_bits(mode) / 8) << to_string(mode);
      EXPECT_EQ(
          bit_errors(heard, Bytes(octets.begin(),
                                  octets.begin() + static_cast<std::ptrdiff_t>(heard.size()))),
          0u);
    }
  }
}

TEST(ModemReceiver, a_fade_of_half_a_second_does_not_end_a_burst) {
  const Bytes octets = random_octets(3000, 1);
  Tape tape;
  const auto start = tape.silence(0.2).burst(kShort2400, octets);
  const auto from = start + 4 * kSampleRate;
  for (std::size_t i = from; i < from + kSampleRate / 2; ++i) tape.samples()[i] *= 0.001F;
  const auto bursts = listen(tape.silence(0.5).noise(20, 2));
  ASSERT_EQ(bursts.size(), 1u);
  ASSERT_TRUE(bursts[0].ended);
  EXPECT_EQ(bursts[0].ended->reason, CarrierDownReason::end_of_message);
  EXPECT_EQ(bursts[0].octets().size(), octets.size());
  EXPECT_LT(bit_errors(bursts[0].octets(), octets), 2 * 1440u);
}

TEST(ModemReceiver, a_new_preamble_replaces_a_burst_that_stopped_in_the_middle) {
  const Bytes octets = random_octets(200, 5);
  for (const double pause : {0.0, 0.15, 0.6}) {
    Tape tape;
    tape.silence(0.2).burst(kShort2400, random_octets(2000, 1));
    tape.samples().resize(static_cast<std::size_t>(3.037 * kSampleRate));
    tape.silence(pause).burst(kShort1200, octets);
    const auto bursts = listen(tape.silence(0.5).noise(15, 2));
    ASSERT_EQ(bursts.size(), 2u) << pause;
    ASSERT_TRUE(bursts[0].ended);
    EXPECT_EQ(bursts[0].ended->reason, CarrierDownReason::replaced) << pause;
    EXPECT_EQ(bursts[1].octets(), octets) << pause;
  }
}

// --- The announcement of the preamble ------------------------------------------------------------

// Returns as audio a transmission whose preamble carries this pair.
std::vector<float> announcing(std::uint8_t d1, std::uint8_t d2) {
  std::vector<std::uint8_t> tribits;
  for (unsigned count = 3; count-- > 0;) {
    const auto segment = ms110a::preamble_segment(d1, d2, count);
    tribits.insert(tribits.end(), segment.begin(), segment.end());
  }
  for (int i = 0; i < 4800; ++i) tribits.push_back(static_cast<std::uint8_t>(i * i % 8));
  std::vector<float> samples(kSampleRate / 2, 0.0F);
  // Rectangular pulses suffice, because the receiver estimates the pulse shape.
  for (const std::uint8_t tribit : tribits) {
    for (int i = 0; i < 4; ++i) {
      const double angle =
          2 * std::numbers::pi * 1800 * static_cast<double>(samples.size()) / kSampleRate;
      const auto turn = std::complex<float>(std::polar(0.3, angle));
      samples.push_back((framed::phase(tribit) * turn).real());
    }
  }
  samples.resize(samples.size() + kSampleRate, 0.0F);
  return samples;
}

TEST(ModemReceiver, only_pairs_of_modes_we_know_synchronise) {
  for (std::uint8_t d1 = 0; d1 < 8; ++d1) {
    for (std::uint8_t d2 = 0; d2 < 8; ++d2) {
      BurstReceiver receiver;
      const auto bursts = listen(receiver, announcing(d1, d2));
      const auto mode = ms110a::mode_announced(d1, d2);
      ASSERT_EQ(bursts.size(),
                mode && mode->interleaver == Interleaver::short_ ? 1u : bursts.size());
      // The rest may be detected as traffic, but no data is decoded from it.
      for (const HeardBurst& burst : bursts) {
        if (mode) {
          EXPECT_EQ(burst.acquired.mode, *mode);
        } else {
          EXPECT_TRUE(burst.portions.empty()) << int{d1} << ' ' << int{d2};
        }
      }
    }
  }
}

TEST(ModemReceiver, modes_that_are_not_wanted_are_ignored) {
  Tape tape;
  tape.silence(0.2).burst(kShort2400, random_octets(100, 1));
  tape.silence(0.2).burst(kShort300, random_octets(30, 2));
  tape.silence(0.5);
  BurstReceiver receiver({.modes = {kShort300}});
  const auto only = listen(receiver, tape.samples());
  ASSERT_FALSE(only.empty());
  EXPECT_EQ(only.back().octets(), random_octets(30, 2));
  // The channel still counts as busy because of the other transmission.
  for (std::size_t i = 0; i + 1 < only.size(); ++i) EXPECT_TRUE(only[i].portions.empty());
  EXPECT_GE(receiver.counters()[ReceiverCounter::preambles_refused], 1u);
  receiver.set_modes({});
  EXPECT_EQ(listen(receiver, tape.samples()).size(), 2u);
}

TEST(ModemReceiver, a_burst_can_be_joined_in_the_middle_of_its_preamble) {
  const Bytes octets = random_octets(100, 3);
  for (const double missed : {0.1, 0.25, 1.33, 4.0}) {
    Tape tape;
    tape.burst(kLong2400, octets);
    tape.silence(0.5);
    auto& samples = tape.samples();
    samples.erase(samples.begin(),
                  samples.begin() + static_cast<std::ptrdiff_t>(missed * kSampleRate));
    const auto bursts = listen(tape.noise(12, 4));
    ASSERT_EQ(bursts.size(), 1u) << missed;
    EXPECT_EQ(bursts[0].octets(), octets) << missed;
  }
}

// Noise sometimes looks more like a preamble than one segment of it does.
TEST(ModemReceiver, a_preamble_near_the_noise_is_read_to_its_end) {
  const Mode mode = mode_of("110a-75-long");
  unsigned heard = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Tape tape;
    tape.silence(0.5).burst(mode, random_octets(4, seed));
    tape.silence(1).noise(-11, seed);
    heard += listen(tape).empty() ? 0 : 1;
  }
  EXPECT_GE(heard, 57U);
}

// --- Samples that are not audio ------------------------------------------------------------------

TEST(ModemReceiver, samples_that_are_no_numbers_are_counted_and_passed_over) {
  const Bytes octets = random_octets(200, 6);
  Tape tape;
  const auto start = tape.silence(0.3).burst(kShort1200, octets);
  tape.silence(0.5);
  auto& samples = tape.samples();
  samples[10] = std::numeric_limits<float>::quiet_NaN();
  samples[11] = std::numeric_limits<float>::infinity();
  samples[12] = -std::numeric_limits<float>::infinity();
  samples[13] = 1e30F;
  samples[start + 15000] = std::numeric_limits<float>::quiet_NaN();
  BurstReceiver receiver;
  const auto bursts = listen(receiver, samples);
  ASSERT_EQ(bursts.size(), 1u);
  EXPECT_EQ(bursts[0].octets(), octets);
  EXPECT_EQ(receiver.counters()[ReceiverCounter::samples_sanitized], 5u);
}

TEST(ModemReceiver, constant_offset_and_clipping_do_little_harm) {
  const Bytes octets = random_octets(300, 7);
  Tape tape;
  tape.silence(0.3).burst(kShort1200, octets, 2.0F);
  tape.silence(0.5).noise(20, 1);
  for (float& x : tape.samples()) x = std::clamp(x + 0.2F, -0.6F, 0.6F);
  const auto bursts = listen(tape);
  ASSERT_EQ(bursts.size(), 1u);
  EXPECT_EQ(bursts[0].octets(), octets);
}

TEST(ModemReceiver, wild_input_breaks_nothing_for_the_burst_after_it) {
  Rng rng(12);
  Tape tape;
  for (int i = 0; i < 40; ++i) {
    const double scale = std::pow(10.0, 12 * rng.uniform() - 6);
    const bool square = rng.chance(0.3);
    for (int n = 0; n < 2000; ++n) {
      const double value = square ? (n / 7 % 2 ? 1 : -1) : rng.gaussian();
      tape.samples().push_back(static_cast<float>(scale * value));
    }
  }
  const Bytes octets = random_octets(100, 8);
  tape.silence(3).burst(kShort2400, octets);
  const auto bursts = listen(tape.silence(0.5));
  ASSERT_FALSE(bursts.empty());
  EXPECT_EQ(bursts.back().octets(), octets);
}

// The receiver is interrupted in a preamble, in data, in a transmission joined late, and in noise.
TEST(ModemReceiver, begins_anew_as_if_it_had_just_been_made) {
  Tape after;
  after.silence(0.3).burst(kShort2400, random_octets(100, 1));
  after.silence(0.4).burst(mode_of("4539-3200-vs"), random_octets(200, 2));
  after.silence(0.4).noise(14, 3);
  const auto all = std::vector<Mode>(all_modes().begin(), all_modes().end());
  const auto heard_by = [&](BurstReceiver& receiver) {
    std::vector<std::string> texts;
    const ReceiverCounters before = receiver.counters();
    const auto count = [&](ReceiverCounter counter) {
      return std::to_string(receiver.counters()[counter] - before[counter]);
    };
    receiver.process(after.samples());
    while (const auto event = receiver.poll_event()) texts.push_back(describe(*event));
    texts.push_back(count(ReceiverCounter::preambles_refused) + " refused of " +
                    count(ReceiverCounter::samples));
    return texts;
  };
  BurstReceiver fresh({.modes = all});
  const auto expected = heard_by(fresh);
  ASSERT_GE(expected.size(), 7u);
  BurstReceiver receiver({.modes = all});
  for (const char* text : {"110a-2400-short", "4539-6400-m", "4285-1200-short", "110d-75-s"}) {
    for (const double cut_s : {0.3, 0.9, 3.0, 7.3}) {
      Tape before;
      before.burst(mode_of(text), random_octets(mode_of(text).rate_bps, 4));
      before.samples().resize(static_cast<std::size_t>(cut_s * kSampleRate));
      before.noise(14, 5);
      receiver.process(before.samples());
      receiver.restart();
      EXPECT_FALSE(receiver.busy());
      ASSERT_EQ(heard_by(receiver), expected) << text << ' ' << cut_s;
      receiver.restart();
    }
  }
}

TEST(ModemReceiver, events_nobody_fetches_are_bounded_and_counted) {
  Tape tape;
  for (std::uint64_t i = 0; i < 4; ++i) tape.silence(0.1).burst(kShort2400, random_octets(9, i));
  tape.silence(0.5);
  BurstReceiver receiver({.modes = {}, .events_max = 5});
  receiver.process(tape.samples());
  EXPECT_EQ(receiver.counters()[ReceiverCounter::events_dropped], 4u * 3 - 5);
  unsigned left = 0;
  while (receiver.poll_event()) ++left;
  EXPECT_EQ(left, 5u);
}

// At 16000 bit/s the minimum buffer is full after 98 s: it holds the last blocks whole and drops
// older ones.
TEST(ModemReceiver, octets_nobody_fetches_are_bounded_and_the_newest_stay) {
  const Mode mode = mode_of("110d-16000-s");
  const Bytes octets = random_octets(205'000, 9);
  Tape tape;
  tape.burst(mode, octets);
  tape.silence(0.5);
  BurstReceiver receiver({.modes = {}, .octets_max = BurstReceiver::kOctetsLeast});
  receiver.process(tape.samples());
  EXPECT_GT(receiver.counters()[ReceiverCounter::events_dropped], 0u);
  Bytes got;
  while (const auto event = receiver.poll_event()) {
    ASSERT_FALSE(std::holds_alternative<BurstAcquired>(*event));
    if (const auto* bytes = std::get_if<BurstBytes>(&*event)) append(got, bytes->bytes);
  }
  const std::size_t block = 4 * 360 * 8 * 8 / 9 / 8;
  EXPECT_LE(got.size(), BurstReceiver::kOctetsLeast);
  EXPECT_GT(got.size(), BurstReceiver::kOctetsLeast - 2 * block);
  EXPECT_TRUE(std::equal(got.rbegin(), got.rend(), octets.rbegin()));
}

}  // namespace
}  // namespace s5066::modem
