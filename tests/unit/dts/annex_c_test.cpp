// SPDX-License-Identifier: Apache-2.0
// These are requirements of Annex C that one station shows alone, by what it sends after it has
// heard something.
#include <gtest/gtest.h>

#include <set>

#include "tests/support/lone_station.h"
#include "tests/unit/dts/dts_world.h"

namespace s5066::dts {
namespace {

constexpr Address kUs{0x01020305};
constexpr Address kPeer{0x01020304};

pdu::Common common(Address to = kUs) {
  return {.eow = {}, .eot_half_s = 1, .destination = to, .source = kPeer};
}

class AnnexC : public ::testing::Test {
 protected:
  explicit AnnexC(Config config = {.address = kUs}) : station(config) { station.made(kPeer); }

  void send(std::uint64_t id, Bytes cpdu, Service service = Service::arq) {
    CpduRequest request{.id = {id}, .service = service, .destination = kPeer};
    request.cpdu = std::move(cpdu);
    station.request(std::move(request));
  }
  void hear_ack(std::uint8_t rx_lwe) { station.hear({pdu::AckOnly{common(), {{rx_lwe}, {}}}}); }
  template <typename T>
  std::vector<T> sent() {
    std::vector<T> out;
    for (auto& dpdu : station.take_sent()) {
      if (auto* one = std::get_if<T>(&dpdu)) out.push_back(std::move(*one));
    }
    return out;
  }
  template <typename T>
  std::vector<T> told() {
    std::vector<T> out;
    for (auto& action : station.take_actions()) {
      if (auto* one = std::get_if<T>(&action)) out.push_back(std::move(*one));
    }
    return out;
  }

