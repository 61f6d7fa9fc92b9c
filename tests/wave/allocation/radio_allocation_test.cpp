// SPDX-License-Identifier: Apache-2.0
// Goal:   a radio on the air allocates only the octets of each ReceivedBytes, which belong to the
//         caller that polls it.
// Method: every allocation is counted while blocks go in and out.
#include <gtest/gtest.h>

#include "modem/worker/radio.h"
#include "modem/worker/rate_adapter.h"
#include "tests/wave/allocation/allocation_count.h"
#include "tests/wave/modem_rig.h"

namespace s5066::modem {
namespace {

constexpr std::size_t kBlock = 192;

struct Passed {
  std::size_t taken = 0;          // allocations
  std::size_t octets_events = 0;  // polled
  std::size_t other_events = 0;
};

Passed pass(Radio& radio, std::span<const float> samples) {
  Passed passed;
  std::array<float, kBlock> answer;
  test::AllocationCount count;
  for (std::size_t at = 0; at + kBlock <= samples.size(); at += kBlock) {
    radio.on_received(samples.subspan(at, kBlock));
    radio.fill(answer);
    while (const auto event = radio.poll_event()) {
      ++(std::holds_alternative<ReceivedBytes>(*event) ? passed.octets_events
                                                       : passed.other_events);
    }
  }
  passed.taken = count.stop();
  if (passed.taken > passed.octets_events) count.print_stacks();
  return passed;
}

TEST(RadioAllocation, turns_of_a_link_cost_only_the_octets_handed_over) {
  Radio radio({.block_samples = kBlock, .keyed_max = std::chrono::seconds(10)});
  Tape theirs;
  theirs.silence(0.2).burst(mode_of("110a-2400-short"), random_octets(600, 1));
  theirs.silence(0.5).noise(20, 2);
  Tape silence;
  silence.silence(3).noise(20, 3);
  for (std::uint64_t turn = 1; turn <= 4; ++turn) {
    const Passed heard = pass(radio, theirs.samples());
    EXPECT_GT(heard.octets_events, 2u);
    EXPECT_EQ(heard.other_events, 4u);  // occupied, carrier up, carrier down, free
    EXPECT_EQ(heard.taken, heard.octets_events);

    radio.on_command(TransmitBurst{.id = {turn},
                                   .mode = mode_of("110a-2400-short"),
                                   .bytes = random_octets(200, turn),
                                   .not_before = {}});
    const Passed sent = pass(radio, silence.samples());
    EXPECT_EQ(sent.other_events, 2u);  // transmission started, transmission ended
    EXPECT_EQ(sent.taken, 0u);
  }
}

TEST(RateAdapterAllocation, no_rate_costs_any) {
  for (const unsigned rate_hz : {8000U, 9600U, 16000U, 44100U, 48000U}) {
    const std::size_t block = rate_hz / 50;
    auto adapter = RateAdapter::create(rate_hz, block);
    ASSERT_TRUE(adapter);
    const std::vector<float> in(block, 0.25F);
    std::vector<float> out(block);
    test::AllocationCount count;
    for (unsigned i = 0; i < 3000; ++i) adapter->to_device(adapter->to_modem(in), out);
    EXPECT_EQ(count.stop(), 0u) << rate_hz;
  }
}

}  // namespace
}  // namespace s5066::modem
