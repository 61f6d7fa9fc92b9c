// SPDX-License-Identifier: Apache-2.0
// An operator can end clients and links, list the waiting U_PDUs and purge them.
#include <gtest/gtest.h>

#include "tests/unit/node/pair.h"

namespace s5066::test {
namespace {

constexpr std::uint32_t kAlpha = 0x01020304;
constexpr std::uint32_t kBravo = 0x01020305;
constexpr std::uint32_t kNobody = 0x01020399;
constexpr std::size_t kAll = 1000;

class Operator : public ::testing::Test {
 protected:
  ClientId bind(Medium::Station& station, std::uint8_t sap,
                sis::Confirmation confirmation = sis::Confirmation::node) {
    const ClientId id = medium.connect(station);
    medium.send(station, id, bind_to(sap, confirmation));
    return id;
  }
  void send(ClientId client, std::uint32_t to, std::size_t octets = 100) {
    medium.send(alpha, client, request_to(to, 3, Bytes(octets, 1)));
  }
  std::size_t purge(const sap::UpduFilter& filter) {
    std::size_t purged = 0;
    medium.with([&](Instant now) { purged = alpha.node.request_purge(now, filter); });
    return purged;
  }
  Result<void> end_link(std::uint32_t peer) {
    Result<void> done;
    medium.with([&](Instant now) { done = alpha.node.request_break(now, Address{peer}); });
    return done;
  }
  void silence(bool on) {
    medium.with([&](Instant now) { alpha.node.request_silence(now, on); });
  }
  cas::LinkState link_state(std::uint32_t peer) const {
    for (const LinkStatus& link : alpha.node.status().links) {
      if (link.peer == Address{peer}) return link.state;
    }
    return cas::LinkState::idle;
  }
  std::size_t rejected(ClientId client) const {
    return alpha.clients.at(client).all<sis::UnidataRequestRejected>().size();
  }

