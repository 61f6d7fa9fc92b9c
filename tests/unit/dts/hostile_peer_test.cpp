// SPDX-License-Identifier: Apache-2.0
// These peers break the rules on purpose. Each violation is counted, answered as the clause says,
// and harms no other link.
#include <gtest/gtest.h>

#include <functional>

#include "tests/support/dpdu_samples.h"
#include "tests/support/lone_station.h"
#include "tests/unit/dts/dts_world.h"

namespace s5066::dts {
namespace {

constexpr Address kUs{0x01020305};
constexpr Address kFriend{0x01020304};
constexpr Address kFoe{0x01020306};

pdu::Common from(Address source) {
  return {.eow = {}, .eot_half_s = 1, .destination = kUs, .source = source};
}

/// Has links to a friend and to a foe. After each transmission of the foe the friend sends a C_PDU
/// and is sent one. Both must arrive and be acknowledged, whatever the foe does.
class HostilePeer : public ::testing::Test {
 protected:
  HostilePeer() : station({.address = kUs}) {
    station.made(kFriend);
    station.made(kFoe);
  }

  void endure(int rounds, const std::function<std::vector<pdu::Dpdu>(int)>& foe) {
    for (int round = 0; round < rounds; ++round) {
      SCOPED_TRACE("round " + std::to_string(round));
      station.hear(foe(round));
      station.run_for(1s);
      const auto number = static_cast<std::uint8_t>(round);
      station.request({.id = {static_cast<std::uint64_t>(round)},
                       .service = Service::arq,
                       .destination = kFriend,
                       .cpdu = {number, 1}});
      bool acknowledged = false;
      bool sent = false;
      // The friend takes as many turns as a station that needs a poll or two.
      for (int turn = 0; turn < 8 && !(acknowledged && sent); ++turn) {
        station.hear({pdu::DataAck{from(kFriend),
                                   {.start = true, .end = true, .in_order = true},
                                   {number},
                                   {{static_cast<std::uint8_t>(round + sent)}, {}},
                                   {number}}});
        station.run_for(20s);
        for (const auto& dpdu : station.take_sent()) {
          if (pdu::common_of(dpdu).destination != kFriend) continue;
          const auto* ack = std::get_if<pdu::AckOnly>(&dpdu);
          const auto* both = std::get_if<pdu::DataAck>(&dpdu);
          const auto* data = std::get_if<pdu::Data>(&dpdu);
          const FrameNumber next = FrameNumber{number} + 1;
          acknowledged = acknowledged || (ack && ack->ack.rx_lwe == next) ||
                         (both && both->ack.rx_lwe == next);
          sent = sent || (data && data->number == FrameNumber{number}) ||
                 (both && both->number == FrameNumber{number});
        }
      }
      ASSERT_TRUE(acknowledged && sent);
      station.hear({pdu::AckOnly{from(kFriend), {FrameNumber{number} + 1, {}}}});
      station.run_for(1s);
    }
    std::size_t confirmed = 0;
    std::size_t indicated = 0;
    for (const auto& action : station.take_actions()) {
      confirmed += std::holds_alternative<CpduConfirm>(action);
      const auto* indication = std::get_if<CpduIndication>(&action);
      if (indication && indication->source == kFriend) {
        EXPECT_EQ(indication->cpdu, Bytes{static_cast<std::uint8_t>(indicated)});
        ++indicated;
      }
      if (indication && indication->source != kFriend) ++of_foe;
      const auto* lost = std::get_if<ConnectionLost>(&action);
      if (lost) {
        EXPECT_NE(lost->peer, kFriend);
      }
    }
    EXPECT_EQ(confirmed, static_cast<std::size_t>(rounds));
    EXPECT_EQ(indicated, static_cast<std::size_t>(rounds));
    EXPECT_LE(station.dts().peers_known(), Config{}.peers_max);
  }

