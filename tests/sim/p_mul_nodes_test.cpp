// SPDX-License-Identifier: Apache-2.0
// Tests P_MUL over whole nodes: the share of the line that it uses, and that messages arrive.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/sim/p_mul_nodes.h"

namespace s5066 {
namespace {

using namespace std::chrono_literals;

Bytes content_of(std::size_t octets) {
  Rng rng(octets);
  Bytes content(octets);
  for (auto& octet : content) octet = static_cast<std::uint8_t>(rng.next());
  return content;
}

/// Returns the share of the line rate that the octets of a message have, from the first key-up to
/// the last reception.
double utilisation(const modem::Mode& mode, std::size_t octets) {
  sim::PMulNodes::Options options{.world = {.stations = 2, .medium = {}, .mode = mode, .node = {}}};
  sim::PMulNodes nodes(1, options);
  nodes.run_for(10s);
  nodes.submit(0, {1}, content_of(octets));
  std::optional<Instant> keyed;
  const Instant end = nodes.world().now() + 6h;
  while (!nodes[1].received_at && nodes.world().now() < end) {
    nodes.run_for(50ms);
    if (!keyed && nodes.world().medium().bursts() > 0) keyed = nodes.world().now();
  }
  if (!nodes[1].received_at) return 0;
  const double seconds = to_seconds(*nodes[1].received_at - *keyed);
  return 8 * static_cast<double>(octets) / seconds / mode.rate_bps;
}

// Goal:   data without acknowledgement uses at least nine tenths of the line in mid-transfer.
// Method: one recipient, clean channel, every mode of four rates; the best mode of a rate counts.
TEST(PMulNodes, one_message_uses_nine_tenths_of_the_line) {
  for (const auto& [rate, octets] : {std::pair<std::uint32_t, std::size_t>{300, 100'000},
                                     {1200, 100'000},
                                     {2400, 100'000},
                                     {9600, 100'000},
                                     {300, 10'000},
                                     {1200, 10'000}}) {
    double best = 0;
    for (const modem::Mode& mode : modem::all_modes()) {
      if (mode.rate_bps != rate) continue;
      const double share = utilisation(mode, octets);
      std::printf("%7zu octets, %-18s %.1f %%\n", octets, to_string(mode).c_str(), 100 * share);
      best = std::max(best, share);
    }
    EXPECT_GE(best, 0.9) << rate << " bit/s, " << octets << " octets";
  }
}

// Goal:   a group of lossy stations receives a message, and the transmitter knows it. Stations that
//         miss the last parts get them by ARQ.
TEST(PMulNodes, a_group_with_loss_receives_a_message) {
  std::uint64_t by_arq = 0;
  for (const sim::Seed seed : sim::seeds(20)) {
    SCOPED_TRACE("S5066_SEED=" + std::to_string(seed));
    sim::PMulNodes::Options options{.world = {.stations = 4, .medium = {.frame_loss = 0.1}}};
    options.world.node.dts.segment_octets = 400;
    options.core.sender.coded = seed % 2 == 0;
    options.core.sender.block_octets = 1000;
    sim::PMulNodes nodes(seed, options);
    const Bytes content = content_of(20'000);
    nodes.submit(0, {1, 2, 3}, content);
    for (int i = 0; i < 60 && nodes[0].ended.size() < 3; ++i) nodes.run_for(60s);
    for (const std::size_t station : {1u, 2u, 3u}) {
      ASSERT_EQ(nodes[station].received.size(), 1u);
      EXPECT_EQ(nodes[station].received[0].content, content);
    }
    ASSERT_EQ(nodes[0].ended.size(), 3u);
    for (const auto& ended : nodes[0].ended) {
      EXPECT_EQ(ended.outcome, p_mul::Outcome::delivered);
    }
    EXPECT_EQ(nodes.world().medium().faults().keyed_over_announced_burst, 0u);
    by_arq += nodes[0].carrier->counters()[p_mul::CarrierCounter::sent_arq];
  }
  EXPECT_GT(by_arq, 0u);
}

// Goal:   eight receivers have the message and acknowledge it, each once, under the nodes' own
//         rules for turns.
// Method: 50 kB by parity at 2400 bit/s; 8 % of D_PDUs are lost, about a fifth of blocks of 1000
//         octets.
TEST(PMulNodes, eight_lossy_receivers_have_a_message) {
  double octets = 0, collisions = 0, acks = 0, minutes = 0;
  const auto seeds = sim::seeds(10);
  for (const sim::Seed seed : seeds) {
    SCOPED_TRACE("S5066_SEED=" + std::to_string(seed));
    sim::PMulNodes::Options options{.world = {.stations = 9, .medium = {.frame_loss = 0.08}}};
    options.world.node.dts.segment_octets = 400;
    options.core.sender.coded = true;
    options.core.sender.block_octets = 1000;
    sim::PMulNodes nodes(seed, options);
    nodes.submit(0, {1, 2, 3, 4, 5, 6, 7, 8}, content_of(50'000));
    for (int i = 0; i < 120 && nodes[0].ended.size() < 8; ++i) nodes.run_for(60s);
    ASSERT_EQ(nodes[0].ended.size(), 8u);
    for (std::size_t i = 1; i <= 8; ++i) {
      ASSERT_EQ(nodes[i].received.size(), 1u);
      acks += static_cast<double>(
          nodes[i].core->receiver().counters()[p_mul::PMulReceiverCounter::acks]);
    }
    octets +=
        static_cast<double>(nodes[0].core->sender().counters()[p_mul::PMulSenderCounter::octets]) /
        50'000;
    collisions += static_cast<double>(nodes.world().medium().collisions());
    minutes += to_seconds(nodes.world().now().time_since_epoch()) / 60;
  }
  const auto runs = static_cast<double>(seeds.size());
  std::printf("nodes: %.3f of the octets, %.1f acks, %.1f collisions, %.0f minutes\n",
              octets / runs, acks / runs, collisions / runs, minutes / runs);
}

}  // namespace
}  // namespace s5066
