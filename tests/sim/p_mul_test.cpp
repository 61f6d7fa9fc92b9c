// SPDX-License-Identifier: Apache-2.0
// Tests P_MUL nodes with each other: economy, and that no message is lost or delivered twice.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "tests/sim/p_mul_world.h"
#include "tests/support/sim_world.h"

namespace s5066 {
namespace {

using namespace std::chrono_literals;
using p_mul::Outcome;

struct Economy {
  double octets = 0;  // octets that the transmitter sent / octets of the message
  double acks = 0;
  std::uint64_t ack_collisions = 0;
};

/// Simulates one transmitter and eight receivers, each of which loses a fifth of all PDUs.
Economy to_eight(sim::Seed seed, bool coded, std::size_t octets) {
  sim::PMulOptions options{.nodes = 9, .loss = 0.2};
  options.core.sender.coded = coded;
  sim::PMulWorld world(seed, options);
  world.submit(0, {.to = {1, 2, 3, 4, 5, 6, 7, 8}, .octets = octets});
  world.run_for(12h);
  EXPECT_EQ(world.delivered(), 8u);
  EXPECT_EQ(world.faults(), "");
  const std::uint64_t sent = world.core(0).sender().counters()[p_mul::PMulSenderCounter::octets];
  return {static_cast<double>(sent) / static_cast<double>(octets),
          static_cast<double>(world.counts().acks), world.counts().ack_collisions};
}

// Goal:   with parity, the worst receiver alone decides how much is sent.
// Method: 300 kB to eight receivers, 100 seeds.
TEST(PMulEconomy, with_parity_eight_lossy_receivers_cost_at_most_1_35_times_the_message) {
  double sum = 0, most = 0, acks = 0;
  std::uint64_t collisions = 0;
  const auto seeds = sim::seeds(100);
  for (const sim::Seed seed : seeds) {
    SCOPED_TRACE("S5066_SEED=" + std::to_string(seed));
    const Economy run = to_eight(seed, true, 300'000);
    sum += run.octets;
    most = std::max(most, run.octets);
    acks += run.acks;
    collisions += run.ack_collisions;
  }
  const double mean = sum / static_cast<double>(seeds.size());
  std::printf("coded: mean %.3f, most %.3f, acks %.0f, collisions of acks %llu\n", mean, most, acks,
              static_cast<unsigned long long>(collisions));
  EXPECT_LE(mean, 1.35);
  // A node that heard none of the marks at the end of a round can only estimate when the round
  // ended, so a few acknowledgements collide.
  EXPECT_LE(static_cast<double>(collisions), 0.002 * acks);
}

// Goal:   plain repetition costs no more than its bound: if each of eight receivers loses a fifth,
//         a block is sent 2.19 times on average until the last receiver has it.
TEST(PMulEconomy, without_parity_eight_lossy_receivers_cost_what_repetition_must) {
  double bound = 0;
  for (double lost = 1; lost > 1e-9; lost *= 0.2) bound += 1 - std::pow(1 - lost, 8);
  double sum = 0;
  const auto seeds = sim::seeds(100);
  for (const sim::Seed seed : seeds) {
    SCOPED_TRACE("S5066_SEED=" + std::to_string(seed));
    sum += to_eight(seed, false, 300'000).octets;
  }
  const double mean = sum / static_cast<double>(seeds.size());
  std::printf("plain: mean %.3f, bound %.3f\n", mean, bound);
  EXPECT_LE(mean, 1.05 * bound);
}

// Goal:   every message is delivered exactly once or reported, whatever happens to either side.
// Method: messages both ways among three or four nodes; loss, duplication, reordering, failing
//         commits and power cuts at random moments for two hours, then no more faults.
//         commits and power cuts at random moments for two hours, then peace.
TEST(PMulFaults, every_message_is_delivered_once_or_reported) {
  std::size_t delivered = 0, expired = 0;
  for (const sim::Seed seed : sim::seeds(1000)) {
    SCOPED_TRACE("S5066_SEED=" + std::to_string(seed));
    Rng draw(seed * 7919);
    sim::PMulOptions options{.nodes = 3 + draw.below(2),
                             .loss = 0.4 * draw.uniform(),
                             .duplication = 0.3 * draw.uniform(),
                             .reordering = 0.3 * draw.uniform(),
                             .commit_failures = 0.2 * draw.uniform()};
    options.core.sender.coded = draw.chance(0.5);
    options.core.sender.block_octets = static_cast<std::uint16_t>(50 + draw.below(1900));
    options.core.sender.parity_ahead = draw.chance(0.5) ? 0.3 : 0;
    options.core.receiver.ranges = draw.chance(0.5);
    sim::PMulWorld world(seed, options);
    const auto messages = 1 + draw.below(6);
    for (std::uint32_t i = 0; i < messages; ++i) {
      const std::size_t from = draw.below(static_cast<std::uint32_t>(options.nodes));
      sim::PMulWorld::Message message{.to = {},
                                      .octets = draw.below(20000),
                                      .priority = static_cast<std::uint8_t>(draw.below(11))};
      for (std::size_t to = 0; to < options.nodes; ++to) {
        if (to != from && draw.chance(0.6)) message.to.push_back(to);
      }
      if (message.to.empty()) message.to.push_back(from == 0 ? 1 : 0);
      if (draw.chance(0.1)) message.lifetime = 10min;
      world.at(Instant(std::chrono::seconds(draw.below(3600))),
               [&world, from, message] { world.submit(from, message); });
    }
    const auto cuts = draw.below(5);
    for (std::uint32_t i = 0; i < cuts; ++i) {
      const std::size_t node = draw.below(static_cast<std::uint32_t>(options.nodes));
      world.at(Instant(std::chrono::milliseconds(draw.below(7'200'000))),
               [&world, node] { world.restart(node); });
    }
    world.run_for(2h);
    world.options().loss = world.options().duplication = world.options().reordering = 0;
    world.options().commit_failures = 0;
    world.run_for(30h);
    ASSERT_EQ(world.unreported(), 0u);
    ASSERT_EQ(world.faults(), "");
    delivered += world.delivered();
    for (std::size_t node = 0; node < options.nodes; ++node) {
      for (const auto& [which, outcome] : world.spool(node).outcomes) {
        expired += outcome.last == Outcome::expired;
      }
    }
  }
  std::printf("delivered %zu, expired %zu\n", delivered, expired);
  EXPECT_GT(delivered, 10 * expired);
}

}  // namespace
}  // namespace s5066
