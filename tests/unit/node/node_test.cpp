// SPDX-License-Identifier: Apache-2.0
#include "s5066d/node/node.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/unit/node/pair.h"

namespace s5066::test {
namespace {

using std::chrono::hours;
using std::chrono::nanoseconds;

constexpr std::uint32_t kAlpha = 0x01020304;
constexpr std::uint32_t kBravo = 0x01020305;
constexpr std::uint32_t kNobody = 0x01020399;

Bytes message(std::size_t number, std::size_t octets) {
  Bytes bytes(octets);
  for (std::size_t i = 0; i < octets; ++i) bytes[i] = static_cast<std::uint8_t>(number * 7 + i);
  return bytes;
}

class NodePair : public ::testing::Test {
 protected:
  Medium medium;
  Medium::Station& alpha = medium.add(node_config(kAlpha));
  Medium::Station& bravo = medium.add(node_config(kBravo));

  ClientId bind(Medium::Station& station, std::uint8_t sap, sis::Confirmation confirmation) {
    const ClientId id = medium.connect(station);
    medium.send(station, id, bind_to(sap, confirmation));
    EXPECT_EQ(log(station, id).all<sis::BindAccepted>().size(), 1u);
    return id;
  }
  static ClientLog& log(Medium::Station& station, ClientId id) { return station.clients.at(id); }

