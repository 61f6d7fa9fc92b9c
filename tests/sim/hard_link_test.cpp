// SPDX-License-Identifier: Apache-2.0
// Tests hard links between whole nodes on a simulated channel with losses and damage.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "tests/support/sim_world.h"

namespace s5066 {
namespace {

using namespace std::chrono_literals;
using sap::HardLinkState;

/// Counts the station's active hard links for which it was the caller (`we_called`) or the called
/// one.
std::size_t active_links(const sim::World& world, std::size_t station, bool we_called) {
  const auto links = world.node(station).status().hard_links;
  return static_cast<std::size_t>(std::count_if(links.begin(), links.end(), [&](const auto& link) {
    return link.state == HardLinkState::active && link.we_called == we_called;
  }));
}

/// Expects that each active hard link is active at both ends, and that a station has at most one.
void expect_agreement(const sim::World& world) {
  EXPECT_EQ(active_links(world, 0, true), active_links(world, 1, false));
  EXPECT_EQ(active_links(world, 0, false), active_links(world, 1, true));
  for (const std::size_t station : {0u, 1u}) {
    EXPECT_LE(active_links(world, station, true) + active_links(world, station, false), 1u);
    for (const auto& link : world.node(station).status().hard_links) {
      EXPECT_EQ(link.state, HardLinkState::active) << to_string(link.state);
    }
  }
}

void expect_nothing_left(const sim::World& world) {
  for (const std::size_t station : {0u, 1u}) {
    const NodeStatus status = world.node(station).status();
    EXPECT_TRUE(status.hard_links.empty());
    for (const LinkStatus& link : status.links) EXPECT_EQ(link.state, cas::LinkState::idle);
  }
}

template <typename T>
std::size_t told(const sim::Client& client) {
  std::size_t n = 0;
  for (const auto& news : client.hard_link_news()) n += std::holds_alternative<T>(news);
  return n;
}

std::size_t answers(const sim::Client& client) {
  return told<sis::HardLinkEstablished>(client) + told<sis::HardLinkRejected>(client);
}

sis::HardLink link_to(std::size_t station, unsigned type, unsigned priority = 0) {
  return {static_cast<sis::HardLinkType>(type), static_cast<std::uint8_t>(priority), SapId{5},
          sim::World::address(station)};
}

/// Ignores a tenth of the hard link indications, rejects another tenth, and accepts the rest.
void answer_indications(sim::World& world) {
  world.on_hard_link_news = [&world](sim::Client& client, const sis::Primitive& news) {
    const auto* indication = std::get_if<sis::HardLinkIndication>(&news);
    if (indication == nullptr) return;
    const auto draw = world.rng().below(10);
    if (draw == 0) return;
    world.at(world.now() + std::chrono::seconds(world.rng().below(20)),
             [&world, &client, draw, link = indication->link] {
               if (draw == 1) {
                 world.give(client, sis::HardLinkReject{1, link});
               } else {
                 world.give(client, sis::HardLinkAccept{link});
               }
             });
  };
}

// Goal:   each link type gets one answer to each ESTABLISH, carries data both ways while it is
//         active, reports its end to the clients concerned, and leaves nothing behind.
// Method: type, losses and times are drawn from the seed; an hour on a bad channel, then a clean
//         one.
TEST(HardLinkLife, each_type_is_answered_once_used_and_leaves_nothing) {
  std::size_t established = 0;
  std::size_t not_confirmed = 0;
  std::array<std::size_t, 3> used{};  // links of each type that carried data both ways while active
  for (const sim::Seed seed : sim::seeds(1000)) {
    SCOPED_TRACE("S5066_SEED=" + std::to_string(seed));
    sim::World world(seed, {.medium = {.frame_loss = 0.2}});
    auto& alpha = world.add_client(0, SapId{5}, sis::Confirmation::node);
    auto& bravo = world.add_client(1, SapId{5}, sis::Confirmation::node);
    answer_indications(world);
    const auto type = static_cast<unsigned>(seed % 3);
    if (world.rng().below(2) == 0) world.send(alpha, 1, 500, 2h);  // a soft link is already up
    world.run_for(std::chrono::seconds(world.rng().below(60)));
    world.give(alpha, sis::HardLinkEstablish{link_to(1, type)});
    world.run_for(std::chrono::seconds(30 + world.rng().below(300)));
    const auto is_active = [&] {
      return active_links(world, 0, true) == 1 && active_links(world, 1, false) == 1;
    };
    const bool was_active = is_active();
    const std::size_t alpha_had = alpha.received().size();
    const std::size_t bravo_had = bravo.received().size();
    for (int i = 0; i < 3; ++i) {
      world.send(alpha, 1, 300, 2h);
      world.send(bravo, 0, 300, 2h);
    }
    world.run_for(std::chrono::seconds(world.rng().below(600)));
    // One ESTABLISH makes one link, so an active link here is the one that was active before.
    const bool went_both_ways =
        alpha.received().size() > alpha_had && bravo.received().size() > bravo_had;
    if (was_active && is_active() && went_both_ways) ++used.at(type);
    world.give(alpha, sis::HardLinkTerminate{sim::World::address(1)});
    world.run_for(40min);
    world.medium().set_options({});
    world.run_for(2h);
    ASSERT_EQ(answers(alpha), 1u);
    established += told<sis::HardLinkEstablished>(alpha);
    not_confirmed += told<sis::HardLinkTerminated>(alpha);
    // The node reports an end only if it did not hear the peer confirm it, and only for a link that
    // began.
    EXPECT_LE(told<sis::HardLinkTerminated>(alpha), told<sis::HardLinkEstablished>(alpha));
    EXPECT_LE(told<sis::HardLinkTerminated>(bravo), told<sis::HardLinkIndication>(bravo));
    EXPECT_EQ(told<sis::HardLinkEstablished>(bravo), 0u);
    EXPECT_TRUE(type == 2 || bravo.hard_link_news().empty());
    expect_nothing_left(world);
    EXPECT_EQ(world.unreported(), 0u);
    EXPECT_EQ(world.delivery_faults(), "");
    if (::testing::Test::HasFailure()) return;
  }
  if (sim::seeds(1000).size() == 1) return;  // S5066_SEED selects one seed
  EXPECT_GT(established, 800u);
  EXPECT_LT(not_confirmed, 300u);
  for (const std::size_t count : used) EXPECT_GT(count, 100u);
}

// Goal:   simultaneous requests of both ends leave both ends with the same link, or with none.
TEST(HardLinkLife, requests_from_both_ends_at_once_end_in_agreement) {
  std::size_t up = 0;
  for (const sim::Seed seed : sim::seeds(1000)) {
    SCOPED_TRACE("S5066_SEED=" + std::to_string(seed));
    sim::World world(seed, {.medium = {.frame_loss = 0.2}});
    auto& alpha = world.add_client(0, SapId{5}, sis::Confirmation::node);
    auto& bravo = world.add_client(1, SapId{5}, sis::Confirmation::node);
    answer_indications(world);
    world.run_for(10s);
    world.give(alpha, sis::HardLinkEstablish{
                          link_to(1, static_cast<unsigned>(seed % 3), world.rng().below(2))});
    world.run_for(std::chrono::seconds(world.rng().below(30)));
    world.give(bravo, sis::HardLinkEstablish{
                          link_to(0, static_cast<unsigned>(seed / 3 % 3), world.rng().below(2))});
    world.run_for(30min);
    world.medium().set_options({});
    world.run_for(2h);
    ASSERT_EQ(answers(alpha), 1u);
    ASSERT_EQ(answers(bravo), 1u);
    expect_agreement(world);
    up += active_links(world, 0, true) + active_links(world, 1, true);
    for (const sim::Client* client : {&alpha, &bravo}) {
      const std::size_t began =
          told<sis::HardLinkEstablished>(*client) + told<sis::HardLinkIndication>(*client);
      EXPECT_LE(told<sis::HardLinkTerminated>(*client), began);
    }
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_TRUE(sim::seeds(1000).size() == 1 || up > 700u);
}

// Goal:   of two equal requests at the same instant one succeeds, at both ends. No link results
//         only if the calls collided as often as they may be repeated.
TEST(HardLinkLife, of_two_equal_requests_that_cross_one_stands) {
  std::size_t stood = 0;
  for (const sim::Seed seed : sim::seeds(200)) {
    SCOPED_TRACE("S5066_SEED=" + std::to_string(seed));
    sim::World world(seed, {});
    auto& alpha = world.add_client(0, SapId{5}, sis::Confirmation::node);
    auto& bravo = world.add_client(1, SapId{5}, sis::Confirmation::node);
    world.run_for(10s);
    world.give(alpha, sis::HardLinkEstablish{link_to(1, 1)});
    world.give(bravo, sis::HardLinkEstablish{link_to(0, 1)});
    world.run_for(1h);
    ASSERT_EQ(answers(alpha), 1u);
    ASSERT_EQ(answers(bravo), 1u);
    expect_agreement(world);
    const std::size_t up = active_links(world, 0, true) + active_links(world, 1, true);
    for (const sim::Client* client : {&alpha, &bravo}) {
      const auto* rejected = std::get_if<sis::HardLinkRejected>(&client->hard_link_news().at(0));
      EXPECT_TRUE(up == 1 || (rejected && rejected->reason ==
                                              sis::HardLinkRejectReason::remote_not_responding));
    }
    stood += up;
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_TRUE(sim::seeds(200).size() == 1 || stood > 160u) << stood;
}

// Goal:   a request of higher priority ends the link from either end, and the owner is told the
//         reason.
TEST(HardLinkLife, a_request_of_higher_priority_takes_over_from_either_end) {
  std::size_t preempted = 0;
  for (const sim::Seed seed : sim::seeds(1000)) {
    SCOPED_TRACE("S5066_SEED=" + std::to_string(seed));
    sim::World world(seed, {.medium = {.frame_loss = 0.15}});
    auto& alpha = world.add_client(0, SapId{5}, sis::Confirmation::node);
    auto& second = world.add_client(0, SapId{6}, sis::Confirmation::node);
    auto& bravo = world.add_client(1, SapId{5}, sis::Confirmation::node);
    world.run_for(10s);
    world.give(alpha, sis::HardLinkEstablish{link_to(1, static_cast<unsigned>(seed % 2))});
    world.run_for(5min);
    const bool was_up = told<sis::HardLinkEstablished>(alpha) == 1;
    const bool from_there = world.rng().below(2) == 0;
    auto& rival = from_there ? bravo : second;
    world.give(rival, sis::HardLinkEstablish{link_to(from_there ? 0 : 1, 1, 1)});
    world.run_for(30min);
    world.medium().set_options({});
    world.run_for(1h);
    ASSERT_EQ(answers(alpha), 1u);
    ASSERT_EQ(answers(rival), 1u);
    expect_agreement(world);
    if (was_up && told<sis::HardLinkEstablished>(rival) == 1) {
      EXPECT_EQ(told<sis::HardLinkTerminated>(alpha), 1u);
      ++preempted;
    }
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_TRUE(sim::seeds(1000).size() == 1 || preempted > 700u);
}

// Goal:   no hard link survives at a station that forgot it, at any stage of its life.
// Method: one or both stations restart at a random time of the link's life; some hours later the
//         stations agree.
TEST(HardLinkLife, a_restart_at_any_stage_ends_in_agreement) {
  for (const sim::Seed seed : sim::seeds(1000)) {
    SCOPED_TRACE("S5066_SEED=" + std::to_string(seed));
    sim::World world(seed, {.medium = {.frame_loss = 0.1}});
    auto& alpha = world.add_client(0, SapId{5}, sis::Confirmation::node);
    world.add_client(1, SapId{5}, sis::Confirmation::node);
    answer_indications(world);
    world.run_for(10s);
    world.give(alpha, sis::HardLinkEstablish{link_to(1, static_cast<unsigned>(seed % 3))});
    const std::size_t first = world.rng().below(2);
    world.run_for(std::chrono::milliseconds(world.rng().below(60'000)));
    world.restart(first);
    if (world.rng().below(4) == 0) {
      world.run_for(std::chrono::seconds(world.rng().below(120)));
      world.restart(1 - first);
    }
    world.run_for(20min);
    world.medium().set_options({});
    world.run_for(2h);
    expect_agreement(world);
    if (!alpha.closed()) {
      ASSERT_EQ(answers(alpha), 1u);
      EXPECT_EQ(told<sis::HardLinkEstablished>(alpha) - told<sis::HardLinkTerminated>(alpha),
                active_links(world, 0, true));
    }
    if (::testing::Test::HasFailure()) return;
  }
}

/// Exchanges data between two other stations without a pause.
void talk(sim::World& world, sim::Client& a, sim::Client& b) {
  world.send(a, 3, 1200, 1h);
  world.send(b, 2, 1200, 1h);
  world.at(world.now() + 1min, [&] { talk(world, a, b); });
}

// Goal:   a link ends if the peer forgot it, although the frequency is never silent.
// Method: Bravo restarts and from then on only sends without ARQ, while two other stations exchange
//         data by ARQ; an hour later neither its hard link nor an idle soft link is left.
TEST(HardLinkLife, a_vanished_peer_is_missed_among_the_traffic_of_others) {
  for (const sim::Seed seed : sim::seeds(20)) {
    SCOPED_TRACE("S5066_SEED=" + std::to_string(seed));
    sim::World world(seed, {.stations = 4});
    auto& alpha = world.add_client(0, SapId{5}, sis::Confirmation::node);
    world.add_client(1, SapId{5}, sis::Confirmation::node);
    auto& charlie = world.add_client(2, SapId{5}, sis::Confirmation::none);
    auto& delta = world.add_client(3, SapId{5}, sis::Confirmation::none);
    const bool hard = seed % 2 == 0;
    if (hard) {
      world.give(alpha, sis::HardLinkEstablish{link_to(1, 1)});
    } else {
      world.send(alpha, 1, 100, 1h);
    }
    world.run_for(1min);
    ASSERT_EQ(active_links(world, 0, true), hard ? 1u : 0u);
    world.restart(1);
    talk(world, charlie, delta);
    world.run_for(10s);
    auto& bravo = world.add_client(1, SapId{7}, sis::Confirmation::none);
    for (int i = 0; i < 30; ++i) {
      world.send(bravo, 0, 50, 10min, {.delivery = {.mode = sis::TransmissionMode::nonarq}});
      world.run_for(2min);
    }
    const NodeStatus status = world.node(0).status();
    EXPECT_TRUE(status.hard_links.empty());
    for (const LinkStatus& link : status.links) EXPECT_EQ(link.state, cas::LinkState::idle);
    EXPECT_EQ(told<sis::HardLinkTerminated>(alpha), hard ? 1u : 0u);
    EXPECT_GT(charlie.received().size(), 10u);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace s5066
