// SPDX-License-Identifier: Apache-2.0
#include "s5066d/sap/spdu.h"

#include <gtest/gtest.h>

#include <chrono>

#include "s5066d/base/rng.h"

namespace s5066::sap {
namespace {

using namespace std::chrono_literals;
using std::chrono::day;
using std::chrono::month;
using std::chrono::year;

UtcSeconds utc(int y, unsigned m, unsigned d, int hour, int minute, int second) {
  const std::chrono::sys_days date = year(y) / month(m) / day(d);
  return {std::int64_t{date.time_since_epoch().count()} * 86400 + hour * 3600 + minute * 60 +
          second};
}
UtcSeconds later(UtcSeconds at, std::int64_t seconds) {
  return {at.value + seconds};
}

DataSpdu hello() {
  return {.priority = 5,
          .source_sap = SapId{3},
          .destination_sap = SapId{3},
          .client_confirm_required = false,
          .time_to_die = std::nullopt,
          .updu = *from_hex("48454C4C4F")};
}

TEST(Spdu, matches_the_worked_examples) {
  const auto is = [](const Spdu& spdu, std::string_view hex) {
    const Bytes octets = *from_hex(hex);
    EXPECT_EQ(encode(spdu), octets) << hex;
    const auto decoded = decode(octets);
    ASSERT_TRUE(decoded.ok()) << hex;
    EXPECT_EQ(*decoded, spdu) << hex;
  };
  DataSpdu with_time = hello();
  with_time.client_confirm_required = true;
  with_time.time_to_die = TimeToDie{13, 0x001E};
  is(with_time, "05 33 CD 001E 48454C4C4F");                                             // C7
  is(hello(), "05 33 00 48454C4C4F");                                                    // C8
  is(DeliveryConfirm{SapId{3}, SapId{3}, *from_hex("48454C4C4F")}, "10 33 48454C4C4F");  // C9
  is(DeliveryFail{1, SapId{3}, SapId{3}, *from_hex("48454C4C4F")}, "21 33 48454C4C4F");  // C10
  is(HardLinkRequest{2, 1, SapId{3}, SapId{3}}, "39 33");                                // C11
  is(HardLinkConfirm{}, "40");                                                           // C12
  is(HardLinkRefused{HardLinkRefusal::higher_priority_existing}, "52");                  // C13
  is(HardLinkTerminate{HardLinkEnd::client_request}, "61");                              // C14
  is(HardLinkTerminateConfirm{}, "70");                                                  // C15
}

TEST(Spdu, a_hard_link_request_keeps_type_priority_and_saps_apart) {
  const auto is = [](const HardLinkRequest& request, std::string_view hex) {
    EXPECT_EQ(encode(request), *from_hex(hex));
    EXPECT_EQ(*decode(*from_hex(hex)), Spdu{request});
  };
  is({0, 3, SapId{15}, SapId{0}}, "33 F0");
  is({3, 0, SapId{0}, SapId{15}}, "3C 0F");  // type 3 is undefined, and kept
}

TEST(Spdu, what_follows_a_hard_link_s_pdu_is_ignored) {
  EXPECT_EQ(*decode(*from_hex("39 33 FF")), (Spdu{HardLinkRequest{2, 1, SapId{3}, SapId{3}}}));
  EXPECT_EQ(*decode(*from_hex("4F FF")), Spdu{HardLinkConfirm{}});
  EXPECT_EQ(*decode(*from_hex("7F")), Spdu{HardLinkTerminateConfirm{}});
}

TEST(Spdu, every_bit_flip_of_a_hard_link_s_pdu_decodes_to_what_it_says) {
  for (const char* hex : {"39 33", "40", "52", "61", "70"}) {
    const Bytes octets = *from_hex(hex);
    for (std::size_t bit = 0; bit < octets.size() * 8; ++bit) {
      Bytes flipped = octets;
      flipped[bit / 8] = static_cast<std::uint8_t>(flipped[bit / 8] ^ 1u << bit % 8);
      const auto decoded = decode(flipped);
      if (!decoded.ok()) continue;
      const unsigned type = flipped[0] >> 4;
      EXPECT_EQ(decoded->index(), type);
      const bool keeps_low_half = type != 1 && type != 4 && type != 7;
      EXPECT_EQ(encode(*decoded)[0], keeps_low_half ? flipped[0] : type << 4);
    }
  }
}

TEST(Spdu, unknown_types_are_unsupported) {
  for (unsigned type = 8; type < 16; ++type) {
    const auto decoded = decode(Bytes{static_cast<std::uint8_t>(type << 4), 0x33, 0});
    ASSERT_FALSE(decoded.ok());
    EXPECT_EQ(decoded.error().code, ErrorCode::unsupported);
  }
}

TEST(Spdu, every_prefix_of_the_control_information_is_truncated) {
  for (const char* hex : {"", "05", "05 33", "05 33 40", "05 33 40 00", "10", "21", "39"}) {
    const auto decoded = decode(*from_hex(hex));
    ASSERT_FALSE(decoded.ok()) << hex;
    EXPECT_EQ(decoded.error().code, ErrorCode::truncated) << hex;
  }
  EXPECT_TRUE(decode(*from_hex("05 33 00")).ok());  // an empty U_PDU is legal
  EXPECT_TRUE(decode(*from_hex("05 33 40 00 00")).ok());
  EXPECT_TRUE(decode(*from_hex("10 33")).ok());
}

TEST(Spdu, the_day_field_without_its_valid_bit_is_no_time) {
  const auto decoded = decode(*from_hex("05 33 0D 41"));
  ASSERT_TRUE(decoded.ok());
  const auto& data = std::get<DataSpdu>(*decoded);
  EXPECT_EQ(data.time_to_die, std::nullopt);
  EXPECT_EQ(data.updu, *from_hex("41"));
}

TEST(Spdu, random_octets_round_trip_or_are_refused) {
  Rng rng(7);
  for (int i = 0; i < 50000; ++i) {
    Bytes octets(rng.below(12));
    for (auto& octet : octets) octet = static_cast<std::uint8_t>(rng.next());
    const auto decoded = decode(octets);
    if (!decoded.ok()) continue;
    EXPECT_EQ(*decode(encode(*decoded)), *decoded);
  }
}

TEST(TimeToDie, matches_the_vectors) {
  const auto field = [](UtcSeconds accepted, std::int64_t seconds) {
    return *encode_time_to_die(accepted, later(accepted, seconds));
  };
  EXPECT_EQ(field(utc(2026, 3, 1, 23, 59, 0), 120), (TimeToDie{13, 30}));
  EXPECT_EQ(field(utc(2026, 7, 4, 12, 0, 1), 3600), (TimeToDie{9, 0x5B68}));
  EXPECT_EQ(field(utc(2026, 12, 31, 23, 59, 30), 60), (TimeToDie{1, 15}));
  EXPECT_EQ(field(utc(2026, 7, 4, 0, 0, 0), 86399), (TimeToDie{9, 0xA8BF}));
}

TEST(TimeToDie, survives_every_day_of_years_with_and_without_29_february) {
  for (const int y : {2026, 2027, 2028}) {
    const UtcSeconds new_year = utc(y, 1, 1, 0, 0, 0);
    for (int at_day = 0; at_day < 366; ++at_day) {
      const UtcSeconds now = later(new_year, std::int64_t{at_day} * 86400 + 40001);
      for (int ahead = 0; ahead <= kTimeToDieDaysMax; ++ahead) {
        const UtcSeconds dies = later(now, std::int64_t{ahead} * 86400);
        const auto field = encode_time_to_die(now, dies);
        ASSERT_TRUE(field.has_value());
        const auto decoded = decode_time_to_die(now, *field);
        ASSERT_TRUE(decoded.has_value());
        EXPECT_EQ(decoded->value, dies.value - 1) << at_day << '+' << ahead;  // 2 s steps, down
      }
    }
  }
}

TEST(TimeToDie, is_only_sent_as_far_ahead_as_the_day_field_is_unique) {
  const UtcSeconds now = utc(2026, 12, 20, 12, 0, 0);
  EXPECT_TRUE(encode_time_to_die(now, utc(2026, 12, 31, 23, 59, 59)).has_value());
  EXPECT_FALSE(encode_time_to_die(now, utc(2027, 1, 1, 0, 0, 0)).has_value());
}

TEST(TimeToDie, yesterday_is_recognised_as_past) {
  const UtcSeconds now = utc(2027, 1, 1, 0, 0, 10);
  const auto field = encode_time_to_die(utc(2026, 12, 31, 23, 0, 0), utc(2026, 12, 31, 23, 59, 58));
  const auto decoded = decode_time_to_die(now, *field);
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->value, utc(2026, 12, 31, 23, 59, 58).value);
}

TEST(TimeToDie, an_impossible_field_never_discards) {
  const UtcSeconds now = utc(2026, 7, 4, 0, 0, 0);  // day 185, whose field is 9
  EXPECT_TRUE(decode_time_to_die(now, {9, 0xA8BF}).has_value());
  EXPECT_FALSE(decode_time_to_die(now, {9, 0xA8C0}).has_value());
  EXPECT_TRUE(decode_time_to_die(now, {4, 0}).has_value());   // 11 days ahead
  EXPECT_FALSE(decode_time_to_die(now, {5, 0}).has_value());  // 12 days ahead
  EXPECT_FALSE(decode_time_to_die(now, {7, 0}).has_value());  // 2 days ago
}

}  // namespace
}  // namespace s5066::sap