  /// Binds two clients on SAP 3 and sends 20 messages that must still cross when a test makes
  /// trouble.
  ClientId sender;
  ClientId receiver;
  void start_a_transfer() {
    sender = bind(alpha, 3, sis::Confirmation::client);
    receiver = bind(bravo, 3, sis::Confirmation::none);
    for (std::size_t i = 0; i < 20; ++i) {
      medium.send(alpha, sender, request_to(kBravo, 3, message(i, 1000)));
    }
  }
  void expect_the_transfer_is_whole() {
    const auto got = log(bravo, receiver).all<sis::UnidataIndication>();
    ASSERT_EQ(got.size(), 20u);
    for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(got[i].updu, message(i, 1000)) << i;
    EXPECT_EQ(log(alpha, sender).all<sis::UnidataRequestConfirm>().size(), 20u);
    EXPECT_EQ(log(alpha, sender).all<sis::UnidataRequestRejected>().size(), 0u);
  }
};

// B.3(1)
TEST_F(NodePair, a_updu_crosses_and_is_confirmed_by_the_node) {
  const ClientId from = bind(alpha, 3, sis::Confirmation::node);
  const ClientId to = bind(bravo, 3, sis::Confirmation::none);
  medium.send(alpha, from, request_to(kBravo, 3, message(1, 500)));

  medium.run_for(minutes(1));

  const auto indications = log(bravo, to).all<sis::UnidataIndication>();
  ASSERT_EQ(indications.size(), 1u);
  EXPECT_EQ(indications[0].updu, message(1, 500));
  EXPECT_EQ(indications[0].source, Address{kAlpha});
  EXPECT_EQ(indications[0].mode, sis::TransmissionMode::arq);
  const auto confirms = log(alpha, from).all<sis::UnidataRequestConfirm>();
  ASSERT_EQ(confirms.size(), 1u);
  EXPECT_EQ(confirms[0].updu_part, message(1, 500));
}

TEST_F(NodePair, a_file_crosses_in_order_with_every_client_confirmation) {
  start_a_transfer();
  medium.run_for(minutes(10));
  expect_the_transfer_is_whole();
}

TEST_F(NodePair, the_link_ends_after_the_idle_time_and_a_new_one_is_made_for_new_data) {
  start_a_transfer();
  medium.run_for(minutes(10));
  EXPECT_EQ(alpha.node.counters()[Counter::links_broken], 1u);
  EXPECT_EQ(bravo.node.counters()[Counter::links_broken], 1u);
  for (const auto& link : alpha.node.status().links) EXPECT_EQ(link.state, cas::LinkState::idle);
  medium.send(alpha, sender, request_to(kBravo, 3, message(99, 10)));
  medium.run_for(minutes(2));
  EXPECT_EQ(log(bravo, receiver).all<sis::UnidataIndication>().size(), 21u);
  EXPECT_EQ(alpha.node.counters()[Counter::links_lost], 0u);
}

TEST_F(NodePair, both_ways_at_once_everything_arrives_once_and_in_order) {
  const ClientId a = bind(alpha, 3, sis::Confirmation::node);
  const ClientId b = bind(bravo, 3, sis::Confirmation::client);
  for (std::size_t i = 0; i < 30; ++i) {
    medium.send(alpha, a, request_to(kBravo, 3, message(i, 700)));
    medium.send(bravo, b, request_to(kAlpha, 3, message(i, 300)));
  }
  medium.run_for(minutes(20));
  for (const auto& [station, client, octets] :
       {std::tuple{&alpha, a, 300u}, std::tuple{&bravo, b, 700u}}) {
    const auto got = log(*station, client).all<sis::UnidataIndication>();
    ASSERT_EQ(got.size(), 30u);
    for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(got[i].updu, message(i, octets)) << i;
    EXPECT_EQ(log(*station, client).all<sis::UnidataRequestConfirm>().size(), 30u);
  }
  EXPECT_EQ(alpha.node.counters()[Counter::warnings_sent], 0u);
  EXPECT_EQ(bravo.node.counters()[Counter::warnings_sent], 0u);
}

TEST_F(NodePair, data_of_both_sides_in_the_called_moment_draws_no_warning) {
  const ClientId a = bind(alpha, 3, sis::Confirmation::node);
  const ClientId b = bind(bravo, 3, sis::Confirmation::node);
  medium.send(alpha, a, request_to(kBravo, 3, message(1, 100)));
  medium.run_for(seconds(1));  // the call is on the air
  medium.send(bravo, b, request_to(kAlpha, 3, message(2, 100)));
  medium.run_for(minutes(2));
  EXPECT_EQ(log(alpha, a).all<sis::UnidataIndication>().size(), 1u);
  EXPECT_EQ(log(bravo, b).all<sis::UnidataIndication>().size(), 1u);
  EXPECT_EQ(alpha.node.counters()[Counter::warnings_received], 0u);
  EXPECT_EQ(bravo.node.counters()[Counter::warnings_received], 0u);
}

// At 300 bit/s a large U_PDU takes longer than the idle time of the receiving side.
TEST(SlowPair, a_session_does_not_idle_out_under_a_long_updu) {
  Medium medium;
  NodeConfig config = node_config(kAlpha);
  config.dts.mode.rate_bps = 300;
  Medium::Station& alpha = medium.add(config);
  config.dts.address = Address{kBravo};
  Medium::Station& bravo = medium.add(config);
  const ClientId a = medium.connect(alpha);
  const ClientId b = medium.connect(bravo);
  medium.send(alpha, a, bind_to(3, sis::Confirmation::node));
  medium.send(bravo, b, bind_to(3, sis::Confirmation::node));
  medium.send(alpha, a, request_to(kBravo, 3, message(1, 10)));
  while (alpha.clients.at(a).all<sis::UnidataRequestConfirm>().empty()) medium.run_for(seconds(1));
  medium.send(bravo, b, request_to(kAlpha, 3, message(2, 2048)));
  medium.run_for(minutes(5));
  EXPECT_EQ(alpha.clients.at(a).all<sis::UnidataIndication>().size(), 1u);
  EXPECT_EQ(bravo.clients.at(b).all<sis::UnidataRequestConfirm>().size(), 1u);
  EXPECT_EQ(bravo.node.counters()[Counter::updus_requeued], 0u);
  EXPECT_EQ(alpha.node.counters()[Counter::links_made], 1u);
  // The idle time ended the link later.
  EXPECT_EQ(alpha.node.counters()[Counter::links_broken], 1u);
}

TEST_F(NodePair, a_node_that_does_not_answer_is_reported) {
  const ClientId from = bind(alpha, 3, sis::Confirmation::node);
  medium.send(alpha, from, request_to(kNobody, 3, message(1, 50)));
  medium.run_for(hours(1));
  const auto rejected = log(alpha, from).all<sis::UnidataRequestRejected>();
  ASSERT_EQ(rejected.size(), 1u);
  EXPECT_EQ(rejected[0].reason, sis::RejectReason::destination_not_responding);
  EXPECT_EQ(rejected[0].updu_part, message(1, 50));
}

TEST_F(NodePair, a_sap_nobody_has_bound_is_reported_to_a_client_that_asked) {
  const ClientId from = bind(alpha, 3, sis::Confirmation::client);
  medium.send(alpha, from, request_to(kBravo, 7, message(1, 50)));
  medium.run_for(minutes(2));
  const auto rejected = log(alpha, from).all<sis::UnidataRequestRejected>();
  ASSERT_EQ(rejected.size(), 1u);
  EXPECT_EQ(rejected[0].reason, sis::RejectReason::destination_sap_not_bound);
}

TEST_F(NodePair, a_channel_that_dies_and_comes_back_costs_time_but_no_data) {
  start_a_transfer();
  medium.run_for(seconds(20));
  medium.silent = true;
  medium.run_for(minutes(5));
  EXPECT_GE(alpha.node.counters()[Counter::links_lost], 1u);
  EXPECT_GE(alpha.node.counters()[Counter::updus_requeued], 1u);
  medium.silent = false;
  medium.run_for(minutes(30));
  EXPECT_EQ(log(alpha, sender).all<sis::UnidataRequestConfirm>().size(), 20u);
  EXPECT_EQ(log(alpha, sender).all<sis::UnidataRequestRejected>().size(), 0u);
  std::vector<Bytes> first_time;
  for (const auto& got : log(bravo, receiver).all<sis::UnidataIndication>()) {
    if (std::find(first_time.begin(), first_time.end(), got.updu) == first_time.end()) {
      first_time.push_back(got.updu);
    }
  }
  ASSERT_EQ(first_time.size(), 20u);  // some came twice, where only the acknowledgement was lost
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(first_time[i], message(i, 1000));
}

TEST_F(NodePair, what_lives_too_short_for_a_dead_channel_expires) {
  medium.silent = true;
  const ClientId from = bind(alpha, 3, sis::Confirmation::node);
  sis::UnidataRequest request = request_to(kBravo, 3, message(1, 50));
  request.time_to_live = 10;  // 20 s
  medium.send(alpha, from, request);
  medium.run_for(seconds(20) - nanoseconds(1));
  EXPECT_TRUE(log(alpha, from).all<sis::UnidataRequestRejected>().empty());
  medium.run_for(nanoseconds(1));
  const auto rejected = log(alpha, from).all<sis::UnidataRequestRejected>();
  ASSERT_EQ(rejected.size(), 1u);
  EXPECT_EQ(rejected[0].reason, sis::RejectReason::ttl_expired);
}

TEST_F(NodePair, a_broadcast_reaches_every_station_without_a_link) {
  Medium::Station& charlie = medium.add(node_config(0x01020306));
  const ClientId from = bind(alpha, 3, sis::Confirmation::none);
  const ClientId b = bind(bravo, 13, sis::Confirmation::none);
  const ClientId c = bind(charlie, 13, sis::Confirmation::none);
  sis::UnidataRequest to_all = request_to(0, 13, message(1, 900));
  to_all.destination = Address::all_stations();
  to_all.delivery.mode = sis::TransmissionMode::nonarq;
  to_all.delivery.retransmissions = 2;
  medium.send(alpha, from, to_all);
  medium.run_for(minutes(2));
  for (const auto& [station, client] : {std::pair{&bravo, b}, std::pair{&charlie, c}}) {
    const auto got = log(*station, client).all<sis::UnidataIndication>();
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0].destination, Address::all_stations());
    EXPECT_EQ(got[0].mode, sis::TransmissionMode::nonarq);
    EXPECT_EQ(got[0].updu, message(1, 900));
  }
  EXPECT_EQ(alpha.node.counters()[Counter::links_made], 0u);
}

