// SPDX-License-Identifier: Apache-2.0
#include "modem/api/receive_modes.h"

#include <gtest/gtest.h>

namespace s5066::modem {
namespace {

constexpr Mode kShort{Waveform::ms110a, 2400, Interleaver::short_};
constexpr Mode kZero{Waveform::ms110a, 2400, Interleaver::zero};
constexpr Mode kUncoded{Waveform::ms110a, 4800, Interleaver::zero};
constexpr Mode kFixed{Waveform::stanag4285, 300, Interleaver::short_};
constexpr Mode kOther{Waveform::stanag4285, 300, Interleaver::long_};

TEST(ReceiveModes, stanag_4285_and_110a_with_the_preamble_of_another_mode_do_not_tell_themselves) {
  for (const Mode& mode : all_modes()) {
    SCOPED_TRACE(to_string(mode));
    const bool of_110a = mode.waveform == Waveform::ms110a;
    const bool shares =
        of_110a && mode.interleaver == Interleaver::zero && mode.rate_bps != kUncoded.rate_bps;
    EXPECT_EQ(tells_itself(mode), mode.waveform != Waveform::stanag4285 && !shares);
    EXPECT_EQ(is_heard(mode, {}), tells_itself(mode));
  }
}

TEST(ReceiveModes, of_a_list_the_first_of_4285_is_heard_and_zero_where_short_is_not_listed) {
  const auto heard = [](const Mode& mode, std::vector<Mode> listed) {
    return is_heard(mode, listed);
  };
  EXPECT_TRUE(heard(kShort, {kShort}));
  EXPECT_FALSE(heard(kUncoded, {kShort}));
  EXPECT_TRUE(heard(kZero, {kZero, kUncoded}));
  EXPECT_FALSE(heard(kZero, {kZero, kShort}));
  EXPECT_TRUE(heard(kShort, {kZero, kShort}));
  EXPECT_TRUE(heard(kUncoded, {kUncoded}));
  EXPECT_TRUE(heard(kFixed, {kShort, kFixed, kOther}));
  EXPECT_FALSE(heard(kOther, {kShort, kFixed, kOther}));
}

TEST(ReceiveModes, where_nothing_is_given_what_is_sent_is_listened_for_if_it_must_be) {
  EXPECT_TRUE(listen_modes({}, kShort).empty());
  EXPECT_TRUE(listen_modes({}, kUncoded).empty());
  EXPECT_EQ(listen_modes({}, kZero), std::vector{kZero});
  EXPECT_EQ(listen_modes({}, kFixed), std::vector{kFixed});
  EXPECT_EQ(listen_modes({kShort}, kFixed), std::vector{kShort});
}

}  // namespace
}  // namespace s5066::modem
