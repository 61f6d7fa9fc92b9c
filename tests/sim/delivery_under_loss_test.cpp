// SPDX-License-Identifier: Apache-2.0
// Tests two whole nodes on a channel that loses most D_PDUs.
#include <gtest/gtest.h>

#include "tests/support/sim_world.h"

namespace s5066 {
namespace {

using namespace std::chrono_literals;

// Goal:   the called station keeps a peer whose first C_PDU takes long.
// Method: half of the frames of full-length transmissions are lost, so that a C_PDU of six frames
//         is seldom complete after the first transmission.
TEST(DeliveryUnderLoss, half_of_all_frames_lost_costs_no_link) {
  for (const sim::Seed seed : sim::seeds(20)) {
    SCOPED_TRACE("S5066_SEED=" + std::to_string(seed));
    NodeConfig node;
    node.dts.segment_octets = 400;
    sim::World world(seed, {.medium = {.data_loss = 0.5}, .node = node});
    auto& alpha = world.add_client(0, SapId{5}, sis::Confirmation::node);
    auto& bravo = world.add_client(1, SapId{5}, sis::Confirmation::node);
    world.run_for(10s);
    for (int i = 0; i < 40; ++i) world.send(alpha, 1, 2040, 24h);
    world.run_for(1h);
    EXPECT_EQ(bravo.received().size(), 40u);
    EXPECT_EQ(world.unreported(), 0u);
    for (const std::size_t station : {0, 1}) {
      EXPECT_EQ(world.node(station).counters()[Counter::links_lost], 0u) << "station " << station;
    }
  }
}

// Goal:   losing four of five D_PDUs, acknowledgements included, delays delivery and prevents none.
// Method: the link is made on a clean channel, because at this loss a call may go unanswered until
//         its repetitions are used up.
TEST(DeliveryUnderLoss, with_80_percent_frame_loss_everything_is_delivered) {
  for (const sim::Seed seed : sim::seeds(50)) {
    SCOPED_TRACE("S5066_SEED=" + std::to_string(seed));
    sim::World world(seed, {});
    auto& alpha = world.add_client(0, SapId{5}, sis::Confirmation::node);
    auto& bravo = world.add_client(1, SapId{5}, sis::Confirmation::node);
    for (int i = 0; i < 100; ++i) world.send(alpha, 1, 1000, 48h);
    while (bravo.received().empty() && world.now() < Instant{1h}) world.run_for(1s);
    ASSERT_FALSE(bravo.received().empty());
    world.medium().set_options({.frame_loss = 0.8});
    while (world.unreported() > 0 && world.now() < Instant{24h}) world.run_for(1min);
    EXPECT_EQ(bravo.received().size(), 100u);
    EXPECT_EQ(world.unreported(), 0u);
    EXPECT_EQ(world.delivery_faults(), "");
  }
}

}  // namespace
}  // namespace s5066