// --- Clients that behave badly, while another transfers a file -----------------------------------

TEST_F(NodePair, what_a_client_says_in_one_breath_goes_in_one_transmission) {
  const ClientId from = bind(alpha, 3, sis::Confirmation::none);
  const ClientId to = bind(bravo, 3, sis::Confirmation::none);
  std::size_t bursts = 0;
  medium.on_burst = [&](std::size_t, Bytes&) { ++bursts; };
  medium.run_for(minutes(1));  // time in which the channel becomes free
  Bytes both;
  for (std::size_t i = 0; i < 2; ++i) {
    auto request = request_to(kBravo, 3, message(i, 100));
    request.delivery = {.mode = sis::TransmissionMode::nonarq};
    sis::encode(request, both);
  }
  medium.send_bytes(alpha, from, both);
  medium.run_for(minutes(1));
  EXPECT_EQ(log(bravo, to).all<sis::UnidataIndication>().size(), 2u);
  EXPECT_EQ(bursts, 1u);
}

TEST_F(NodePair, garbage_ends_its_client_and_nobody_else) {
  start_a_transfer();
  const ClientId bad = medium.connect(alpha);
  Rng rng(5);
  for (int i = 0; i < 2000 && !log(alpha, bad).closed; ++i) {
    Bytes junk(1 + rng.below(300));
    for (auto& octet : junk) octet = static_cast<std::uint8_t>(rng.next());
    // Junk without a preamble is one run of garbage. A preamble in front makes frames of it.
    if (rng.chance(0.5)) junk.insert(junk.begin(), {0x90, 0xEB, 0, 0, 1});
    medium.send_bytes(alpha, bad, junk);
  }
  EXPECT_TRUE(log(alpha, bad).closed);
  medium.run_for(minutes(10));
  expect_the_transfer_is_whole();
}