  test::LoneStation station;
};

class AnnexC200 : public AnnexC {
 protected:
  AnnexC200() : AnnexC({.address = kUs, .segment_octets = 200, .window = 8}) {}
};

// C.3.3(5), C.3.3(6), C.3.3(14)-(16), C.4.1(2), C.4.1(5)(6), C.4.1(7)(8)
TEST_F(AnnexC, segments_are_of_one_size_but_the_last_and_numbered_in_order) {
  test::LoneStation own({.address = kUs, .segment_octets = 200});
  own.made(kPeer);
  const Bytes first = pattern(2080, 1);
  const Bytes second = pattern(1000, 2);
  own.request({.id = {1}, .destination = kPeer, .cpdu = first});
  own.run_for(50ms);
  own.hear({pdu::Warning{common(), 0, 2}});  // time for the first burst to end
  std::vector<pdu::Data> frames;
  const auto take = [&] {
    for (auto& dpdu : own.take_sent()) frames.push_back(std::get<pdu::Data>(dpdu));
  };
  take();
  ASSERT_EQ(frames.size(), 11u);
  own.request({.id = {2}, .destination = kPeer, .cpdu = second});
  own.hear({pdu::AckOnly{common(), {{11}, {}}}});
  own.run_for(1s);
  take();
  ASSERT_EQ(frames.size(), 16u);  // as in Figure C-33, of one size but for the last
  Bytes got[2];
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const auto& frame = frames[i];
    EXPECT_EQ(frame.number.value, i);
    EXPECT_EQ(frame.segment.size(), i < 10 ? 190u : i == 10 ? 180u : 200u);
    EXPECT_EQ(frame.flags.start, i == 0 || i == 11);
    EXPECT_EQ(frame.flags.end, i == 10 || i == 15);
    EXPECT_EQ(frame.flags.lwe, i == 0 || i == 11);
    EXPECT_EQ(frame.flags.uwe, i == 10 || i == 15);
    EXPECT_FALSE(frame.flags.drop);
    append(got[i > 10], frame.segment);
  }
  EXPECT_EQ(got[0], first);
  EXPECT_EQ(got[1], second);
}

// C.3.3(1)(2), C.4.1(3)(4)
TEST_F(AnnexC, a_small_c_pdu_is_one_d_pdu_that_starts_and_ends_it) {
  send(1, {1, 2, 3});
  const auto frames = sent<pdu::Data>();
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_TRUE(frames[0].flags.start && frames[0].flags.end);
  EXPECT_EQ(frames[0].segment, (Bytes{1, 2, 3}));
  EXPECT_EQ(pdu::common_of(pdu::Dpdu(frames[0])).destination, kPeer);
}

// C.3.3(3), C.3.4(1)(2), C.3.5(1)-(14)
TEST_F(AnnexC, data_is_acknowledged_by_type_1_alone_and_by_type_2_with_data) {
  const pdu::Data data{common(), {.start = true, .end = true}, {0}, {1}};
  station.hear({data});
  station.run_for(2s);
  const auto acks = sent<pdu::AckOnly>();
  ASSERT_FALSE(acks.empty());
  EXPECT_EQ(acks[0].ack.rx_lwe, FrameNumber{1});
  auto next = data;
  next.number = {1};
  station.hear({next});
  send(1, {9});
  station.run_for(2s);
  const auto dpdus = station.take_sent();
  ASSERT_EQ(dpdus.size(), 1u);
  const auto& both = std::get<pdu::DataAck>(dpdus[0]);
  EXPECT_EQ(both.ack.rx_lwe, FrameNumber{2});
  EXPECT_EQ(both.segment, Bytes{9});
  // A DATA of type 2 is acknowledged in the same way.
  station.hear({pdu::DataAck{common(), {.start = true, .end = true}, {2}, {{1}, {}}, {1}}});
  station.run_for(2s);
  EXPECT_EQ(sent<pdu::AckOnly>().at(0).ack.rx_lwe, FrameNumber{3});
  EXPECT_EQ(told<CpduConfirm>().size(), 1u);
}

// C.3.3(11), C.3.3(12), C.6.2(11)
TEST_F(AnnexC200, no_new_frame_goes_out_while_the_window_is_full) {
  send(1, pattern(3000, 1));
  station.run_for(30s);
  std::set<int> numbers;
  for (const auto& frame : sent<pdu::Data>()) numbers.insert(frame.number.value);
  EXPECT_EQ(numbers.size(), 8u);
  EXPECT_EQ(*numbers.rbegin(), 7);
  hear_ack(3);
  station.run_for(2s);
  const auto frames = sent<pdu::Data>();
  ASSERT_EQ(frames.size(), 8u);  // five old frames and three new ones
  EXPECT_EQ(frames.front().number, FrameNumber{3});
  EXPECT_TRUE(frames.front().flags.lwe);
  EXPECT_EQ(frames.back().number, FrameNumber{10});
  EXPECT_TRUE(frames.back().flags.uwe);
}

// C.6.2(2)(3)
TEST_F(AnnexC200, a_frame_keeps_its_number_and_segment_until_it_is_acknowledged) {
  send(1, pattern(1000, 1));
  const auto first = sent<pdu::Data>();
  ASSERT_EQ(first.size(), 5u);
  station.run_for(7s);
  station.take_sent();
  station.hear({pdu::AckOnly{common(), {{1}, {0b0101}}}});  // frames 2 and 4
  station.run_for(2s);
  const auto again = sent<pdu::Data>();
  ASSERT_EQ(again.size(), 2u);
  for (const auto& frame : again) {
    EXPECT_EQ(frame.segment, first.at(frame.number.value).segment);
    EXPECT_TRUE(frame.number == FrameNumber{1} || frame.number == FrameNumber{3});
  }
}

// C.3.3(9)(10)
TEST_F(AnnexC200, an_expired_c_pdu_goes_out_as_empty_drop_frames_to_its_end) {
  CpduRequest request{.id = {1}, .destination = kPeer, .cpdu = pattern(3000, 1)};
  request.time_to_die = station.now() + 8s;
  station.request(std::move(request));
  station.run_for(8100ms);
  ASSERT_EQ(told<CpduRejected>().size(), 1u);
  station.take_sent();
  hear_ack(2);
  station.run_for(3s);
  const auto frames = sent<pdu::Data>();
  ASSERT_EQ(frames.size(), 7u);  // frames 2 to 7, and one more to end it
  for (const auto& frame : frames) {
    EXPECT_TRUE(frame.flags.drop);
    EXPECT_TRUE(frame.segment.empty());
    EXPECT_EQ(frame.flags.end, frame.number == FrameNumber{8});
  }
}

// C.2(3)(5)
TEST_F(AnnexC, what_is_more_urgent_is_segmented_first) {
  send(1, {1});  // this one is on the air
  for (const auto priority : {std::uint8_t{2}, std::uint8_t{9}, std::uint8_t{5}}) {
    CpduRequest request{.id = {priority}, .destination = kPeer, .cpdu = {priority}};
    request.priority = priority;
    station.request(std::move(request));
  }
  station.take_sent();
  hear_ack(1);
  station.run_for(2s);
  const auto frames = sent<pdu::Data>();
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(frames[0].segment, Bytes{9});
  EXPECT_EQ(frames[1].segment, Bytes{5});
  EXPECT_EQ(frames[2].segment, Bytes{2});
}

TEST_F(AnnexC, a_damaged_segment_leaves_what_its_header_says) {
  send(1, {1});
  Bytes octets;
  pdu::encode(
      pdu::DataAck{{.eow = {4, 0xF6}, .eot_half_s = 20, .destination = kUs, .source = kPeer},
                   {.start = true, .end = true},
                   {0},
                   {{1}, {}},
                   {7}},
      octets);
  octets.back() ^= 1;
  station.hear(octets);
  // The acknowledgement of the frame.
  EXPECT_EQ(told<CpduConfirm>().size(), 1u);
  EXPECT_EQ(station.dts().connection_status(kPeer)->capabilities,
            0xF6);                                              // the wire message of the frame
  EXPECT_TRUE(station.dts().channel_busy(station.now() + 9s));  // the EOT of the frame
  station.take_sent();
  station.run_for(15s);
  // The segment of the frame does not count.
  EXPECT_EQ(sent<pdu::AckOnly>().at(0).ack.rx_lwe, FrameNumber{0});
}

// C.2(4)(6), C.3.10(13)-(15)
TEST(AnnexCGroups, groups_are_heard_where_subscribed_and_never_answered) {
  const Address group{0x0000ABCD, true};
  const Address other{0x0000ABCE, true};
  test::LoneStation station({.address = kUs, .groups = {group}});
  std::size_t heard = 0;
  std::uint16_t id = 0;
  for (const Address to : {group, other, Address::all_stations(), kUs}) {
    for (const bool expedited : {false, true}) {
      pdu::Nonarq nonarq{.common = common(to), .expedited = expedited, .cpdu_id = ++id};
      nonarq.cpdu_size = 1;
      nonarq.segment = {1};
      station.hear({nonarq});
      station.run_for(5s);
      for (const auto& action : station.take_actions()) {
        if (const auto* indication = std::get_if<CpduIndication>(&action)) {
          ++heard;
          EXPECT_EQ(indication->destination, to);
          EXPECT_EQ(indication->source, kPeer);
          EXPECT_EQ(indication->service, expedited ? Service::expedited_nonarq : Service::nonarq);
        }
      }
    }
  }
  EXPECT_EQ(heard, 6u);
  EXPECT_EQ(station.counters()[Counter::dpdus_for_others], 2u);
  EXPECT_TRUE(station.take_sent().empty());
}

// C.2(7)(8), C.3.12(7)(8)
TEST_F(AnnexC, warnings_of_either_side_are_told_with_address_reason_and_type) {
  station.hear({pdu::Warning{common(), 4, 3}});
  const auto received = told<WarningReceived>();
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].peer, kPeer);
  EXPECT_EQ(received[0].received_type, 4);
  EXPECT_EQ(received[0].reason, 3);
  auto unknown = common();
  unknown.source = {0x0A0B0C0D};
  station.hear({pdu::Data{unknown, {.start = true, .end = true}, {0}, {1}}});
  station.run_for(3s);
  const auto transmitted = told<WarningTransmitted>();
  ASSERT_EQ(transmitted.size(), 1u);
  EXPECT_EQ(transmitted[0].peer, unknown.source);
  EXPECT_EQ(transmitted[0].received_type, 0);
  EXPECT_EQ(transmitted[0].reason, 1);
  const auto traced = station.traced(TraceKind::warning_sent);
  ASSERT_EQ(traced.size(), 1u);
  EXPECT_EQ(traced[0].peer, unknown.source);
  EXPECT_EQ(traced[0].a, 0);
  EXPECT_EQ(traced[0].b, 1);
  EXPECT_EQ(sent<pdu::Warning>().size(), 1u);  // it is neither acknowledged nor repeated
  station.run_for(5min);
  EXPECT_TRUE(station.take_sent().empty());
}

