// SPDX-License-Identifier: Apache-2.0
// These receivers do not hear every mode, and some modes do not announce themselves (C.6.4.2,
// C.5.4). No peer may be left in a mode that nobody receives.
#include <gtest/gtest.h>

#include <algorithm>

#include "modem/api/receive_modes.h"
#include "tests/unit/dts/advised_station.h"

namespace s5066::dts {
namespace {

using modem::Mode;
using modem::Waveform;
using pdu::DrcReason;

constexpr Mode kUntold{Waveform::stanag4285, 300, Interleaver::short_};
constexpr Mode kFast{Waveform::ms110a, 2400, Interleaver::short_};

pdu::Common from(Address source) {
  return {.eow = {}, .eot_half_s = 1, .destination = kUs, .source = source};
}

pdu::Management message(const pdu::Eow& eow, bool ack = false, std::uint8_t id = 0) {
  pdu::Management management{.common = from(kPeer), .valid = true, .ack = ack, .frame_id = id};
  management.common.eow = eow;
  return management;
}

/// Returns the answer of such a station to a request, if it answers.
std::optional<pdu::DrcResponse> answer_to(const Config& config, const pdu::DrcRequest& request) {
  test::LoneStation station(config);
  station.made(kPeer);
  station.hear({message(pdu::make_eow(pdu::EowType::drc_request, request))});
  station.run_for(20s);
  for (const auto& dpdu : station.take_sent()) {
    const auto* said = std::get_if<pdu::Management>(&dpdu);
    if (said && said->valid) return pdu::read_drc_response(said->common.eow);
  }
  return std::nullopt;
}

/// Returns the modes of transmissions to a peer that has sent this advice.
std::vector<Mode> modes_after_advice(test::LoneStation& station, const pdu::DrcRequest& advice) {
  station.made(kPeer);
  station.request({.id = {1}, .destination = kPeer, .cpdu = Bytes(400, 1)});
  station.run_for(30s);
  static_cast<void>(station.take_modes());
  static_cast<void>(station.take_sent());
  pdu::AckOnly ack{from(kPeer), {{1}, {}}};
  ack.common.eow = pdu::make_eow(pdu::EowType::drc_request, advice);
  station.hear({ack});
  station.run_for(20s);
  return station.take_modes();
}

bool asks(const std::vector<pdu::Dpdu>& sent, pdu::DrcRequest request) {
  request.advisory = false;
  return std::any_of(sent.begin(), sent.end(), [&](const pdu::Dpdu& dpdu) {
    const auto* said = std::get_if<pdu::Management>(&dpdu);
    return said && said->valid &&
           said->common.eow == pdu::make_eow(pdu::EowType::drc_request, request);
  });
}

std::uint8_t told_capabilities(const Config& config) {
  test::LoneStation station(config);
  station.made(kPeer);
  station.request({.id = {1}, .destination = kPeer, .cpdu = Bytes(40, 1)});
  station.run_for(60s);
  for (const auto& dpdu : station.take_sent()) {
    const pdu::Eow eow = pdu::common_of(dpdu).eow;
    if (eow.type == static_cast<std::uint8_t>(pdu::EowType::capability)) return eow.contents;
  }
  ADD_FAILURE() << "nothing told";
  return 0;
}

// C.6.4.2: a sender may change without an announcement only if receivers find the rate by
// themselves.
TEST(ReceiveModes, advice_for_a_mode_that_does_not_tell_itself_is_followed_by_agreement) {
  const Mode untold[] = {kUntold, kSlow};
  const pdu::DrcRequest advices[] = {{.rate = 5, .interleaver = 1, .advisory = true},
                                     {.rate = 5, .interleaver = 0, .advisory = true}};
  for (const int i : {0, 1}) {
    SCOPED_TRACE(modem::to_string(untold[i]));
    test::LoneStation station({.address = kUs, .mode = untold[i], .receive_modes = {untold[i]}});
    const auto modes = modes_after_advice(station, advices[i]);
    EXPECT_FALSE(modes.empty());
    for (const Mode& mode : modes) EXPECT_EQ(mode, untold[i]);
    EXPECT_TRUE(asks(station.take_sent(), advices[i]));
  }
}

// A peer that can send only in the mode in which it receives would then send in a mode that is not
// heard here.
TEST(ReceiveModes, advice_that_would_bring_a_mode_that_is_not_heard_is_left_alone) {
  const pdu::DrcRequest advice{.rate = 5, .interleaver = 1, .advisory = true, .equal = true};
  for (const bool hears : {false, true}) {
    Config config{.address = kUs, .mode = kSlow, .receive_modes = {kSlow}};
    if (hears) config.receive_modes.push_back(kFast);
    test::LoneStation station(config);
    const auto modes = modes_after_advice(station, advice);
    ASSERT_FALSE(modes.empty());
    EXPECT_EQ(modes.back(), hears ? kFast : kSlow);
  }
}

// C.6.4.2(19)-(22): the refusal names the parameter that cannot change.
TEST(ReceiveModes, a_request_for_a_mode_that_is_not_heard_is_refused_for_what_cannot_change) {
  struct Row {
    Config config;
    pdu::DrcRequest request;
    std::optional<DrcReason> refused;
  };
  const Config fixed{.address = kUs, .mode = kUntold};
  const Config listed{.address = kUs, .mode = kSlow, .receive_modes = {kSlow}};
  const Config two{.address = kUs, .mode = kSlow, .receive_modes = {kSlow, kSlowLong}};
  const Config any{.address = kUs, .mode = kSlow};
  const Row rows[] = {
      {fixed, {.rate = 2, .interleaver = 1}, {}},
      {fixed, {.rate = 5, .interleaver = 1}, DrcReason::cannot_change_rate},
      {fixed, {.rate = 2, .interleaver = 2}, DrcReason::cannot_change_interleaver},
      {fixed, {.rate = 5, .interleaver = 2}, DrcReason::cannot_change_either},
      {listed, {.rate = 2, .interleaver = 1}, {}},
      {listed, {.rate = 5, .interleaver = 1}, DrcReason::cannot_change_rate},
      {listed, {.rate = 2, .interleaver = 2}, DrcReason::cannot_change_interleaver},
      {listed, {.rate = 5, .interleaver = 2}, DrcReason::cannot_change_either},
      {two, {.rate = 2, .interleaver = 2}, {}},
      {two, {.rate = 5, .interleaver = 2}, DrcReason::cannot_change_rate},
      {any, {.rate = 5, .interleaver = 2}, {}},
      {any, {.rate = 5, .interleaver = 0}, DrcReason::cannot_change_interleaver},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(modem::to_string(row.config.mode) + " asked for " +
                 std::to_string(row.request.rate * 4 + row.request.interleaver));
    const auto answer = answer_to(row.config, row.request);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->answer, row.refused ? pdu::DrcAnswer::refuse : pdu::DrcAnswer::accept);
    EXPECT_EQ(answer->reason, row.refused.value_or(DrcReason::none));
  }
}

// Table C-27: an acceptance on the condition that both directions change may be taken back.
TEST(ReceiveModes, an_acceptance_that_would_bring_a_mode_that_is_not_heard_is_taken_back) {
  test::LoneStation station({.address = kUs, .mode = kSlow, .receive_modes = {kSlow}});
  station.made(kPeer);
  ASSERT_TRUE(station.ask_for(kPeer, kFast).ok());
  station.run_for(3s);
  static_cast<void>(station.take_sent());
  const pdu::DrcResponse equal{pdu::DrcAnswer::accept, DrcReason::must_be_equal};
  station.hear({message(pdu::make_eow(pdu::EowType::drc_response, equal), true)});
  station.run_for(3s);
  const auto sent = station.take_sent();
  ASSERT_FALSE(sent.empty());
  const pdu::DrcResponse cancel{pdu::DrcAnswer::cancel, DrcReason::none};
  EXPECT_EQ(pdu::common_of(sent.front()).eow, pdu::make_eow(pdu::EowType::drc_response, cancel));
  EXPECT_EQ(station.dts().mode_to(kPeer), kSlow);
}

// C.5.4(1)(2), note 1: a station with data rate change takes 75 to 2400 bit/s with both
// interleavers.
TEST(ReceiveModes, capabilities_are_those_of_the_receiver) {
  namespace bits = pdu::capability;
  EXPECT_EQ(told_capabilities({.address = kUs, .mode = kSlow}),
            bits::kDrc | bits::kMs110 | bits::kExtendedRates);
  EXPECT_EQ(told_capabilities({.address = kUs, .mode = kUntold}), 0);
  EXPECT_EQ(told_capabilities({.address = kUs, .mode = kSlow, .receive_modes = {kSlow, kSlowLong}}),
            0);
  Config config{.address = kUs, .mode = kSlow};
  for (const Mode& mode : modem::all_modes()) {
    if (mode.waveform == Waveform::ms110a) config.receive_modes.push_back(mode);
  }
  EXPECT_EQ(told_capabilities(config), bits::kDrc | bits::kMs110);
  std::erase(config.receive_modes, Mode{Waveform::ms110a, 75, Interleaver::long_});
  EXPECT_EQ(told_capabilities(config), 0);
}

// Goal:   adaptation asks only for modes that are heard.
// Method: the channel is so good that a receiver of all modes asks for more, and the peer may be
//         told so. The 75 bit/s that are heard as well are of no use.
TEST(ReceiveModes, adaptation_advises_no_mode_that_is_not_heard) {
  constexpr Mode kSlowest{Waveform::ms110a, 75, Interleaver::short_};
  struct Row {
    std::vector<Mode> receive_modes;
    bool more;  // faster than the present mode
  };
  for (const Row& row : {Row{{}, true}, Row{{kSlow, kSlowest}, false}}) {
    Config config = adapting();
    config.address = kUs;
    config.receive_modes = row.receive_modes;
    test::LoneStation station(config);
    station.set_heard(kSlow, 30);
    station.made(kPeer);
    pdu::AckOnly offer{from(kPeer), {}};
    offer.common.eow =
        pdu::make_extensions(pdu::extension::kAdapts | pdu::extension::kAnySegmentLength);
    station.hear({offer});
    std::uint8_t number = 0;
    bool more = false;
    for (int i = 0; i < 10; ++i) {
      const auto advised = advised_after_data(station, number);
      ASSERT_TRUE(advised);
      EXPECT_TRUE(modem::is_heard(*advised, row.receive_modes)) << modem::to_string(*advised);
      more = more || advised->rate_bps > kSlow.rate_bps;
    }
    EXPECT_EQ(more, row.more);
  }
}

// A peer whose reaction to advice is not known yet is first told the longer interleaver.
TEST(ReceiveModes, a_peer_is_not_tried_with_an_interleaver_that_is_not_heard) {
  for (const bool hears : {true, false}) {
    Config config = adapting();
    config.receive_modes = {kSlow};
    if (hears) config.receive_modes.push_back(kSlowLong);
    auto station = with_plain_peer(config);
    std::uint8_t number = 0;
    const auto advised = advised_after_data(station, number);
    EXPECT_EQ(advised, hears ? std::optional(kSlowLong) : std::nullopt);
  }
}

TEST(ReceiveModes, a_station_that_does_not_receive_every_mode_does_not_offer_to) {
  Config config = adapting();
  EXPECT_NE(extensions(config) & pdu::extension::kAdapts, 0);
  config.receive_modes = {kSlow, kSlowLong};
  EXPECT_EQ(extensions(config) & pdu::extension::kAdapts, 0);
}

}  // namespace
}  // namespace s5066::dts