TEST_F(NodePair, half_a_primitive_is_waited_for_as_long_as_configured) {
  start_a_transfer();
  const ClientId half = bind(alpha, 4, sis::Confirmation::none);
  medium.send_bytes(alpha, half, *from_hex("90EB00 0011 14 53"));
  medium.run_for(seconds(60) - nanoseconds(1));
  EXPECT_FALSE(log(alpha, half).closed);
  medium.run_for(nanoseconds(1));
  EXPECT_TRUE(log(alpha, half).closed);
  medium.run_for(minutes(10));
  expect_the_transfer_is_whole();
}

TEST_F(NodePair, a_primitive_in_single_octets_is_as_good_as_in_one) {
  const ClientId slow = medium.connect(alpha);
  const Bytes frame = *from_hex("90EB00 0004 01 37 14 00");
  for (const std::uint8_t octet : frame) {
    medium.send_bytes(alpha, slow, Bytes{octet});
    medium.run_for(seconds(6));
  }
  EXPECT_EQ(log(alpha, slow).all<sis::BindAccepted>().size(), 1u);
}

TEST_F(NodePair, a_stream_that_always_ends_in_half_a_primitive_is_no_failure) {
  const ClientId busy = bind(alpha, 4, sis::Confirmation::none);
  const Bytes frames = *from_hex("90EB00 0001 11 90EB00 0001 11");
  Bytes stream;
  for (int i = 0; i < 20; ++i) append(stream, frames);
  // Five of six pieces end within a frame.
  for (std::size_t at = 0; at + 7 <= stream.size(); at += 7) {
    medium.send_bytes(alpha, busy, ByteSpan(stream).subspan(at, 7));
    medium.run_for(seconds(20));
    ASSERT_FALSE(log(alpha, busy).closed) << at;
  }
}

TEST_F(NodePair, an_unbound_client_that_says_nothing_for_a_minute_is_closed) {
  start_a_transfer();
  const ClientId silent = medium.connect(alpha);
  medium.run_for(seconds(60) - nanoseconds(1));
  EXPECT_FALSE(log(alpha, silent).closed);
  medium.run_for(nanoseconds(1));
  EXPECT_TRUE(log(alpha, silent).closed);
  medium.run_for(minutes(10));
  expect_the_transfer_is_whole();
}

TEST_F(NodePair, primitives_that_only_servers_send_count_as_invalid) {
  start_a_transfer();
  const ClientId other = bind(alpha, 5, sis::Confirmation::none);
  medium.send_bytes(alpha, other, *from_hex("90EB00 0001 0F"));
  medium.send_bytes(alpha, other, *from_hex("90EB00 0003 0E 02 01"));
  EXPECT_EQ(alpha.node.counters()[Counter::primitives_invalid], 2u);
  EXPECT_FALSE(log(alpha, other).closed);
  medium.run_for(minutes(10));
  expect_the_transfer_is_whole();
}

