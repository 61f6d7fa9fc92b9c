// SPDX-License-Identifier: Apache-2.0
// Unacknowledged data takes several turns here, on a frequency that others use as well.
#include <gtest/gtest.h>

#include "tests/support/lone_station.h"
#include "tests/unit/dts/dts_world.h"

namespace s5066::dts {
namespace {

// Goal:   on a channel without losses confirmed data has arrived whole, and once, however long the
//         turns of others are.
// Method: two stations exchange the longest transmissions. A third station sends C_PDUs that take
//         more than one turn, or go on in the next.
// C.3.10(12), C.3.10(24)-(27)
TEST(NonarqTurns, what_is_confirmed_arrives_whole_behind_long_turns_of_others) {
  for (const std::uint32_t rate : {75u, 300u, 2400u}) {
    SCOPED_TRACE(rate);
    Config config;
    config.mode.rate_bps = rate;
    config.nonarq_queue_octets_max = 4u << 20;
    config.link_queue_octets_max = 64u << 20;
    DtsWorld w(3, {}, 1, config);
    w.connect(1, 2);
    std::uint64_t id = 1;
    const std::size_t holds = modem::capacity(config.mode, kTransmissionMax);
    for (std::size_t i = 0; i < 60 * holds / 2000 + 10; ++i) {
      w.send(1, 2, id++, pattern(2000, i));
    }
    w.run_for(200s);
    const std::size_t cpdus = 3 * holds / 2082 + 1;
    for (std::size_t i = 0; i < cpdus; ++i) {
      w.request(0, {.id = {id++},
                    .service = Service::nonarq,
                    .destination = DtsWorld::address(1),
                    .cpdu = pattern(2054, 1000 + i)});
    }
    w.run_for(8h);
    std::size_t whole = 0;
    for (const auto& cpdu : w[1].received) {
      if (cpdu.service != Service::nonarq) continue;
      EXPECT_TRUE(cpdu.intact());
      ++whole;
    }
    EXPECT_EQ(whole, cpdus);
    EXPECT_EQ(w[0].confirmed.size(), cpdus);
  }
}

// Goal:   a channel that is always occupied does not keep data that takes several turns from its
//         end either.
TEST(NonarqTurns, a_long_c_pdu_ends_over_an_occupied_channel) {
  Config config;
  config.mode.rate_bps = 75;
  for (const std::size_t stations : {2u, 3u}) {
    for (const std::uint8_t repeats : {std::uint8_t{0}, std::uint8_t{3}}) {
      SCOPED_TRACE(testing::Message() << stations << ' ' << int{repeats});
      DtsWorld w(stations, {.power_heard = true}, 1, config);
      w.medium().stick(0);
      w.request(0, {.id = {1},
                    .service = Service::nonarq,
                    .destination = DtsWorld::address(1),
                    .cpdu = pattern(kCpduOctetsMax, 1),
                    .repeats = repeats});
      w.run_for(3h);
      ASSERT_EQ(w[0].confirmed.size(), 1u);
      ASSERT_EQ(w[1].received.size(), 1u);
      EXPECT_TRUE(w[1].received[0].intact());
      EXPECT_GE(w[0].counters[Counter::occupied_sends], 3u);
    }
  }
}

// Goal:   nothing is confirmed that did not arrive whole because the modem aborted it.
// Method: two C_PDUs are sent twice each and in several parts. The transmission of both is aborted
//         once, after 1 to 44 s.
TEST(NonarqTurns, what_is_confirmed_arrives_whole_behind_an_aborted_transmission) {
  Config config;
  config.mode.rate_bps = 300;
  for (Duration abort_after = 1s; abort_after < 45s; abort_after += 1s) {
    SCOPED_TRACE(to_seconds(abort_after));
    DtsWorld w(2, {}, 1, config);
    const std::array cpdus{pattern(600, 1), pattern(500, 2)};
    for (const std::uint64_t id : {0u, 1u}) {
      w.request(0, {.id = {id},
                    .service = Service::nonarq,
                    .destination = DtsWorld::address(1),
                    .cpdu = cpdus[id],
                    .repeats = 1});
    }
    w.run_for(abort_after);
    w.silence(0, true);  // aborts the transmission on the air
    w.run_for(60s);      // the receiver has given it up but still knows it
    w.silence(0, false);
    w.run_for(10min);
    for (const CpduId id : w[0].confirmed) {
      const auto whole = [&](const auto& r) { return r.intact() && r.cpdu == cpdus[id.value]; };
      EXPECT_TRUE(std::any_of(w[1].received.begin(), w[1].received.end(), whole)) << id.value;
    }
    EXPECT_EQ(w[0].confirmed.size(), 2u);
  }
}

// Goal:   an aborted transmission is delivered whole once, however much of it had left.
// Method: four C_PDUs are sent, the second twice. The transmission is aborted after 0.5 to 39.5 s,
//         for a time in which a receiver forgets its parts.
TEST(NonarqTurns, what_was_on_the_air_before_an_abort_is_delivered_once) {
  for (const auto interleaver : {modem::Interleaver::short_, modem::Interleaver::long_}) {
    for (const auto service : {Service::nonarq, Service::expedited_nonarq}) {
      Config config;
      config.mode.rate_bps = 300;
      config.mode.interleaver = interleaver;
      for (Duration abort_after = 500ms; abort_after < 40s; abort_after += 500ms) {
        SCOPED_TRACE(to_seconds(abort_after));
        DtsWorld w(2, {}, 1, config);
        std::vector<Bytes> cpdus;
        for (const std::uint64_t id : {0u, 1u, 2u, 3u}) {
          cpdus.push_back(pattern(150, id + 1));
          w.request(0, {.id = {id},
                        .service = service,
                        .destination = DtsWorld::address(1),
                        .cpdu = cpdus.back(),
                        .repeats = static_cast<std::uint8_t>(id == 1)});
        }
        w.run_for(abort_after);
        w.silence(0, true);
        w.run_for(20min);
        w.silence(0, false);
        w.run_for(10min);
        EXPECT_EQ(w[0].confirmed.size(), 4u);
        for (const Bytes& cpdu : cpdus) {
          const auto is_it = [&](const auto& r) { return r.intact() && r.cpdu == cpdu; };
          EXPECT_EQ(std::count_if(w[1].received.begin(), w[1].received.end(), is_it), 1);
        }
      }
    }
  }
}

// Goal:   an incomplete C_PDU past its window is delivered while a carrier lasts, too, once no part
//         of it can still be in an interleaver.
TEST(NonarqTurns, what_is_incomplete_is_delivered_while_a_carrier_lasts) {
  const Config config{.address = Address{0x01020305}};
  test::LoneStation station(config);
  pdu::Nonarq torn{.common = {.destination = config.address, .source = Address{0x01020304}}};
  torn.cpdu_size = 8;
  torn.window_half_s = 2;
  torn.segment = Bytes(4);
  station.hear({torn});
  station.dts().on_modem_event(station.now(), modem::CarrierUp{station.now(), config.mode, 20, 0});
  station.take_actions();
  station.run_for(13s);  // the longest interleaver's 12.3 s
  EXPECT_TRUE(station.take_actions().empty());
  station.run_for(8s);
  const auto actions = station.take_actions();
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_FALSE(std::get<CpduIndication>(actions[0]).intact());
}

TEST(NonarqTurns, no_interleaver_holds_octets_for_longer_than_is_waited_for) {
  for (const modem::Mode& mode : modem::all_modes()) {
    const Duration block =
        modem::data_duration_of_blocks(mode, 2) - modem::data_duration_of_blocks(mode, 1);
    const double trailer = static_cast<double>(modem::trailer_bits(mode)) / mode.rate_bps;
    EXPECT_LT(to_seconds(block) + trailer, 13) << modem::to_string(mode);
  }
}

// Goal:   a delivered C_PDU stays known whatever comes between, as long as its memory allows.
TEST(NonarqTurns, many_c_pdus_are_known_and_their_memory_is_bounded) {
  constexpr Address kOne{0x01020304};
  constexpr Address kOther{0x01020399};
  constexpr std::size_t kHolds = 100;
  Counters counters;
  Instant now{};
  NonarqReceiver receiver({.known_octets_max = kHolds * 1000}, counters);
  const auto indicated = [&](Address source, std::uint16_t id) {
    pdu::Nonarq dpdu{.common = {.destination = Address{0x01020305}, .source = source}};
    dpdu.cpdu_id = id;
    dpdu.cpdu_size = 744;
    dpdu.window_half_s = 20;
    dpdu.segment = Bytes(744);
    receiver.on_nonarq(now, dpdu, true);
    return receiver.poll_cpdu().has_value();
  };
  for (const bool first : {true, false}) {
    for (std::uint16_t id = kHolds; id-- > 0; now += 1ms) {
      EXPECT_EQ(indicated(id < 10 ? kOne : kOther, id), first) << id;
    }
  }
  EXPECT_TRUE(indicated(kOther, 1000));  // takes the place of the oldest one of its own
  for (std::uint16_t id = 0; id < 10; ++id) EXPECT_FALSE(indicated(kOne, id)) << id;
  for (std::uint16_t id = 10; id < kHolds - 1; ++id) EXPECT_FALSE(indicated(kOther, id)) << id;
  EXPECT_TRUE(indicated(kOther, kHolds - 1));
  now += 70s;  // all are forgotten, so as many have room
  for (std::uint16_t id = 0; id < kHolds; ++id) EXPECT_TRUE(indicated(kOther, id));
  for (std::uint16_t id = 0; id < kHolds; ++id) EXPECT_FALSE(indicated(kOther, id));
}

}  // namespace
}  // namespace s5066::dts