  test::LoneStation station;
  std::size_t of_foe = 0;
};

// C.6.2(15), C.6.3.2(2)-(7)
TEST_F(HostilePeer, frames_and_acknowledgements_outside_the_window_are_neither_taken_nor_answered) {
  Rng rng(1);
  endure(40, [&](int round) -> std::vector<pdu::Dpdu> {
    // Frame 1 leaves a gap at 0, so that some numbers are outside the window.
    if (round == 0) return {pdu::Data{from(kFoe), {.start = true, .end = true}, {1}, {1}}};
    const auto wild = static_cast<std::uint8_t>(130 + rng.below(4));
    return {pdu::Data{from(kFoe), {.start = true, .end = true, .uwe = true}, {wild}, {2}},
            pdu::AckOnly{from(kFoe), {{wild}, {0xFF}}}};
  });
  // Three transmissions disagree, then resets get no answer, and then that link ends.
  EXPECT_EQ(station.counters()[Counter::frames_out_of_window], 3u);
  EXPECT_EQ(station.counters()[Counter::windows_resynced], 1u);
  EXPECT_EQ(station.dts().transfer_state(kFoe), TransferState::idle_unconnected);
  EXPECT_EQ(of_foe, 1u);
}

// C.6.2(1)(2)
TEST_F(HostilePeer, replayed_frames_are_acknowledged_again_and_delivered_once) {
  const std::vector<pdu::Dpdu> recorded = {
      pdu::Data{from(kFoe), {.start = true, .end = true, .in_order = true}, {0}, {1, 2, 3}},
      pdu::ExpeditedData{from(kFoe), true, true, 1, {0}, {4}},
      pdu::Management{.common = from(kFoe), .valid = true, .frame_id = 200}};
  endure(40, [&](int) { return recorded; });
  EXPECT_EQ(of_foe, 2u);
  EXPECT_EQ(station.counters()[Counter::frames_duplicate], 78u);
  EXPECT_EQ(station.counters()[Counter::managements_repeated], 39u);
}

// C.3.12(1): one WARNING for each peer and type, however many frames drew it, and a bounded number.
TEST_F(HostilePeer, a_station_that_keeps_changing_its_address_fills_nothing_up) {
  Rng rng(3);
  std::size_t warnings = 0;
  endure(20, [&](int) {
    std::vector<pdu::Dpdu> all;
    for (int i = 0; i < 60; ++i) {
      auto dpdu = test::random_dpdu(rng, 10);
      const Address source{0x02000000u + rng.below(1u << 20)};
      std::visit([&](auto& d) { d.common = from(source); }, dpdu);
      if (!std::holds_alternative<pdu::Unsupported>(dpdu)) all.push_back(std::move(dpdu));
    }
    return all;
  });
  warnings = station.counters()[Counter::warnings_sent];
  EXPECT_GT(warnings, 20u);
  EXPECT_LE(warnings, 20u * kWarningsMax);
}

TEST_F(HostilePeer, a_flood_of_expedited_data_does_not_hold_up_another_link) {
  endure(40, [&](int round) {
    std::vector<pdu::Dpdu> all;
    for (int i = 0; i < 30; ++i) {
      const auto id = static_cast<std::uint8_t>((round * 30 + i) % 16);
      all.push_back(pdu::ExpeditedData{from(kFoe), true, i % 2 == 0, id, {0}, {9}});
    }
    return all;
  });
  EXPECT_EQ(of_foe, 40u * 15);
}

TEST_F(HostilePeer, a_flood_of_type_6_does_not_hold_up_another_link) {
  int id = 0;
  endure(40, [&](int) {
    std::vector<pdu::Dpdu> all;
    for (int i = 0; i < 30; ++i) {
      pdu::Management management{.common = from(kFoe), .valid = true};
      management.common.eow = {static_cast<std::uint8_t>(id % 16), static_cast<std::uint8_t>(id)};
      management.frame_id = static_cast<std::uint8_t>(++id);
      all.push_back(management);
    }
    return all;
  });
}

pdu::Management request_from(Address source, std::uint8_t id) {
  pdu::Management management{.common = from(source), .valid = true, .frame_id = id};
  management.common.eow = pdu::make_eow(pdu::EowType::drc_request, pdu::DrcRequest{.rate = 3});
  return management;
}

// Goal:   data for others goes out although the foe always asks for something.
// Method: the friend sends one C_PDU at the beginning. After that only the foe sends.
TEST_F(HostilePeer, who_asks_all_the_time_keeps_nothing_from_those_who_wait) {
  for (const auto waiting : {Service::arq, Service::nonarq, Service::expedited_nonarq}) {
    SCOPED_TRACE(static_cast<int>(waiting));
    static_cast<void>(station.take_sent());
    const bool arq = waiting == Service::arq;
    const pdu::Data question{
        from(kFriend), {.start = true, .end = true, .in_order = true}, {0}, {1}};
    if (arq) {
      station.hear({question, request_from(kFoe, 200)});
    } else {
      station.request(
          {.id = {1}, .service = waiting, .destination = Address{0x01020399}, .cpdu = {1}});
    }
    bool out = false;
    for (int round = 0; round < 8 && !out; ++round) {
      station.hear({request_from(kFoe, static_cast<std::uint8_t>(round))});
      station.run_for(4s);
      for (const auto& dpdu : station.take_sent()) {
        const Address to = pdu::common_of(dpdu).destination;
        out = out || to == (arq ? kFriend : Address{0x01020399});
      }
    }
    EXPECT_TRUE(out);
  }
}

// Goal:   answers to a station that asks all the time do not hold up another link.
// Method: the foe asks by type 8, type 6 or both right after each of our transmissions, linked or
//         not. Each type 8 is answered like link control.
TEST(HostileCaller, answers_of_link_control_hold_up_no_other_link) {
  for (int variant = 0; variant < 8; ++variant) {
    SCOPED_TRACE(variant);
    const bool linked = variant & 1;
    const bool manages = variant & 2;
    const bool speaks_at_once = variant & 4;
    test::LoneStation station({.address = kUs});
    station.made(kFriend);
    if (linked) station.made(kFoe);
    std::uint64_t id = 0;
    while (id < 20) {
      station.request({.id = {++id},
                       .service = Service::arq,
                       .destination = kFriend,
                       .cpdu = {static_cast<std::uint8_t>(id)}});
    }
    std::size_t confirmed = 0;
    std::size_t answered = 0;
    for (int round = 0; round < 60; ++round) {
      const auto number = static_cast<std::uint8_t>(round);
      std::vector<pdu::Dpdu> foe = {pdu::Nonarq{.common = from(kFoe),
                                                .expedited = true,
                                                .cpdu_id = number,
                                                .cpdu_size = 1,
                                                .window_half_s = 20,
                                                .segment = {0x44}}};
      if (manages) foe.push_back(request_from(kFoe, number));
      station.hear(foe);
      station.request({.id = {++id},
                       .service = Service::expedited_nonarq,
                       .destination = kFoe,
                       .cpdu = {0x50},
                       .in_order = false,
                       .time_to_die = station.now() + 60s});
      station.run_for(speaks_at_once ? 1s : 4s);
      std::optional<FrameNumber> next;
      for (const auto& dpdu : station.take_sent()) {
        const auto* data = std::get_if<pdu::Data>(&dpdu);
        if (data) next = data->number + 1;
        answered += std::holds_alternative<pdu::Nonarq>(dpdu);
      }
      if (next) station.hear({pdu::AckOnly{from(kFriend), {*next, {}}}});
      for (const auto& action : station.take_actions()) {
        const auto* confirm = std::get_if<CpduConfirm>(&action);
        confirmed += confirm && confirm->id.value <= 20;
        EXPECT_FALSE(std::holds_alternative<ConnectionLost>(action));
      }
    }
    EXPECT_EQ(confirmed, 20u);
    // Without a link no type 8 goes beside a type 6 that is in progress (C.6.1.2(1)).
    if (linked || !manages) {
      EXPECT_GT(answered, 0u);
    }
  }
}

// Goal:   a peer is not displaced while something for it is on the air.
// Method: no other peer can make room. A request for yet another station comes meanwhile.
TEST(HostileCrowd, a_peer_is_not_displaced_by_a_request_while_it_is_answered) {
  test::LoneStation station({.address = kUs, .peers_max = 4});
  std::vector<pdu::Dpdu> all;
  for (std::uint32_t i = 0; i < 4; ++i) {
    all.push_back(pdu::Management{.common = from({0x02000000u + i}), .valid = true});
  }
  station.hear(all);
  for (std::uint32_t i = 0; i < 60; ++i) {
    station.request({.id = {i},
                     .service = Service::nonarq,
                     .destination = Address{0x03000000u + i},
                     .cpdu = {1}});
    station.run_for(500ms);
  }
  station.run_for(10min);
  EXPECT_LE(station.dts().peers_known(), 4u);
}

TEST_F(HostilePeer, somebody_else_with_our_address_or_the_friends_does_not_crash_the_station) {
  Rng rng(5);
  for (int i = 0; i < 200; ++i) {
    auto dpdu = test::random_dpdu(rng, 10);
    if (std::holds_alternative<pdu::Unsupported>(dpdu)) continue;
    const Address source = i % 2 == 0 ? kUs : kFriend;
    std::visit([&](auto& d) { d.common = from(source); }, dpdu);
    station.hear({dpdu});
    station.run_for(5s);
  }
  EXPECT_EQ(station.dts().peers_known(), 2u);  // our own address does not count
}

// C.3.9(17): the numbers of messages begin anew with the connection.
TEST_F(HostilePeer, a_station_that_calls_again_after_no_more_than_a_type_6_is_answered_anew) {
  station.hear({request_from(kFriend, 0)});
  station.run_for(4s);
  static_cast<void>(station.take_sent());
  station.made(kFriend);
  const auto repeated = station.counters()[Counter::managements_repeated];
  station.hear({request_from(kFriend, 0)});
  station.run_for(4s);
  EXPECT_EQ(station.counters()[Counter::managements_repeated], repeated);
  EXPECT_FALSE(station.take_sent().empty());
}

// Goal:   a message that is owed to a peer goes in the first header that has room for it.
// Method: the headers of the first transmissions of a connection carry our offers. C.5.3
TEST_F(HostilePeer, an_answer_to_an_unknown_message_is_not_lost_where_a_header_is_taken) {
  std::size_t told = 0;
  for (std::uint8_t round = 0; round < 8; ++round) {
    pdu::Data data{
        from(kFriend), {.start = true, .end = true, .in_order = true}, {round}, {1, round}};
    if (round == 0) data.common.eow = {.type = 9, .contents = 1};
    station.hear({data});
    station.run_for(20s);
    for (const auto& dpdu : station.take_sent()) {
      told += pdu::common_of(dpdu).eow == pdu::make_unrecognised(9);
    }
  }
  EXPECT_GT(told, 0u);
}

}  // namespace
}  // namespace s5066::dts
