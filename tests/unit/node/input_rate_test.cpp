// SPDX-License-Identifier: Apache-2.0
#include "s5066d/node/input_rate.h"

#include <gtest/gtest.h>

#include "tests/unit/node/pair.h"

namespace s5066::test {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t kOwn = 0x01020304;

TEST(InputRate, lets_a_second_s_worth_through_at_once_and_then_makes_wait) {
  InputRate rate({.primitives_per_second_max = 10, .octets_per_second_max = 0});
  const Instant start{};
  for (int i = 0; i < 9; ++i) rate.take(start, 1);
  EXPECT_FALSE(rate.exhausted());
  rate.take(start, 1);
  EXPECT_TRUE(rate.exhausted());
  const Instant until = *rate.next_deadline();
  rate.refill(until - Duration(1));
  EXPECT_TRUE(rate.exhausted());
  rate.refill(until);
  EXPECT_FALSE(rate.exhausted());
}

TEST(InputRate, counts_octets_as_well) {
  InputRate rate({.primitives_per_second_max = 0, .octets_per_second_max = 1000});
  rate.take(Instant{}, 999);
  EXPECT_FALSE(rate.exhausted());
  rate.take(Instant{}, 1);
  EXPECT_TRUE(rate.exhausted());
}

TEST(InputRate, without_limits_lets_everything_through) {
  InputRate rate({.primitives_per_second_max = 0, .octets_per_second_max = 0});
  for (int i = 0; i < 100'000; ++i) rate.take(Instant{}, 65'540);
  EXPECT_FALSE(rate.exhausted());
}

// The client always has more to send. The test measures its rate over a minute.
TEST(InputRate, in_the_long_run_is_what_was_asked_for) {
  InputRate rate({.primitives_per_second_max = 20, .octets_per_second_max = 0});
  int taken = 0;
  for (Instant now{}; now < Instant{} + seconds(60); now += milliseconds(1)) {
    rate.refill(now);
    for (; !rate.exhausted(); ++taken) rate.take(now, 1);
  }
  EXPECT_GE(taken, 60 * 20);
  EXPECT_LE(taken, 61 * 20);
}

class RatedClient : public ::testing::Test {
 protected:
  static NodeConfig config() {
    NodeConfig c = node_config(kOwn);
    c.client_rate = {.primitives_per_second_max = 10, .octets_per_second_max = 0};
    return c;
  }
  /// Makes requests to our own address, so that each U_PDU comes back as an indication.
  Bytes requests(int count) const {
    Bytes octets;
    for (int i = 0; i < count; ++i) {
      sis::encode(request_to(kOwn, 3, Bytes(8, static_cast<std::uint8_t>(i))), octets);
    }
    return octets;
  }

  Medium medium;
  Medium::Station& station = medium.add(config());
};

TEST_F(RatedClient, above_its_rate_is_not_read_and_loses_nothing) {
  const ClientId client = medium.connect(station);
  medium.send(station, client, bind_to(3, sis::Confirmation::none));
  medium.send_bytes(station, client, requests(40));
  ClientLog& log = station.clients.at(client);
  EXPECT_TRUE(log.paused);
  EXPECT_EQ(log.all<sis::UnidataIndication>().size(), 9u);  // the bind is the tenth primitive
  medium.run_for(seconds(2));
  EXPECT_GT(log.all<sis::UnidataIndication>().size(), 9u);
  EXPECT_LE(log.all<sis::UnidataIndication>().size(), 29u);
  medium.run_for(seconds(8));
  const auto all = log.all<sis::UnidataIndication>();
  ASSERT_EQ(all.size(), 40u);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].updu[0], i);
  EXPECT_FALSE(log.paused);
  EXPECT_FALSE(log.closed);
}

TEST_F(RatedClient, whose_u_pdus_are_not_taken_has_no_higher_rate_for_other_primitives) {
  NodeConfig full = config();
  full.sap.queue.client_updus_max = 1;
  Medium::Station& other = medium.add(full);
  const ClientId client = medium.connect(other);
  medium.send(other, client, bind_to(3, sis::Confirmation::none));
  medium.send(other, client, request_to(kOwn + 1, 3, Bytes(8)));
  ASSERT_EQ(other.clients.at(client).all<sis::DataFlowOff>().size(), 1u);
  ASSERT_FALSE(other.clients.at(client).paused);
  Bytes flood;
  for (int i = 0; i < 40; ++i) sis::encode(sis::KeepAlive{}, flood);
  medium.send_bytes(other, client, flood);
  EXPECT_TRUE(other.clients.at(client).paused);
  EXPECT_EQ(other.node.counters()[Counter::primitives_received], 10u);
}

TEST_F(RatedClient, that_waits_does_not_hold_up_another) {
  const ClientId greedy = medium.connect(station);
  const ClientId modest = medium.connect(station);
  medium.send(station, greedy, bind_to(3, sis::Confirmation::none));
  medium.send_bytes(station, greedy, requests(40));
  ASSERT_TRUE(station.clients.at(greedy).paused);
  medium.send(station, modest, bind_to(4, sis::Confirmation::none));
  EXPECT_FALSE(station.clients.at(modest).paused);
  EXPECT_EQ(station.clients.at(modest).all<sis::BindAccepted>().size(), 1u);
}

// If we stop reading a client, half a primitive is not the client's fault.
TEST_F(RatedClient, that_waits_is_not_closed_for_half_a_primitive) {
  NodeConfig slow = config();
  slow.client_rate.primitives_per_second_max = 1;
  slow.partial_primitive_timeout = milliseconds(50);
  Medium::Station& other = medium.add(slow);
  const ClientId client = medium.connect(other);
  Bytes octets;
  sis::encode(bind_to(3, sis::Confirmation::none), octets);
  octets.push_back(sis::kPreamble0);
  medium.send_bytes(other, client, octets);
  ASSERT_TRUE(other.clients.at(client).paused);
  medium.run_for(milliseconds(99));
  EXPECT_FALSE(other.clients.at(client).closed);
  medium.run_for(milliseconds(200));
  EXPECT_TRUE(other.clients.at(client).closed) << "from when it was read on";
}

}  // namespace
}  // namespace s5066::test
