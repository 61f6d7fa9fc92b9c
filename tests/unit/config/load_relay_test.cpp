// SPDX-License-Identifier: Apache-2.0
// What the configuration of a relay says of other stations: limits, transfer windows, grades.
#include <gtest/gtest.h>

#include <string>

#include "config/load.h"
#include "tests/unit/config/problem_lines.h"

namespace s5066::config {
namespace {

const std::string kRelay = "spool_directory: \"s\" inbox_directory: \"i\"\n";
constexpr Address kStation{0x01020304};

std::string problems_of(const std::string& text) {
  return all_lines(parse_relay("f", kRelay + text).problems);
}

TEST(LoadRelay, limits_and_windows_of_a_station) {
  const auto loaded = parse_relay(
      "f", kRelay +
               "access { station: \"1.2.3.4\" inbox_octets_max: 5000 arriving_octets_max: 900 "
               "}\nsending { station: \"1.2.3.4\" file_octets_max: 100 waiting_octets_max: "
               "3000000000 windows { from: \"22:00\" to: \"06:30\" } urgent_priority: 12 }");
  ASSERT_TRUE(loaded.value) << all_lines(loaded.problems);
  const auto& access = loaded.value->access.of(kStation);
  EXPECT_EQ(access.quota.inbox_octets_max, 5000u);
  EXPECT_EQ(access.quota.arriving_octets_max, 900u);
  const auto& sending = loaded.value->sending.of(kStation);
  EXPECT_EQ(sending.limits.file_octets_max, 100u);
  EXPECT_EQ(sending.limits.waiting_octets_max, 3'000'000'000u);
  ASSERT_EQ(sending.windows.size(), 1u);
  EXPECT_EQ(sending.windows[0], (file_relay::DailyWindow{1320, 390}));
  EXPECT_EQ(sending.urgent_priority, 12);
  EXPECT_TRUE(loaded.value->sending.of(Address{1}).windows.empty());
}

TEST(LoadRelay, a_time_of_the_day_has_five_characters) {
  for (const char* bad : {"24:00", "6:30", "06:60", "0630", "06:3x", "-1:00"}) {
    const std::string lines = problems_of("sending_others { windows { from: \"" + std::string(bad) +
                                          "\" to: \"05:00\" } }");
    EXPECT_NE(lines.find("is no time of the day like 06:30"), std::string::npos) << bad << lines;
  }
  EXPECT_EQ(problems_of("sending_others { windows { from: \"00:00\" to: \"23:59\" } }"), "");
}

TEST(LoadRelay, limits_that_contradict_are_found) {
  EXPECT_NE(problems_of("access { station: \"1.2.3.4\" file_octets_max: 9 inbox_octets_max: 8 }")
                .find("is below file_octets_max"),
            std::string::npos);
  EXPECT_NE(problems_of("sending { station: \"1.2.3.4\" file_octets_max: 9 waiting_octets_max: 8 }")
                .find("is below file_octets_max"),
            std::string::npos);
  EXPECT_NE(problems_of("sending_others { windows { from: \"05:00\" to: \"05:00\" } }")
                .find("is the same as `from`"),
            std::string::npos);
  const std::string twice = problems_of(
      "sending { station: \"1.2.3.4\" repeats: 1 }\n"
      "sending { station: \"1.2.3.4\" by: UDOP windows { from: \"05:00\" to: \"05:00\" } }");
  EXPECT_NE(twice.find("f:2:"), std::string::npos) << twice;
  EXPECT_NE(twice.find("only with `by: UDOP`"), std::string::npos) << twice;
  EXPECT_NE(twice.find("is the same as `from`"), std::string::npos) << twice;
  EXPECT_NE(problems_of("sending { station: \"1.2.3.4\" } sending { station: \"1.2.3.4\" windows { "
                        "from: \"05:00\" to: \"05:00\" } }")
                .find("is the same as `from`"),
            std::string::npos);
  EXPECT_NE(problems_of("sending_others { urgent_priority: 9 }").find("no effect without windows"),
            std::string::npos);
  EXPECT_NE(problems_of("sending_others { station: \"1.2.3.4\" }").find("use `sending`"),
            std::string::npos);
}

TEST(LoadRelay, a_watched_folder_has_a_grade) {
  const std::string p_mul = "p_mul { address: \"1.2.3.1\" }\n";
  const std::string folder = "watch_folders { directory: \"/w\" to: \"1.2.3.4\" grade: ";
  const auto loaded =
      parse_relay("f", kRelay + p_mul + folder + "HEAD head_octets: 4096 strength_percent: 20 }");
  ASSERT_TRUE(loaded.value) << all_lines(loaded.problems);
  EXPECT_EQ(loaded.value->watch_folders[0].grade,
            (gateways::GradeSettings{gateways::FileGrade::head, 20, 4096}));
  const auto coded = parse_relay("f", kRelay + p_mul + folder + "CODED }");
  ASSERT_TRUE(coded.value);
  EXPECT_EQ(coded.value->watch_folders[0].grade.strength_percent, gateways::kStrengthPercent);
  EXPECT_NE(problems_of(folder + "CODED }").find("needs the section `p_mul`"), std::string::npos);
  EXPECT_NE(problems_of(p_mul + folder + "HEAD }").find("grade"), std::string::npos);
}

}  // namespace
}  // namespace s5066::config