TEST_F(NodePair, a_client_that_does_not_read_is_dropped_at_the_limit) {
  start_a_transfer();
  const std::size_t limit = node_config(kAlpha).client_output_octets_max;
  const ClientId deaf = bind(alpha, 5, sis::Confirmation::none);
  medium.with([&](Instant now) { alpha.node.on_client_backlog(now, deaf, limit); });
  EXPECT_FALSE(log(alpha, deaf).closed);
  medium.with([&](Instant now) { alpha.node.on_client_backlog(now, deaf, limit + 1); });
  EXPECT_TRUE(log(alpha, deaf).closed);
  EXPECT_TRUE(log(alpha, deaf).discarded);
  medium.run_for(minutes(10));
  expect_the_transfer_is_whole();
}

// A.3.2.4(25)
TEST_F(NodePair, a_client_delivery_is_confirmed_when_the_last_octet_is_taken_and_not_before) {
  const ClientId from = bind(alpha, 3, sis::Confirmation::client);
  const ClientId to = bind(bravo, 3, sis::Confirmation::none);
  log(bravo, to).reads = false;
  medium.send(alpha, from, request_to(kBravo, 3, message(1, 500)));
  medium.send(alpha, from, request_to(kBravo, 3, message(2, 500)));
  medium.run_for(minutes(5));
  ASSERT_EQ(log(bravo, to).all<sis::UnidataIndication>().size(), 2u);
  EXPECT_TRUE(log(alpha, from).all<sis::UnidataRequestConfirm>().empty());

  const std::size_t octets = log(bravo, to).frames.back().size();
  medium.with([&](Instant now) { bravo.node.on_client_taken(now, to, octets - 1); });
  medium.run_for(minutes(5));
  EXPECT_TRUE(log(alpha, from).all<sis::UnidataRequestConfirm>().empty());
  medium.with([&](Instant now) { bravo.node.on_client_taken(now, to, 1); });
  medium.run_for(minutes(5));
  const auto confirmed = log(alpha, from).all<sis::UnidataRequestConfirm>();
  ASSERT_EQ(confirmed.size(), 1u);
  EXPECT_EQ(confirmed[0].updu_part, message(1, 500));
  EXPECT_TRUE(log(alpha, from).all<sis::UnidataRequestRejected>().empty());
}

TEST_F(NodePair, what_was_never_written_to_a_client_that_left_is_reported_to_its_sender) {
  const ClientId from = bind(alpha, 3, sis::Confirmation::client);
  const ClientId to = bind(bravo, 3, sis::Confirmation::none);
  log(bravo, to).reads = false;
  for (std::size_t i = 0; i < 3; ++i) {
    medium.send(alpha, from, request_to(kBravo, 3, message(i, 500)));
  }
  medium.run_for(minutes(5));
  const std::size_t octets = log(bravo, to).frames.back().size();
  // The client has taken the first U_PDU. The second was written and perhaps read. One octet of the
  // third was not written.
  medium.with([&](Instant now) {
    bravo.node.on_client_taken(now, to, octets);
    bravo.node.on_client_closed(now, to, ClientEnd::left, 1);
  });
  medium.run_for(minutes(5));
  const auto rejected = log(alpha, from).all<sis::UnidataRequestRejected>();
  ASSERT_EQ(rejected.size(), 1u);
  EXPECT_EQ(rejected[0].updu_part, message(2, 500));
  EXPECT_EQ(rejected[0].reason, sis::RejectReason::destination_sap_not_bound);
  EXPECT_EQ(log(alpha, from).all<sis::UnidataRequestConfirm>().size(), 1u);
  medium.run_for(hours(2));
  EXPECT_EQ(log(alpha, from).all<sis::UnidataRequestRejected>().size(), 2u);
  EXPECT_EQ(bravo.node.status().holdings.untaken, 0u);
}

