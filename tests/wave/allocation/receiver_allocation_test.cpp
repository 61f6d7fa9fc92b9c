// SPDX-License-Identifier: Apache-2.0
// Goal:   a receiver allocates nothing after its construction.
// Method: every allocation is counted while it hears noise and speech, and while it receives,
//         loses, joins late and gives up bursts. A burst that exceeds the receiver's memory ends in
//         an assert, so bursts of every mode are among them.
#include <gtest/gtest.h>

#include <algorithm>

#include "modem/waveforms/ms110d/parameters.h"
#include "tests/wave/allocation/allocation_count.h"
#include "tests/wave/modem_rig.h"

namespace s5066::modem {
namespace {

/// The length of a portion is odd, so that portions end at any place of a frame.
constexpr std::size_t kPortion = 311;

struct Heard {
  std::size_t bursts = 0;
  std::size_t octets = 0;
  std::size_t ended = 0;
  std::size_t lost = 0;
};

// Counts the receiver's events and discards them, like a caller that allocates nothing.
Heard hear(BurstReceiver& receiver, std::span<const float> samples) {
  Heard heard;
  for (std::size_t at = 0; at < samples.size(); at += kPortion) {
    receiver.process(samples.subspan(at, std::min(kPortion, samples.size() - at)));
    while (const auto event = receiver.poll_event()) {
      heard.bursts += std::holds_alternative<BurstAcquired>(*event) ? 1 : 0;
      if (const auto* bytes = std::get_if<BurstBytes>(&*event)) heard.octets += bytes->bytes.size();
      if (const auto* ended = std::get_if<BurstEnded>(&*event)) {
        ++heard.ended;
        heard.lost += ended->reason == CarrierDownReason::lost ? 1 : 0;
      }
    }
  }
  return heard;
}

Heard hear_without_allocation(BurstReceiver& receiver, Tape& tape, const std::string& what) {
  test::AllocationCount count;
  const Heard heard = hear(receiver, tape.samples());
  const std::size_t taken = count.stop();
  EXPECT_EQ(taken, 0u) << what;
  if (taken > 0) count.print_stacks();
  return heard;
}

TEST(ReceiverAllocation, the_count_counts) {
  const test::AllocationCount count;
  const auto one = std::make_unique<int>(1);
  EXPECT_EQ(count.taken(), 1u);
  const std::vector<double> two(*one + 1);
  EXPECT_EQ(count.taken(), 2u);
}

TEST(ReceiverAllocation, noise_costs_none) {
  BurstReceiver receiver({.modes = {all_modes().begin(), all_modes().end()}});
  Tape tape;
  tape.silence(1);
  tape.noise(0, 1);
  tape.silence(120).noise(10, 2);
  hear_without_allocation(receiver, tape, "noise");
  EXPECT_GT(receiver.counters()[ReceiverCounter::preambles_refused],
            0u);  // the receiver has read preambles
}

TEST(ReceiverAllocation, speech_costs_none) {
  BurstReceiver receiver;
  Tape tape;
  tape.samples() = speech_like(60, 3);
  hear_without_allocation(receiver, tape, "speech");
  EXPECT_GT(receiver.counters()[ReceiverCounter::preambles_refused], 0u);
}

// Each burst is the first of its mode, in a receiver that has heard nothing before.
void expect_bursts_cost_none(Waveform waveform) {
  for (const Mode& mode : all_modes()) {
    if (mode.waveform != waveform) continue;
    std::vector<Mode> modes;
    if (must_be_told(mode)) modes = {mode};
    BurstReceiver receiver({.modes = modes});
    const Bytes octets = random_octets(mode.rate_bps / 8 + 20, 1);
    Tape tape;
    tape.silence(0.3).burst(mode, octets);
    tape.silence(0.5).noise(30, 1);
    const Heard heard = hear_without_allocation(receiver, tape, to_string(mode));
    EXPECT_EQ(heard.octets, octets.size()) << to_string(mode);
    EXPECT_EQ(heard.ended, 1u) << to_string(mode);
  }
}

TEST(ReceiverAllocation, bursts_of_110a_cost_none) {
  expect_bursts_cost_none(Waveform::ms110a);
}
TEST(ReceiverAllocation, bursts_of_4539_cost_none) {
  expect_bursts_cost_none(Waveform::stanag4539);
}
TEST(ReceiverAllocation, bursts_of_4285_cost_none) {
  expect_bursts_cost_none(Waveform::stanag4285);
}
TEST(ReceiverAllocation, bursts_of_110d_cost_none) {
  expect_bursts_cost_none(Waveform::ms110d);
}

TEST(ReceiverAllocation, bursts_of_110d_with_constraint_length_7_cost_none) {
  for (const Mode& mode : all_modes()) {
    if (mode.waveform != Waveform::ms110d) continue;
    BurstReceiver receiver;
    const Bytes octets = random_octets(mode.rate_bps / 8 + 20, 1);
    Tape tape;
    tape.silence(0.3).burst(ms110d::symbols(ms110d::parameters(mode, 7), octets));
    tape.silence(0.5).noise(30, 1);
    const Heard heard = hear_without_allocation(receiver, tape, to_string(mode));
    EXPECT_EQ(heard.octets, octets.size()) << to_string(mode);
    EXPECT_EQ(heard.ended, 1u) << to_string(mode);
  }
}

// One receiver hears many bursts; it reuses the memory of one for the next.
TEST(ReceiverAllocation, bursts_one_after_the_other_and_over_each_other_cost_none) {
  BurstReceiver receiver;
  Tape tape;
  for (std::uint64_t i = 0; i < 12; ++i) {
    const Mode mode = mode_of(i % 3 == 0   ? "110d-16000-l"
                              : i % 3 == 1 ? "4539-9600-vl"
                                           : "110a-75-short");
    tape.silence(0.2).burst(mode, random_octets(50, i));
    if (i % 2 == 0) tape.samples().resize(tape.size() - kSampleRate * 2U);  // cuts the burst off
  }
  tape.silence(3).noise(30, 1);
  const Heard heard = hear_without_allocation(receiver, tape, "one after the other");
  EXPECT_EQ(heard.bursts, 12u);
  EXPECT_EQ(heard.ended, 12u);
}

TEST(ReceiverAllocation, a_burst_in_fading_that_is_lost_costs_none) {
  for (const char* text : {"110a-600-long", "110a-75-short", "4539-3200-s", "110d-1200-m"}) {
    BurstReceiver receiver;
    Tape tape;
    const Mode mode = mode_of(text);
    tape.silence(0.3).burst(mode, random_octets(mode.rate_bps, 2));
    tape.through({.paths = {{.spread_hz = 1}, {.delay_ms = 2, .spread_hz = 1}}}, 3);
    tape.samples().resize(tape.size() * 3 / 4);
    tape.silence(8).noise(12, 4);
    const Heard heard = hear_without_allocation(receiver, tape, text);
    EXPECT_EQ(heard.bursts, 1u) << text;
    EXPECT_EQ(heard.lost, 1u) << text;
  }
}

TEST(ReceiverAllocation, a_burst_entered_late_costs_none) {
  BurstReceiver receiver;
  Tape tape;
  tape.burst(mode_of("4539-6400-m"), random_octets(6400 / 8 * 22, 5));
  tape.samples().erase(tape.samples().begin(), tape.samples().begin() + 4 * kSampleRate);
  tape.silence(1).noise(25, 6);
  const Heard heard = hear_without_allocation(receiver, tape, "late");
  EXPECT_EQ(receiver.counters()[ReceiverCounter::bursts_joined], 1u);
  EXPECT_GT(heard.octets, 6400u / 8 * 5);
}

TEST(ReceiverAllocation, events_that_nobody_fetches_cost_none) {
  BurstReceiver receiver({.modes = {}, .events_max = 4});
  Tape tape;
  tape.burst(mode_of("110a-2400-short"), random_octets(2400, 7));
  tape.silence(0.5);
  test::AllocationCount count;
  receiver.process(tape.samples());
  EXPECT_EQ(count.stop(), 0u);
  EXPECT_GT(receiver.counters()[ReceiverCounter::events_dropped], 0u);
}

}  // namespace
}  // namespace s5066::modem
