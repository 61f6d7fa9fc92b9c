// SPDX-License-Identifier: Apache-2.0
// The layers of a node must agree about the limits of the queues and the begin of windows.
#include <gtest/gtest.h>

#include "tests/unit/node/pair.h"

namespace s5066::test {
namespace {

constexpr std::uint32_t kAlpha = 0x01020301;
constexpr std::uint32_t kBravo = 0x01020302;

Bytes message(std::size_t number, std::size_t octets) {
  Bytes updu(octets, static_cast<std::uint8_t>(number));
  return updu;
}

ClientId bind(Medium& medium, Medium::Station& station) {
  const ClientId id = medium.connect(station);
  medium.send(station, id, bind_to(3, sis::Confirmation::node));
  return id;
}

std::vector<Bytes> got(Medium::Station& station, ClientId client) {
  std::vector<Bytes> all;
  for (const auto& indication : station.clients.at(client).all<sis::UnidataIndication>()) {
    all.push_back(indication.updu);
  }
  return all;
}

// C.6.3.1(2)
TEST(LowerLayers, a_link_made_without_cas_1_begins_at_0_on_both_sides_though_one_held_an_older) {
  Medium medium;
  NodeConfig config = node_config(kAlpha);
  config.cas.linked_externally = {Address{kBravo}};
  config.sap.links.idle_timeout = seconds(5);
  Medium::Station& alpha = medium.add(config);
  config = node_config(kBravo);
  config.cas.linked_externally = {Address{kAlpha}};
  config.sap.links.idle_timeout = std::chrono::hours(2);
  Medium::Station& bravo = medium.add(config);
  const ClientId a = bind(medium, alpha);
  const ClientId b = bind(medium, bravo);
  for (std::size_t i = 0; i < 10; ++i) {
    medium.send(alpha, a, request_to(kBravo, 3, message(i, 300)));
    medium.send(bravo, b, request_to(kAlpha, 3, message(i, 300)));
  }
  medium.run_for(minutes(10));
  ASSERT_EQ(got(bravo, b).size(), 10u);
  ASSERT_EQ(got(alpha, a).size(), 10u);
  ASSERT_EQ(alpha.node.counters()[Counter::warnings_received], 0u);
  ASSERT_EQ(bravo.node.counters()[Counter::links_broken], 0u);

  for (std::size_t i = 10; i < 24; ++i) {  // more than the older window had taken
    medium.send(alpha, a, request_to(kBravo, 3, message(i, 300)));
  }
  medium.run_for(minutes(10));
  ASSERT_EQ(got(bravo, b).size(), 24u);
  for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(got(bravo, b)[i], message(i, 300));
  EXPECT_EQ(alpha.clients.at(a).all<sis::UnidataRequestConfirm>().size(), 24u);
}

/// A node has data for four others, and its sessions do not end by themselves.
struct Hub {
  explicit Hub(NodeConfig config) {
    config.dts.address = Address{kAlpha};
    config.sap.links.soft_links_max = 16;
    config.sap.links.idle_timeout = std::chrono::hours(2);
    hub = &medium.add(config);
    client = bind(medium, *hub);
    for (std::uint32_t i = 0; i < 4; ++i) {
      NodeConfig other = node_config(kBravo + i);
      other.sap.links.idle_timeout = std::chrono::hours(2);
      bind(medium, medium.add(other));
    }
  }

