// SPDX-License-Identifier: Apache-2.0
// The receiver of this station would not follow a data rate change (C.6.4).
#include <gtest/gtest.h>

#include "tests/support/lone_station.h"

namespace s5066::dts {
namespace {

using namespace std::chrono_literals;

constexpr Address kUs{0x01020305};
constexpr Address kFriend{0x01020304};
constexpr modem::Mode kUntold{modem::Waveform::stanag4285, 300, modem::Interleaver::short_};
constexpr pdu::DrcRequest kOther{.rate = 5, .interleaver = 1};

pdu::Common from_friend() {
  return {.eow = {}, .eot_half_s = 1, .destination = kUs, .source = kFriend};
}

TEST(UntoldRate, advice_is_not_followed_without_agreement) {
  test::LoneStation station({.address = kUs, .mode = kUntold});
  station.made(kFriend);
  station.request({.id = {1}, .destination = kFriend, .cpdu = Bytes(400, 1)});
  station.run_for(30s);
  static_cast<void>(station.take_modes());
  pdu::AckOnly ack{from_friend(), {{1}, {}}};
  pdu::DrcRequest advice = kOther;
  advice.advisory = true;
  ack.common.eow = pdu::make_eow(pdu::EowType::drc_request, advice);
  station.hear({ack});
  station.run_for(20s);
  const auto modes = station.take_modes();
  EXPECT_FALSE(modes.empty());
  for (const modem::Mode& mode : modes) EXPECT_EQ(mode, kUntold);
}

// C.6.4(1)(2)
TEST(UntoldRate, a_request_is_refused) {
  test::LoneStation station({.address = kUs, .mode = kUntold});
  station.made(kFriend);
  pdu::Management asked{.common = from_friend(), .valid = true};
  asked.common.eow = pdu::make_eow(pdu::EowType::drc_request, kOther);
  station.hear({asked});
  station.run_for(20s);
  const auto modes = station.take_modes();
  ASSERT_FALSE(modes.empty());
  for (const modem::Mode& mode : modes) EXPECT_EQ(mode, kUntold);
  std::size_t refusals = 0;
  for (const auto& dpdu : station.take_sent()) {
    const auto* said = std::get_if<pdu::Management>(&dpdu);
    if (!said || said->common.eow.type != 2) continue;
    const auto answer = pdu::read_drc_response(said->common.eow);
    EXPECT_EQ(answer.answer, pdu::DrcAnswer::refuse);
    EXPECT_EQ(answer.reason, pdu::DrcReason::cannot_change_rate);
    ++refusals;
  }
  EXPECT_GT(refusals, 0u);
}

}  // namespace
}  // namespace s5066::dts