TEST_F(NodePair, a_client_killed_in_mid_transfer_leaves_the_link_in_order) {
  start_a_transfer();
  const ClientId other = bind(alpha, 4, sis::Confirmation::node);
  medium.run_for(seconds(15));
  medium.disconnect(alpha, sender);
  medium.send(alpha, other, request_to(kBravo, 3, message(50, 400)));
  medium.run_for(minutes(10));
  EXPECT_EQ(log(alpha, other).all<sis::UnidataRequestConfirm>().size(), 1u);
  const auto got = log(bravo, receiver).all<sis::UnidataIndication>();
  ASSERT_FALSE(got.empty());
  EXPECT_EQ(got.back().updu, message(50, 400));
  const Counters& counters = alpha.node.counters();
  EXPECT_EQ(counters[Counter::updus_accepted],
            counters[Counter::updus_confirmed] + counters[Counter::updus_dropped]);
  bind(alpha, 3, sis::Confirmation::none);  // works because the SAP is free
}

TEST_F(NodePair, who_connects_and_never_binds_keeps_nobody_out) {
  const NodeConfig config = node_config(kAlpha);
  const ClientId first = medium.connect(alpha);
  for (std::size_t i = 1; i < config.clients_unbound_max; ++i) medium.connect(alpha);
  EXPECT_FALSE(alpha.clients.at(first).closed);
  const ClientId newcomer = medium.connect(alpha);
  EXPECT_TRUE(alpha.clients.at(first).closed);
  EXPECT_TRUE(alpha.clients.at(first).discarded);
  medium.send(alpha, newcomer, bind_to(3, sis::Confirmation::none));
  EXPECT_EQ(alpha.clients.at(newcomer).all<sis::BindAccepted>().size(), 1u);
}

// --- A client that sends more than fits ----------------------------------------------------------

class SmallQueue : public ::testing::Test {
 protected:
  static NodeConfig config() {
    NodeConfig c = node_config(kAlpha);
    c.sap.queue.client_updus_max = 10;
    return c;
  }
  Medium medium;
  Medium::Station& alpha = medium.add(config());
  Medium::Station& bravo = medium.add(node_config(kBravo));
};

TEST_F(SmallQueue, frames_behind_a_pause_are_kept_and_served_after_it) {
  const ClientId from = medium.connect(alpha);
  const ClientId to = medium.connect(bravo);
  medium.send(alpha, from, bind_to(3, sis::Confirmation::node));
  medium.send(bravo, to, bind_to(3, sis::Confirmation::none));
  Bytes all;
  for (std::size_t i = 0; i < 100; ++i) sis::encode(request_to(kBravo, 3, message(i, 20)), all);
  medium.send_bytes(alpha, from, all);
  EXPECT_TRUE(alpha.clients.at(from).paused);
  EXPECT_EQ(alpha.node.counters()[Counter::updus_accepted], 10u);

  medium.run_for(minutes(30));

  EXPECT_FALSE(alpha.clients.at(from).paused);
  const auto got = bravo.clients.at(to).all<sis::UnidataIndication>();
  ASSERT_EQ(got.size(), 100u);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(got[i].updu, message(i, 20));
  EXPECT_EQ(alpha.clients.at(from).all<sis::UnidataRequestConfirm>().size(), 100u);
  EXPECT_EQ(alpha.clients.at(from).all<sis::DataFlowOff>().size(),
            alpha.clients.at(from).all<sis::DataFlowOn>().size());
}

TEST_F(SmallQueue, octets_read_in_spite_of_a_pause_are_bounded) {
  const ClientId from = medium.connect(alpha);
  medium.send(alpha, from, bind_to(3, sis::Confirmation::none));
  for (std::size_t i = 0; i < 10; ++i) {
    medium.send(alpha, from, request_to(kBravo, 3, message(i, 20)));
  }
  Bytes more;
  sis::encode(request_to(kBravo, 3, message(10, 20)), more);
  more.resize(config().client_input_octets_max);
  medium.send_bytes(alpha, from, more);
  ASSERT_TRUE(alpha.clients.at(from).paused);
  EXPECT_FALSE(alpha.clients.at(from).closed);
  medium.send_bytes(alpha, from, Bytes(1));
  EXPECT_TRUE(alpha.clients.at(from).closed);
}

