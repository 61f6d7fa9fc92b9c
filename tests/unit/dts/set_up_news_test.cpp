// SPDX-License-Identifier: Apache-2.0
// Tests what two stations of this suite tell each other in the headers of REQUEST and ACCEPTED, so
// that the first data already goes at the right rate.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/dts/advised_station.h"

namespace s5066::dts {
namespace {

constexpr double kFineDb = 25;

pdu::Nonarq control_from_peer(const pdu::Eow& eow, std::uint16_t id = 1) {
  pdu::Nonarq control{.common = {.eot_half_s = 1, .destination = kUs, .source = kPeer},
                      .expedited = true,
                      .cpdu_id = id,
                      .cpdu_size = 1,
                      .window_half_s = 10,
                      .segment = {0x11}};
  control.common.eow = eow;
  return control;
}

CpduRequest control_to_peer(ControlMode mode = ControlMode::usual) {
  return {.id = {7},
          .service = Service::expedited_nonarq,
          .destination = kPeer,
          .cpdu = {0x22},
          .control_mode = mode};
}

/// Blocks of this mode hold several copies of link control.
constexpr modem::Mode kRoomy{.rate_bps = 2400, .interleaver = Interleaver::short_};

test::LoneStation lone(Config config = adapting()) {
  config.address = kUs;
  test::LoneStation station(config);
  station.set_heard(kSlow, kFineDb);
  return station;
}

/// Returns the types of the EOWs in the headers sent, in order.
std::vector<int> eow_types(test::LoneStation& station) {
  std::vector<int> types;
  for (const auto& dpdu : station.take_sent()) types.push_back(pdu::common_of(dpdu).eow.type);
  return types;
}

bool contains(const std::vector<int>& types, pdu::EowType type) {
  return std::find(types.begin(), types.end(), static_cast<int>(type)) != types.end();
}

pdu::Eow offer() {
  return pdu::make_extensions(extensions(adapting()));
}

pdu::Eow offer_and_advise(const modem::Mode& mode, bool one_choice = false) {
  return pdu::make_eow(*offering_advice(mode, one_choice));
}

// C.5
TEST(SetUpNews, a_call_offers_and_tells_the_capabilities_in_its_copies) {
  Config config = adapting();
  config.mode = kRoomy;
  auto station = lone(config);
  station.request(control_to_peer());
  station.run_for(10s);
  const auto types = eow_types(station);
  ASSERT_GE(types.size(), 2u);
  EXPECT_EQ(types[0], static_cast<int>(pdu::EowType::capability));
  EXPECT_TRUE(contains(types, pdu::EowType::extensions));
}

TEST(SetUpNews, a_station_that_does_not_adapt_sends_equal_copies) {
  auto station = lone({.mode = kRoomy});
  station.request(control_to_peer());
  station.run_for(10s);
  const auto types = eow_types(station);
  ASSERT_GE(types.size(), 2u);
  EXPECT_EQ(static_cast<std::size_t>(std::count(types.begin(), types.end(), types[0])),
            types.size());
}

TEST(SetUpNews, a_call_in_a_single_header_offers) {
  auto station = lone();
  station.request(control_to_peer());
  station.run_for(10s);
  EXPECT_EQ(eow_types(station), std::vector{static_cast<int>(pdu::EowType::extensions)});
}

// Goal:   the answer to a call tells the offer and the advice in each header, so that one intact
//         header is enough.
TEST(SetUpNews, the_answer_to_a_call_that_offers_advises_in_each_header) {
  auto station = lone();
  station.hear({control_from_peer(offer())});
  station.made(kPeer);
  station.request(control_to_peer(ControlMode::as_heard));
  station.run_for(10s);
  for (const auto& dpdu : station.take_sent()) {
    const pdu::Eow eow = pdu::common_of(dpdu).eow;
    ASSERT_EQ(eow.type, static_cast<std::uint8_t>(pdu::EowType::offering_advice));
    EXPECT_GE(mode_of(*pdu::read_offering_advice(eow), kSlow.waveform)->rate_bps, 1200u);
  }
}

TEST(SetUpNews, the_answer_to_a_call_without_an_offer_holds_nothing_unknown_in_its_first_header) {
  Config config = adapting();
  config.mode = kRoomy;
  auto station = lone(config);
  station.hear({control_from_peer(pdu::make_capability(pdu::capability::kDrc))});
  station.made(kPeer);
  station.request(control_to_peer(ControlMode::as_heard));
  station.run_for(10s);
  const auto types = eow_types(station);
  ASSERT_FALSE(types.empty());
  EXPECT_EQ(types[0], static_cast<int>(pdu::EowType::capability));
  EXPECT_FALSE(contains(types, pdu::EowType::offering_advice));
}

TEST(SetUpNews, the_first_data_goes_as_the_answer_to_the_call_advised) {
  const modem::Mode fast{.rate_bps = 2400, .interleaver = Interleaver::short_};
  auto station = lone();
  station.request(control_to_peer());
  station.run_for(5s);
  station.hear({control_from_peer(offer_and_advise(fast))});
  station.made(kPeer);
  station.take_modes();
  station.request({.id = {8}, .destination = kPeer, .cpdu = pattern(500, 1)});
  station.run_for(5s);
  const auto modes = station.take_modes();
  ASSERT_FALSE(modes.empty());
  EXPECT_EQ(modes[0], fast);
}

TEST(SetUpNews, what_was_told_long_before_the_link_does_not_count) {
  auto station = lone();
  station.hear({control_from_peer(
      offer_and_advise({.rate_bps = 2400, .interleaver = Interleaver::short_}))});
  station.run_for(6min);
  station.made(kPeer);
  station.request({.id = {8}, .destination = kPeer, .cpdu = pattern(500, 1)});
  station.run_for(5s);
  EXPECT_EQ(station.take_modes().at(0), kSlow);
}

// B.3.2.1
TEST(SetUpNews, a_repeated_call_goes_in_the_most_robust_mode_and_is_answered_in_it) {
  const modem::Mode robust{.rate_bps = 75, .interleaver = Interleaver::long_};
  auto caller = lone();
  caller.request(control_to_peer(ControlMode::robust));
  caller.run_for(30s);
  EXPECT_EQ(caller.take_modes().at(0), robust);
  auto called = lone();
  called.set_heard(robust, -8);
  called.hear({control_from_peer(offer())});
  called.made(kPeer);
  called.request(control_to_peer(ControlMode::as_heard));
  called.run_for(30s);
  EXPECT_EQ(called.take_modes().at(0), robust);
}

// --- 110A and 110D in one choice -----------------------------------------------------------------

constexpr modem::Mode k110d{modem::Waveform::ms110d, 2400, Interleaver::short_};

/// Returns the mode of the first data to a peer that has answered our call with this EOW.
modem::Mode first_data_mode(const pdu::Eow& answer, Config config = adapting()) {
  auto station = lone(config);
  station.request(control_to_peer());
  station.run_for(5s);
  station.hear({control_from_peer(answer)});
  station.made(kPeer);
  station.take_modes();
  station.request({.id = {8}, .destination = kPeer, .cpdu = pattern(500, 1)});
  station.run_for(5s);
  return station.take_modes().at(0);
}

TEST(SetUpNews, the_first_data_goes_in_a_mode_of_110D_that_the_answer_advised) {
  EXPECT_EQ(first_data_mode(offer_and_advise(k110d, true)), k110d);
}

// Goal:   a station that has not offered it never sends in the other waveform.
TEST(SetUpNews, advice_for_110D_counts_for_110A_where_110D_is_not_in_our_choice) {
  Config config = adapting();
  config.adaptation->one_choice = false;
  EXPECT_EQ(extensions(config) & pdu::extension::kOneChoice, 0);
  const modem::Mode sent = first_data_mode(offer_and_advise(k110d, true), config);
  EXPECT_NE(sent.waveform, modem::Waveform::ms110d);
}

/// Returns the advice in the answer to a call that offers these extensions, heard at this ratio.
pdu::OfferingAdvice advice_to_caller(std::uint8_t offered, float snr_db) {
  auto station = lone();
  station.set_heard(kSlow, snr_db);
  station.hear({control_from_peer(pdu::make_extensions(offered))});
  station.made(kPeer);
  station.request(control_to_peer(ControlMode::as_heard));
  station.run_for(10s);
  const auto sent = station.take_sent();
  return *pdu::read_offering_advice(pdu::common_of(sent.at(0)).eow);
}

TEST(SetUpNews, only_a_caller_that_offers_one_choice_is_advised_modes_of_110D) {
  const std::uint8_t all = extensions(adapting());
  ASSERT_NE(all & pdu::extension::kOneChoice, 0);
  const auto one = advice_to_caller(all, 3);
  EXPECT_TRUE(one.one_choice && one.ms110d);
  const auto other = advice_to_caller(all & ~pdu::extension::kOneChoice, 3);
  EXPECT_FALSE(other.one_choice || other.ms110d);
}

// Goal:   the answer to a call that was heard well does not take as long as the call, and one that
//         was not heard is repeated as the call came.
TEST(SetUpNews, an_answer_goes_quickly_once_and_then_as_the_call_came) {
  auto called = lone();
  called.hear({control_from_peer(offer())});
  called.made(kPeer);
  called.request(control_to_peer(ControlMode::as_heard));
  called.run_for(10s);
  EXPECT_EQ(called.take_modes().at(0).waveform, modem::Waveform::ms110d);
  called.hear({control_from_peer(offer(), 2)});
  CpduRequest again = control_to_peer(ControlMode::as_heard);
  again.id = {9};
  called.request(again);
  called.run_for(10s);
  EXPECT_EQ(called.take_modes().at(0), kSlow);
}

}  // namespace
}  // namespace s5066::dts