  Medium medium;
  Medium::Station& alpha = medium.add(node_config(kAlpha));
  Medium::Station& bravo = medium.add(node_config(kBravo));
};

TEST_F(Operator, sees_each_updu_that_waits_and_what_for) {
  const ClientId client = bind(alpha, 3);
  silence(true);
  send(client, kBravo, 300);
  send(client, kNobody, 200);
  medium.run_for(seconds(10));
  const auto list = alpha.node.updus({}, kAll);
  EXPECT_EQ(list.total, 2u);
  ASSERT_EQ(list.updus.size(), 2u);
  const sap::UpduInfo& first = list.updus[0];
  EXPECT_EQ(first.client, client);
  EXPECT_EQ(first.destination, Address{kBravo});
  EXPECT_EQ(first.octets, 300u);
  EXPECT_EQ(first.waits_for, "the end of EMCON");
  EXPECT_TRUE(first.queued);
  EXPECT_LT(first.id, list.updus[1].id);
  const auto some = alpha.node.updus({}, 1);
  EXPECT_EQ(some.total, 2u);
  ASSERT_EQ(some.updus.size(), 1u) << "no more than asked for";
  EXPECT_EQ(some.updus[0].id, first.id) << "the oldest";
  silence(false);
  EXPECT_EQ(alpha.node.updus({.destination = Address{kNobody}}, kAll).updus.at(0).waits_for,
            "an answer to the call");
}

TEST_F(Operator, sees_for_how_long_one_has_waited) {
  const ClientId client = bind(alpha, 3);
  silence(true);
  send(client, kBravo);
  medium.run_for(seconds(10));
  medium.with([&](Instant now) { alpha.node.on_utc(now, UtcSeconds{1772409540}); });
  EXPECT_EQ(alpha.node.updus({}, kAll).updus.at(0).age, seconds(10));
}

TEST_F(Operator, purges_by_number_client_or_destination_and_the_client_is_told) {
  const ClientId one = bind(alpha, 3);
  const ClientId two = bind(alpha, 4);
  silence(true);
  for (int i = 0; i < 3; ++i) send(one, kBravo);
  for (int i = 0; i < 2; ++i) send(two, kBravo);
  send(two, kNobody);
  const UpduId id = alpha.node.updus({.client = one}, kAll).updus.at(1).id;
  EXPECT_EQ(purge({.id = UpduId{id.value + 1000}}), 0u);
  EXPECT_EQ(purge({.id = id}), 1u);
  EXPECT_EQ(rejected(one), 1u);
  EXPECT_EQ(purge({.client = two, .destination = Address{kNobody}}), 1u);
  EXPECT_EQ(rejected(two), 1u);
  EXPECT_EQ(purge({.destination = Address{kBravo}}), 4u);
  EXPECT_EQ(rejected(one), 3u);
  EXPECT_EQ(rejected(two), 3u);
  EXPECT_EQ(alpha.node.counters()[Counter::updus_purged], 6u);
  EXPECT_EQ(alpha.node.status().holdings, sap::Holdings{}) << "nothing is held any more";
}

TEST_F(Operator, purges_nothing_that_is_on_its_way) {
  const ClientId client = bind(alpha, 3);
  bind(bravo, 3);
  send(client, kBravo, 2000);
  medium.run_for(seconds(5));
  while (alpha.node.status().holdings.updus_below == 0) medium.run_for(milliseconds(100));
  EXPECT_EQ(purge({.client = client}), 0u);
  const auto list = alpha.node.updus({}, kAll);
  ASSERT_EQ(list.updus.size(), 1u);
  EXPECT_FALSE(list.updus[0].queued);
  EXPECT_EQ(list.updus[0].waits_for, "its acknowledgement");
  medium.run_for(minutes(2));
  EXPECT_EQ(alpha.clients.at(client).all<sis::UnidataRequestConfirm>().size(), 1u);
  EXPECT_EQ(rejected(client), 0u);
}

TEST_F(Operator, disconnects_a_client_and_its_sap_is_free) {
  const ClientId client = bind(alpha, 3);
  Result<void> done;
  medium.with([&](Instant now) { done = alpha.node.request_disconnect(now, client); });
  EXPECT_TRUE(done);
  EXPECT_TRUE(alpha.clients.at(client).closed);
  EXPECT_EQ(alpha.clients.at(client).all<sis::UnbindIndication>().size(), 1u);
  medium.with([&](Instant now) { done = alpha.node.request_disconnect(now, client); });
  EXPECT_FALSE(done) << "it has gone";
  const ClientId next = bind(alpha, 3);
  EXPECT_EQ(alpha.clients.at(next).all<sis::BindAccepted>().size(), 1u);
}

TEST_F(Operator, ends_a_link_and_nothing_is_lost) {
  const ClientId client = bind(alpha, 3);
  const ClientId receiver = bind(bravo, 3);
  EXPECT_FALSE(end_link(kBravo)) << "there is none";
  for (int i = 0; i < 20; ++i) send(client, kBravo, 2000);
  while (link_state(kBravo) != cas::LinkState::made) medium.run_for(milliseconds(100));
  EXPECT_TRUE(end_link(kBravo));
  EXPECT_EQ(link_state(kBravo), cas::LinkState::breaking);
  EXPECT_FALSE(end_link(kBravo)) << "it is ending";
  while (link_state(kBravo) != cas::LinkState::idle) medium.run_for(milliseconds(100));
  medium.run_for(seconds(20));
  EXPECT_EQ(link_state(kBravo), cas::LinkState::idle) << "the next call waits";
  EXPECT_EQ(alpha.node.updus({}, kAll).updus.at(0).waits_for,
            "the next call, which is not yet due");
  medium.run_for(minutes(10));
  EXPECT_EQ(bravo.clients.at(receiver).all<sis::UnidataIndication>().size(), 20u);
  EXPECT_EQ(alpha.clients.at(client).all<sis::UnidataRequestConfirm>().size(), 20u);
}

TEST_F(Operator, ends_a_call_that_nobody_answers) {
  const ClientId client = bind(alpha, 3);
  send(client, kNobody);
  medium.run_for(seconds(1));
  ASSERT_EQ(link_state(kNobody), cas::LinkState::calling);
  EXPECT_TRUE(end_link(kNobody));
  medium.run_for(minutes(30));
  EXPECT_EQ(rejected(client), 1u) << "as after any call without an answer";
}

// Before a link is made there is no idle time. After the link has ended it counts from that end.
TEST_F(Operator, sees_since_when_a_link_is_idle) {
  const ClientId client = bind(alpha, 3);
  bind(bravo, 3);
  silence(true);
  send(client, kBravo);
  ASSERT_EQ(alpha.node.status().links.size(), 1u);
  EXPECT_EQ(alpha.node.status().links[0].since, std::nullopt);
  silence(false);
  medium.run_for(seconds(30));
  ASSERT_EQ(link_state(kBravo), cas::LinkState::made);
  while (link_state(kBravo) != cas::LinkState::idle) medium.run_for(seconds(1));
  const Instant ended = medium.now();
  medium.run_for(minutes(5));
  const auto since = alpha.node.status().links.at(0).since;
  ASSERT_TRUE(since);
  EXPECT_LE(*since, ended);
  EXPECT_GE(*since, ended - seconds(1));
}

}  // namespace
}  // namespace s5066::test
