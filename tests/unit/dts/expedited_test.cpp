// SPDX-License-Identifier: Apache-2.0
// These tests cover expedited data with acknowledgement: types 4 and 5 (C.3.7, C.3.8, C.6.1.3).
#include "s5066d/dts/connection.h"
#include "tests/support/seeds.h"
#include "tests/unit/dts/dts_world.h"

namespace s5066::dts {
namespace {

class Expedited : public ::testing::Test {
 protected:
  static constexpr Address kUs{0x01020301};
  static constexpr Address kPeer{0x01020302};

  void request(std::uint64_t id, std::size_t octets, Service service = Service::expedited_arq,
               std::optional<Instant> ttd = {}) {
    ASSERT_TRUE(ours.request({.id = {id},
                              .service = service,
                              .destination = kPeer,
                              .cpdu = pattern(octets, id),
                              .time_to_die = ttd}));
  }
  std::vector<pdu::Dpdu> fill(Connection& from) {
    IntervalBudget budget({}, 60s);
    BurstBuilder burst;
    from.fill(false, budget, burst);
    from.on_transmitted(true);
    return burst.dpdus();
  }
  static Connection::Config config() {
    return {.self = kUs,
            .regular = {200, 128, 100000, false},
            .expedited = {200, 128, 5000, true},
            .held_octets_max = 100'000};
  }
  /// Hands the expedited D_PDUs of a transmission to the other end.
  void hear(Connection& at, std::vector<pdu::Dpdu> dpdus, bool ok = true) {
    for (auto& dpdu : dpdus) {
      if (auto* data = std::get_if<pdu::ExpeditedData>(&dpdu)) at.on_expedited_data(*data, ok);
      if (auto* ack = std::get_if<pdu::ExpeditedAck>(&dpdu)) {
        EXPECT_EQ(at.on_expedited_ack(ack->ack), Connection::Verdict::taken);
      }
    }
  }
  static pdu::ExpeditedData data(int id, int number, std::string_view flags, Bytes segment) {
    return {.common = {},
            .start = flags.find('S') != flags.npos,
            .end = flags.find('E') != flags.npos,
            .cpdu_id = static_cast<std::uint8_t>(id),
            .number = {static_cast<std::uint8_t>(number)},
            .segment = std::move(segment)};
  }
  std::vector<std::uint64_t> confirmed() {
    std::vector<std::uint64_t> ids;
    while (auto outcome = ours.poll_outcome()) {
      if (auto* confirm = std::get_if<CpduConfirm>(&*outcome)) ids.push_back(confirm->id.value);
    }
    return ids;
  }

  Counters counters;
  Connection ours{kPeer, config(), counters};
  Connection theirs{kUs, config(), counters};
};

// C.3.7(1), C.6.1.3(8), C.3.7(9), C.6.1.3(1)(2), C.6.1.3(7)(8)
TEST_F(Expedited, each_c_pdu_counts_its_frames_from_0_and_has_the_next_id) {
  request(1, 450);
  request(2, 100);
  const auto first = fill(ours);
  ASSERT_EQ(first.size(), 3u);
  const auto& start = std::get<pdu::ExpeditedData>(first[0]);
  EXPECT_TRUE(start.start);
  EXPECT_EQ(start.number, FrameNumber{0});
  EXPECT_TRUE(std::get<pdu::ExpeditedData>(first[2]).end);
  hear(theirs, first);
  EXPECT_EQ(theirs.poll_cpdu()->cpdu, pattern(450, 1));
  hear(ours, fill(theirs));
  EXPECT_EQ(confirmed(), std::vector<std::uint64_t>{1});
  const auto second = fill(ours);
  ASSERT_EQ(second.size(), 1u);
  const auto& other = std::get<pdu::ExpeditedData>(second[0]);
  EXPECT_EQ(other.number, FrameNumber{0});
  EXPECT_EQ(other.cpdu_id, (start.cpdu_id + 1) & 15);
}

// C.6.1.3(5)(6)
TEST_F(Expedited, the_next_c_pdu_waits_until_all_of_the_one_before_is_acknowledged) {
  request(1, 450);
  request(2, 100);
  auto sent = fill(ours);
  sent.erase(sent.begin() + 1);
  hear(theirs, sent);
  hear(ours, fill(theirs));
  EXPECT_TRUE(confirmed().empty());
  const auto again = fill(ours);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(std::get<pdu::ExpeditedData>(again[0]).number, FrameNumber{1});
}

// C.3.7(12)(13)
TEST_F(Expedited, regular_data_rests_meanwhile_but_its_acknowledgements_do_not) {
  request(1, 100, Service::arq);
  request(2, 100);
  theirs.on_data(FrameNumber{0}, {.start = true, .end = true}, {1}, true);
  ASSERT_EQ(fill(ours).size(), 1u);  // the expedited frame alone
  ours.on_data(FrameNumber{0}, {.start = true, .end = true}, {1}, true);
  ours.on_expedited_ack({.rx_lwe = {0}, .selective = {}});
  const auto sent = fill(ours);
  EXPECT_TRUE(std::holds_alternative<pdu::AckOnly>(sent.front()));
  EXPECT_TRUE(std::holds_alternative<pdu::ExpeditedData>(sent.back()));
  ours.on_expedited_ack({.rx_lwe = {1}, .selective = {}});
  EXPECT_TRUE(std::holds_alternative<pdu::Data>(fill(ours).back()));
}

// C.6.1.3(6)
TEST_F(Expedited, one_repetition_is_acknowledged_once_though_the_windows_are_being_reset) {
  request(1, 100);
  hear(theirs, fill(ours));
  theirs.begin_with_reset();
  const auto first = fill(theirs);
  EXPECT_TRUE(std::holds_alternative<pdu::ExpeditedAck>(first.front()));
  EXPECT_TRUE(std::holds_alternative<pdu::Reset>(first.back()));
  for (const auto& dpdu : fill(theirs)) {
    EXPECT_TRUE(std::holds_alternative<pdu::Reset>(dpdu));
  }
}

// C.6.5(6)-(18)
TEST_F(Expedited, a_full_reset_leaves_nothing_of_a_c_pdu_that_came_in_part) {
  request(1, 450);
  auto half = fill(ours);
  const auto id = std::get<pdu::ExpeditedData>(half[0]).cpdu_id;
  half.erase(half.begin() + 1);
  hear(theirs, half);
  theirs.on_reset({.common = {}, .full_reset = true, .frame_id = 1});
  EXPECT_FALSE(theirs.poll_cpdu());
  // A peer that has restarted may reach the same C_PDU ID again.
  pdu::ExpeditedData other = std::get<pdu::ExpeditedData>(half[0]);
  other.start = other.end = true;
  other.number = FrameNumber{0};
  other.cpdu_id = id;
  other.segment = {1, 2, 3};
  theirs.on_expedited_data(other, true);
  ASSERT_TRUE(theirs.poll_cpdu().has_value());
}

TEST_F(Expedited, a_c_pdu_that_was_sent_in_part_begins_again_after_a_full_reset) {
  request(1, 450);
  auto half = fill(ours);
  const auto id = std::get<pdu::ExpeditedData>(half[0]).cpdu_id;
  half.pop_back();
  hear(theirs, half);
  hear(ours, fill(theirs));
  const pdu::Reset command{.common = {}, .full_reset = true, .frame_id = 1};
  ours.on_reset(command);
  theirs.on_reset(command);
  auto again = fill(ours);
  ASSERT_EQ(again.size(), 6u);  // includes the acknowledgement of the reset, three times
  again.erase(again.begin(), again.begin() + 3);
  EXPECT_EQ(std::get<pdu::ExpeditedData>(again[0]).number, FrameNumber{0});
  EXPECT_EQ(std::get<pdu::ExpeditedData>(again[0]).cpdu_id, (id + 1) & 15);
  hear(theirs, again);
  ASSERT_EQ(theirs.poll_cpdu()->cpdu, pattern(450, 1));
}

// C.3.7(2)-(8), C.3.8(1)(2)
TEST_F(Expedited, a_repetition_is_acknowledged_again_and_not_delivered_again) {
  request(1, 100);
  const auto sent = fill(ours);
  hear(theirs, sent);
  ASSERT_TRUE(theirs.poll_cpdu());
  fill(theirs);
  hear(theirs, sent);
  EXPECT_FALSE(theirs.poll_cpdu());
  EXPECT_TRUE(theirs.answer_owed());
  hear(ours, fill(theirs));
  EXPECT_EQ(confirmed(), std::vector<std::uint64_t>{1});
}

TEST_F(Expedited, another_id_discards_what_was_incomplete) {
  auto first = data(3, 0, "S", {1});
  theirs.on_expedited_data(first, true);
  auto second = data(4, 1, "E", {4});
  theirs.on_expedited_data(second, true);
  auto third = data(4, 0, "S", {3});
  theirs.on_expedited_data(third, true);
  EXPECT_EQ(theirs.poll_cpdu()->cpdu, (Bytes{3, 4}));
  EXPECT_FALSE(theirs.poll_cpdu());
}

TEST_F(Expedited, a_peer_whose_numbers_run_on_is_understood) {
  for (int i = 0; i < 300; ++i) {
    auto frame = data(i % 16, i % 256, "SE", {static_cast<std::uint8_t>(i)});
    theirs.on_expedited_data(frame, true);
    ASSERT_EQ(theirs.poll_cpdu()->cpdu, Bytes{static_cast<std::uint8_t>(i)}) << i;
  }
}

TEST_F(Expedited, an_acknowledgement_of_nothing_in_flight_is_unexpected_but_a_copy_is_not) {
  EXPECT_EQ(ours.on_expedited_ack({.rx_lwe = {1}, .selective = {}}),
            Connection::Verdict::unexpected);
  request(1, 100);
  fill(ours);
  for (int copy = 0; copy < 3; ++copy) {
    EXPECT_EQ(ours.on_expedited_ack({.rx_lwe = {1}, .selective = {}}), Connection::Verdict::taken);
  }
  EXPECT_EQ(ours.on_expedited_ack({.rx_lwe = {2}, .selective = {}}),
            Connection::Verdict::unexpected);
}

TEST_F(Expedited, an_expired_c_pdu_under_way_is_reported_and_sent_to_its_end) {
  request(1, 450, Service::expedited_arq, Instant(5s));
  request(2, 100, Service::expedited_arq, Instant(5s));
  request(3, 100);
  fill(ours);
  ours.on_deadline(Instant(5s));
  for (const std::uint64_t id : {1u, 2u}) {
    EXPECT_EQ(std::get<CpduRejected>(*ours.poll_outcome()).id.value, id);
  }
  EXPECT_EQ(fill(ours).size(), 1u);  // a poll of the first frame
  ours.on_expedited_ack({.rx_lwe = {3}, .selective = {}});
  EXPECT_FALSE(ours.poll_outcome());
  const auto next = fill(ours);
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(std::get<pdu::ExpeditedData>(next[0]).segment, pattern(100, 3));
}

TEST_F(Expedited, the_queue_limit_is_exact_and_the_end_of_the_link_rejects_everything) {
  request(1, 4000);
  request(2, 1000);
  EXPECT_FALSE(ours.request({.id = {3},
                             .service = Service::expedited_arq,
                             .destination = kPeer,
                             .cpdu = {1},
                             .time_to_die = {}}));
  fill(ours);
  ours.on_terminated();
  for (const std::uint64_t id : {1u, 2u}) {
    const auto outcome = ours.poll_outcome();
    ASSERT_TRUE(outcome);
    EXPECT_EQ(std::get<CpduRejected>(*outcome).id.value, id);
    EXPECT_EQ(std::get<CpduRejected>(*outcome).reason, CpduFailure::not_connected);
  }
  EXPECT_EQ(ours.queued_octets(), 0u);
}

// Goal:   every expedited and regular C_PDU arrives once, each kind in order, both ways.
// Method: loss, missed transmissions and fades. Requests of both kinds come at random times.
// C.2(1)
TEST(ExpeditedTransfer, under_loss_both_kinds_arrive_once_and_in_order_in_both_directions) {
  for (const sim::Seed seed : sim::thinned_seeds(1000)) {
    SCOPED_TRACE(seed);
    DtsWorld world(2, {.frame_loss = 0.2, .missed_sync = 0.05, .fades_per_burst = 0.1}, seed,
                   {.replies_missed_max = 1000});
    expect_both_kinds_once_and_in_order(world, seed, 30);
    for (const std::size_t i : {0u, 1u}) EXPECT_TRUE(world[i].warnings.empty());
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(ExpeditedTransfer, it_overtakes_regular_data) {
  DtsWorld world(2, {}, 1, {.transmission_max = 20s});
  world.connect(0, 1);
  for (std::uint64_t i = 0; i < 50; ++i) world.send(0, 1, i, pattern(2000, i));
  world.run_for(5s);  // the first transmission is on the air
  world.send(0, 1, 1000, pattern(300, 1000), Service::expedited_arq);
  world.run_for(40s);
  std::size_t before = 0;
  while (before < world[1].received.size() &&
         world[1].received[before].service != Service::expedited_arq) {
    ++before;
  }
  ASSERT_LT(before, world[1].received.size());
  EXPECT_LE(before, 4u);  // those of the transmission that was on the air
}

TEST(ExpeditedTransfer, without_a_connection_it_draws_warnings_of_its_types) {
  DtsWorld world(2, {}, 4);
  world.made(0, 1);  // station 1 does not know of the link
  world.send(0, 1, 1, pattern(100, 1), Service::expedited_arq);
  world.run_for(4s);  // time for the transmission and the answer
  ASSERT_EQ(world[0].warnings.size(), 1u);
  EXPECT_EQ(world[0].warnings[0].received_type, 4);
  EXPECT_EQ(world[0].warnings[0].reason, 1);
  world.send(1, 0, 2, {1}, Service::expedited_arq);
  ASSERT_EQ(world[1].rejected.size(), 1u);
  EXPECT_EQ(world[1].rejected[0].reason, CpduFailure::not_connected);
}

}  // namespace
}  // namespace s5066::dts