// Clients that borrow storage leave less room for all, so a client may have to wait for them.
class LentStorage : public ::testing::Test {
 protected:
  LentStorage() {
    medium.silent = true;
    medium.send(alpha, innocent, bind_to(3, sis::Confirmation::none));
    medium.send(alpha, greedy, bind_to(4, sis::Confirmation::none));
  }
  static NodeConfig config() {
    NodeConfig c = node_config(kAlpha);
    c.sap.queue.client_octets_max = 64 * 1024;
    c.sap.queue.client_octets_reserved = 4096;
    c.sap.queue.lent_octets_max = 16 * 1024;
    return c;
  }
  /// Uses most of its own share, which is far less than the storage that can be borrowed.
  void use_own_share() {
    medium.send(alpha, innocent, request_to(kBravo, 3, message(0, 2000)));
    medium.send(alpha, innocent, request_to(kBravo, 3, message(1, 1000)));
    ASSERT_TRUE(alpha.clients.at(innocent).all<sis::DataFlowOff>().empty());
  }
  void borrow_the_rest() {
    for (std::size_t i = 0; i < 10; ++i) {
      medium.send(alpha, greedy, request_to(kBravo, 3, message(i, 2000)));
    }
    ASSERT_EQ(alpha.clients.at(innocent).all<sis::DataFlowOff>().size(), 1u);
  }

  Medium medium;
  Medium::Station& alpha = medium.add(config());
  const ClientId innocent = medium.connect(alpha);
  const ClientId greedy = medium.connect(alpha);
};

TEST_F(LentStorage, who_is_full_because_of_another_still_has_its_control_primitives_served) {
  sis::HardLinkEstablish ask;
  ask.link = {sis::HardLinkType::link_reservation, 0, SapId{3}, Address{kBravo}};
  medium.send(alpha, innocent, ask);
  use_own_share();
  borrow_the_rest();
  const ClientLog& log = alpha.clients.at(innocent);
  EXPECT_FALSE(log.paused);

  medium.send(alpha, innocent, sis::KeepAlive{});  // [A.2.1.17(1)]
  EXPECT_EQ(log.all<sis::KeepAlive>().size(), 1u);
  medium.send(alpha, innocent, sis::HardLinkTerminate{Address{kBravo}});  // [A.2.1.19(4)]
  EXPECT_EQ(log.all<sis::HardLinkRejected>().size(), 1u);
  EXPECT_TRUE(alpha.node.status().hard_links.empty());

  const std::uint64_t accepted = alpha.node.counters()[Counter::updus_accepted];
  sis::ExpeditedUnidataRequest expedited;
  expedited.destination = Address{kBravo};
  expedited.updu = message(2, 2000);
  medium.send(alpha, innocent, expedited);
  medium.send(alpha, innocent, sis::UnbindRequest{});
  EXPECT_TRUE(log.paused) << "one behind the other";
  EXPECT_EQ(alpha.node.counters()[Counter::updus_accepted], accepted);
  EXPECT_EQ(alpha.node.counters()[Counter::updus_refused], 0u);

  medium.disconnect(alpha, greedy);
  EXPECT_FALSE(log.paused);
  EXPECT_EQ(alpha.node.counters()[Counter::updus_accepted], accepted + 1);
  EXPECT_FALSE(alpha.node.status().clients.at(0).bound);
}

// A.2.1.17(2)
TEST_F(LentStorage, a_keep_alive_behind_a_updu_that_waited_is_not_answered_late) {
  use_own_share();
  borrow_the_rest();
  medium.send(alpha, innocent, request_to(kBravo, 3, message(2, 2000)));
  medium.send(alpha, innocent, sis::KeepAlive{});
  const ClientLog& log = alpha.clients.at(innocent);
  ASSERT_TRUE(log.paused);
  medium.run_for(seconds(11));
  medium.disconnect(alpha, greedy);
  ASSERT_FALSE(log.paused);
  EXPECT_TRUE(log.all<sis::KeepAlive>().empty());
  medium.send(alpha, innocent, sis::KeepAlive{});
  EXPECT_EQ(log.all<sis::KeepAlive>().size(), 1u);
}

TEST_F(LentStorage, who_is_paused_in_half_a_primitive_because_of_another_is_not_closed_for_it) {
  use_own_share();
  medium.send_bytes(alpha, innocent, *from_hex("90EB00 0011 14 53"));
  borrow_the_rest();
  ASSERT_TRUE(alpha.clients.at(innocent).paused);
  medium.run_for(2 * config().partial_primitive_timeout);
  ASSERT_TRUE(alpha.clients.at(innocent).paused);
  EXPECT_FALSE(alpha.clients.at(innocent).closed);
  EXPECT_EQ(alpha.node.counters()[Counter::updus_dropped], 0u);
}

