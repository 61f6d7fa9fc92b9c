// Stations whose rates follow what they measure (C.6.4.2).
#include "tests/support/lone_station.h"
#include "tests/unit/dts/dts_world.h"

namespace s5066::dts {
namespace {

using modem::Interleaver;
constexpr modem::Mode kSlow{.rate_bps = 300, .interleaver = Interleaver::short_};
constexpr std::size_t kManagement = 6;

Config adapting() {
  Config config{.mode = kSlow};
  config.adaptation.emplace();
  return config;
}

void send_much(DtsWorld& world) {
  for (std::uint64_t i = 0; i < 40; ++i) world.send(0, 1, i, pattern(2000, i));
}

TEST(Adaptation, where_both_offer_it_rates_change_without_a_message) {
  DtsWorld world(2, {}, 1, adapting());
  world.connect(0, 1);
  send_much(world);
  world.run_for(10min);
  EXPECT_GE(world[0].dts->mode_to(DtsWorld::address(1)).rate_bps, 4800u);
  EXPECT_EQ(world[0].dpdus_sent[kManagement] + world[1].dpdus_sent[kManagement], 0u);
  EXPECT_EQ(world[1].received.size(), 40u);
  expect_clean_air(world);
}

// C.6.4.2(2)
// C.6.4.2(12)
TEST(Adaptation, a_peer_that_offers_nothing_is_asked_by_the_procedure) {
  DtsWorld world(2, {}, 1, adapting(), 1);
  world.connect(0, 1);
  send_much(world);
  world.run_for(10min);
  EXPECT_GE(world[0].dts->mode_to(DtsWorld::address(1)).rate_bps, 4800u);
  EXPECT_GT(world[0].dpdus_sent[kManagement], 0u);
  EXPECT_EQ(world[1].received.size(), 40u);
  expect_clean_air(world);
}

TEST(Adaptation, a_peer_without_data_rate_change_is_served_as_the_link_began) {
  Config config = adapting();
  config.rate_change = false;
  DtsWorld world(2, {}, 1, config, 2);
  world.connect(0, 1);
  send_much(world);
  world.run_for(1h);
  EXPECT_EQ(world[0].dts->mode_to(DtsWorld::address(1)), kSlow);
  EXPECT_EQ(world[1].received.size(), 40u);
  EXPECT_LE(world[0].dpdus_sent[kManagement], 20u);  // it is not asked for ever
}

TEST(Adaptation, the_limits_hold_for_what_is_sent_and_for_what_is_asked) {
  Config config = adapting();
  config.adaptation->rate_max_bps = 1200;
  DtsWorld world(2, {}, 1, config);
  world.connect(0, 1);
  send_much(world);
  world.run_for(20min);
  EXPECT_EQ(world[0].dts->mode_to(DtsWorld::address(1)).rate_bps, 1200u);
  EXPECT_LE(world[1].dts->mode_to(DtsWorld::address(0)).rate_bps, 1200u);
}

// Goal:   a channel that nothing comes through makes the sender slow, and its return fast again.
TEST(Adaptation, a_missing_answer_makes_a_sender_slower_and_the_next_one_fast_again) {
  Config config = adapting();
  config.replies_missed_max = 1000;
  DtsWorld world(2, {}, 1, config);
  world.connect(0, 1);
  for (std::uint64_t i = 0; i < 400; ++i) world.send(0, 1, i, pattern(2000, i));
  world.run_for(3min);
  ASSERT_GE(world[0].dts->mode_to(DtsWorld::address(1)).rate_bps, 4800u);
  world.medium().set_options({.missed_sync = 1});
  world.run_for(10min);
  EXPECT_LE(world[0].dts->mode_to(DtsWorld::address(1)).rate_bps, 150u);
  EXPECT_GE(world[0].counters[Counter::fallbacks], 4u);
  world.medium().set_options({});
  world.run_for(15min);
  EXPECT_GE(world[0].dts->mode_to(DtsWorld::address(1)).rate_bps, 4800u);
  world.run_for(1h);
  EXPECT_EQ(world[1].received.size(), 400u);
  expect_clean_air(world);
}

// Goal:   whatever is lost, the two never end where they cannot hear each other.
// Method: many seeds with heavy losses and missed transmissions, by both ways of changing.
TEST(Adaptation, under_heavy_loss_all_arrives) {
  for (const std::size_t plain : {0u, 1u}) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      SCOPED_TRACE(seed);
      Config config = adapting();
      config.replies_missed_max = config.management_repeats_max = 1000;
      DtsWorld world(2, {.frame_loss = 0.3, .missed_sync = 0.1}, seed, config, plain);
      world.connect(0, 1);
      for (std::uint64_t i = 0; i < 10; ++i) {
        world.send(0, 1, 100 + i, pattern(1500, i));
        world.send(1, 0, 200 + i, pattern(300, 50 + i));
      }
      world.run_for(6h);
      EXPECT_EQ(world[1].received.size(), 10u);
      EXPECT_EQ(world[0].received.size(), 10u);
      EXPECT_TRUE(world[0].lost.empty() && world[1].lost.empty());
    }
  }
}

// What is told costs nothing: the first header of each transmission of the connection has it.
TEST(Adaptation, advice_goes_with_data_only_to_those_who_look_there) {
  for (const bool adapts : {true, false}) {
    constexpr Address kUs{2};
    constexpr Address kPeer{1};
    Config config = adapting();
    config.address = kUs;
    test::LoneStation station(config);
    station.made(kPeer);
    const pdu::Common common{.eot_half_s = 1, .destination = kUs, .source = kPeer};
    pdu::AckOnly ack{common, {}};
    ack.common.eow = pdu::make_extensions(adapts ? pdu::extension::kAdapts : std::uint8_t{0});
    station.hear({ack});
    station.run_for(3s);
    station.take_sent();
    station.request({.id = {1}, .destination = kPeer, .cpdu = pattern(900, 1)});
    station.run_for(100ms);
    const auto sent = station.take_sent();
    ASSERT_FALSE(sent.empty());
    const auto eow = pdu::common_of(sent.front()).eow;
    EXPECT_EQ(eow.type == static_cast<std::uint8_t>(pdu::EowType::drc_request), adapts);
  }
}

}  // namespace
}  // namespace s5066::dts