// C.3.9(3)
TEST_F(AnnexC, a_type_6_goes_before_all_else_to_that_peer) {
  send(1, {1});
  station.run_for(1s);
  station.take_sent();
  station.hear({pdu::AckOnly{common(), {{1}, {}}}});
  send(2, {2});
  station.take_sent();
  station.hear({pdu::Data{common(), {.start = true, .end = true}, {0}, {5}},
                pdu::Management{.common = common(), .valid = true, .frame_id = 3}});
  send(3, {3});
  station.run_for(3s);
  const auto dpdus = station.take_sent();
  ASSERT_FALSE(dpdus.empty());
  EXPECT_TRUE(std::holds_alternative<pdu::Management>(dpdus.front()));
}

// C.6.1.3(3)(4), C.6.1.3(9)(10)
TEST_F(AnnexC, a_broken_link_takes_its_expedited_data_with_it_on_both_sides) {
  station.hear({pdu::ExpeditedData{common(), true, false, 1, {0}, {1}}});
  send(1, {7}, Service::expedited_arq);
  station.terminated(kPeer);
  EXPECT_EQ(told<CpduRejected>().size(), 1u);
  station.made(kPeer);
  station.take_sent();
  station.hear({pdu::ExpeditedData{common(), false, true, 1, {1}, {2}}});
  EXPECT_TRUE(told<CpduIndication>().empty());
  send(2, {8}, Service::expedited_arq);
  station.run_for(10s);
  const auto frames = sent<pdu::ExpeditedData>();
  ASSERT_FALSE(frames.empty());
  EXPECT_EQ(frames[0].number, FrameNumber{0});
  EXPECT_EQ(frames[0].segment, Bytes{8});
}

}  // namespace
}  // namespace s5066::dts
