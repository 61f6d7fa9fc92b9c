// Goal:   a receiver that listens takes nothing from the heap once it has been made.
// Method: every allocation is counted while it hears noise, and what it takes for a preamble at
// first.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/wave/allocation/allocation_count.h"
#include "tests/wave/modem_rig.h"

namespace s5066::modem {
namespace {

/// An odd number, so that portions end anywhere.
constexpr std::size_t kPortion = 311;

struct Heard {
  std::size_t bursts = 0;
  std::size_t octets = 0;
  std::size_t ended = 0;
  std::size_t lost = 0;
};

// Whatever the receiver says is looked at and forgotten, as a caller does who wants no memory.
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
  EXPECT_GT(receiver.stats().preambles_refused, 0u);  // or nothing was read
}

TEST(ReceiverAllocation, speech_costs_none) {
  BurstReceiver receiver;
  Tape tape;
  tape.samples() = speech_like(60, 3);
  hear_without_allocation(receiver, tape, "speech");
  EXPECT_GT(receiver.stats().preambles_refused, 0u);
}

}  // namespace
}  // namespace s5066::modem