TEST_F(SmallQueue, status_tells_what_is_queued_and_what_has_crossed) {
  const ClientId from = medium.connect(alpha);
  const ClientId to = medium.connect(bravo);
  medium.send(alpha, from, bind_to(3, sis::Confirmation::none));
  medium.send(bravo, to, bind_to(3, sis::Confirmation::none));
  for (std::size_t i = 0; i < 4; ++i) {
    medium.send(alpha, from, request_to(kBravo, 3, message(i, 500)));
  }
  NodeStatus status = alpha.node.status();
  EXPECT_EQ(status.address, Address{kAlpha});
  ASSERT_EQ(status.clients.size(), 1u);
  EXPECT_TRUE(status.clients[0].bound);
  EXPECT_EQ(status.clients[0].queued_updus, 4u);
  ASSERT_EQ(status.links.size(), 1u);
  EXPECT_EQ(status.links[0].peer, Address{kBravo});
  EXPECT_EQ(status.links[0].state, cas::LinkState::calling);
  EXPECT_EQ(status.links[0].queued_octets, 2000u);
  medium.run_for(seconds(25));
  status = alpha.node.status();
  EXPECT_EQ(status.links[0].state, cas::LinkState::made);
  EXPECT_EQ(status.links[0].queued_octets, 0u);
  EXPECT_EQ(status.links[0].acknowledged_octets, 2000u);
  EXPECT_EQ(bravo.node.status().links[0].received_octets, 2000u);
}

/// The most clients that may be bound hold the most small U_PDUs that each may store. The pump of
/// Node has a limit of steps for one event, and these events need the most steps.
class FullStorage : public ::testing::Test {
 protected:
  static NodeConfig config() {
    NodeConfig config = node_config(kAlpha);
    config.client_rate = {.primitives_per_second_max = 0, .octets_per_second_max = 0};
    return config;
  }
  FullStorage() {
    for (std::uint8_t sap = 0; sap < 15; ++sap) {
      const ClientId client = medium.connect(alpha);
      medium.send(alpha, client,
                  bind_to(static_cast<std::uint8_t>(sap + 1), sis::Confirmation::node));
      clients.push_back(client);
    }
  }
  std::size_t queued() { return alpha.node.status().holdings.updus_queued; }
  std::size_t below() { return alpha.node.status().holdings.updus_below; }
  void fill() {
    for (const ClientId client : clients) {
      const std::size_t share = 32768 / clients.size();
      for (std::size_t i = 0; i < share && !alpha.clients.at(client).paused; ++i) {
        medium.send(alpha, client, request_to(kBravo, 3, Bytes{1, 2, 3, 4}));
      }
    }
  }

  Medium medium;
  Medium::Station& alpha = medium.add(config());
  Medium::Station& bravo = medium.add(node_config(kBravo));
  std::vector<ClientId> clients;
};

TEST_F(FullStorage, all_that_a_lost_link_gives_back_is_queued_again_within_the_limit_of_steps) {
  fill();
  const std::size_t stored = queued() + below();
  ASSERT_GT(stored, 16000u);
  medium.run_for(seconds(20));
  ASSERT_GT(below(), 5000u);
  const std::uint64_t lost = alpha.node.counters()[Counter::links_lost];
  medium.silent = true;
  for (int i = 0; i < 600 && alpha.node.counters()[Counter::links_lost] == lost; ++i) {
    medium.run_for(seconds(1));
  }
  EXPECT_GT(alpha.node.counters()[Counter::links_lost], lost);
  EXPECT_EQ(below(), 0u);
  EXPECT_GT(alpha.node.counters()[Counter::updus_requeued], 5000u);
}

TEST_F(FullStorage, all_that_a_broadcast_session_rejects_ends_within_the_limit_of_steps) {
  fill();
  ASSERT_GT(queued() + below(), 16000u);
  medium.with(
      [&](Instant now) { EXPECT_TRUE(alpha.node.request_broadcast_session(now, true).ok()); });
  EXPECT_EQ(queued(), 0u);
}

}  // namespace
}  // namespace s5066::test