  Medium medium;
  Medium::Station* hub = nullptr;
  ClientId client;
};

// A.3.2.1, B.3(8): without this rule the node would call the fifth of four links again and again,
// because no session would make way for it.
TEST(LowerLayers, sessions_make_way_for_each_other_where_there_may_be_fewer_links_than_sessions) {
  NodeConfig config = node_config(kAlpha);
  config.cas.nonexclusive_links_max = 2;
  Hub net(config);
  for (std::uint32_t i = 0; i < 4; ++i) {
    net.medium.send(*net.hub, net.client, request_to(kBravo + i, 3, {1}));
  }
  net.medium.run_for(minutes(30));
  EXPECT_EQ(net.hub->clients.at(net.client).all<sis::UnidataRequestConfirm>().size(), 4u);
}

// B.3(7), B.3(8)
TEST(LowerLayers, soft_links_leave_room_for_the_two_exclusive_ones) {
  NodeConfig config = node_config(kAlpha);
  config.dts.links_max = 3;
  config.cas.nonexclusive_links_max = 3;
  Hub net(config);
  for (std::uint32_t i = 0; i < 3; ++i) {
    net.medium.send(*net.hub, net.client, request_to(kBravo + i, 3, {1}));
    net.medium.run_for(minutes(2));
  }
  sis::HardLinkEstablish ask;
  ask.link = {sis::HardLinkType::link_reservation, 0, SapId{3}, Address{kBravo + 3}};
  net.medium.send(*net.hub, net.client, ask);
  net.medium.run_for(minutes(10));
  EXPECT_EQ(net.hub->clients.at(net.client).all<sis::HardLinkEstablished>().size(), 1u);
}

// B.3.2(4): a link without a hard link would make way for a known peer.
TEST(LowerLayers, the_link_of_a_hard_link_makes_no_way_for_a_call) {
  Medium medium;
  Medium::Station& alpha = medium.add(node_config(kAlpha));
  Medium::Station& bravo = medium.add(node_config(kBravo));
  Medium::Station& charlie = medium.add(node_config(kBravo + 1));
  bind(medium, alpha);
  const ClientId b = bind(medium, bravo);
  const ClientId c = bind(medium, charlie);
  medium.send(charlie, c, request_to(kAlpha, 3, {1}));
  medium.run_for(minutes(10));
  EXPECT_EQ(charlie.clients.at(c).all<sis::UnidataRequestConfirm>().size(), 1u);

  sis::HardLinkEstablish ask;
  ask.link = {sis::HardLinkType::link_reservation, 0, SapId{3}, Address{kAlpha}};
  medium.send(bravo, b, ask);
  medium.run_for(minutes(2));
  ASSERT_EQ(bravo.clients.at(b).all<sis::HardLinkEstablished>().size(), 1u);
  medium.send(charlie, c, request_to(kAlpha, 3, {2}));
  medium.run_for(minutes(10));
  EXPECT_GT(alpha.node.counters()[Counter::links_rejected], 0u);
  EXPECT_EQ(alpha.node.counters()[Counter::links_lost], 0u);
  EXPECT_EQ(alpha.node.status().hard_links.size(), 1u);
  EXPECT_TRUE(bravo.clients.at(b).all<sis::HardLinkTerminated>().empty());
}

TEST(LowerLayers, expedited_data_stays_in_order_where_the_lower_queue_is_short) {
  Medium medium;
  NodeConfig config = node_config(kAlpha);
  config.dts.expedited_queue_octets_max = 3000;
  Medium::Station& alpha = medium.add(config);
  Medium::Station& bravo = medium.add(node_config(kBravo));
  const ClientId a = bind(medium, alpha);
  const ClientId b = bind(medium, bravo);
  const std::vector<Bytes> sent{message(1, 2000), message(2, 2000), message(3, 500),
                                message(4, 2048)};
  for (const Bytes& updu : sent) {
    sis::ExpeditedUnidataRequest request;
    request.destination = Address{kBravo};
    request.destination_sap = SapId{3};
    request.updu = updu;
    medium.send(alpha, a, request);
  }
  medium.run_for(minutes(10));
  std::vector<Bytes> all;
  for (const auto& indication : bravo.clients.at(b).all<sis::ExpeditedUnidataIndication>()) {
    all.push_back(indication.updu);
  }
  EXPECT_EQ(all, sent);
}

}  // namespace
}  // namespace s5066::test
