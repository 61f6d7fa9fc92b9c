// SPDX-License-Identifier: Apache-2.0
#include "s5066d/posix/log_limiter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace s5066::posix {
namespace {

using namespace std::chrono_literals;

struct Kept final : LogSink {
  void write(LogLevel level, std::string_view line) override {
    lines.push_back(std::string(to_string(level)) + " " + std::string(line));
  }
  std::size_t count(std::string_view start) const {
    return static_cast<std::size_t>(std::count_if(
        lines.begin(), lines.end(), [&](const auto& line) { return line.starts_with(start); }));
  }
  std::vector<std::string> lines;
};

class Limiter : public ::testing::Test {
 protected:
  void refuse(int times, std::string_view reason) {
    for (int i = 0; i < times; ++i) {
      LogLine(limiter_, LogLevel::warning, "updu_discarded").kv("updu", i).kv("reason", reason);
    }
  }
  Duration now_{5s};
  Kept kept_;
  LogLimiter limiter_{kept_, LogLevel::info, [this] { return now_; }};
};

TEST_F(Limiter, tells_of_a_flood_in_one_line_a_second_with_its_reason) {
  for (int second = 0; second < 3; ++second) {
    refuse(5000, "no_room");
    now_ += 1s;
  }
  LogLine(limiter_, LogLevel::info, "stopping");
  EXPECT_EQ(kept_.count("warning updu_discarded"), 30u);
  EXPECT_EQ(
      kept_.count("warning log_lines_repeated event=updu_discarded reason=no_room lines=4990"), 3u);
  EXPECT_EQ(kept_.lines.back(), "info stopping");
  EXPECT_EQ(kept_.lines.size(), 34u);
}

TEST_F(Limiter, lets_the_tenth_through_and_counts_the_eleventh) {
  refuse(10, "no_room");
  now_ += 1s;
  refuse(11, "no_room");
  EXPECT_EQ(kept_.lines.size(), 20u);
  now_ += 999ms;
  refuse(1, "no_room");
  EXPECT_EQ(kept_.lines.size(), 20u);
  now_ += 1ms;
  refuse(1, "no_room");
  EXPECT_EQ(kept_.count("warning log_lines_repeated"), 1u);
  EXPECT_EQ(kept_.lines[20],
            "warning log_lines_repeated event=updu_discarded reason=no_room lines=2");
}

TEST_F(Limiter, hides_no_sort_behind_another) {
  refuse(5000, "no_room");
  refuse(1, "two words");
  LogLine(limiter_, LogLevel::error, "modem_fault").kv("kind", "ptt_failed");
  EXPECT_EQ(kept_.lines[10], "warning updu_discarded updu=0 reason=\"two words\"");
  EXPECT_EQ(kept_.lines[11], "error modem_fault kind=ptt_failed");
  refuse(10, "two words");
  now_ += 1s;
  refuse(1, "no_room");
  EXPECT_EQ(
      kept_.count("warning log_lines_repeated event=updu_discarded reason=\"two words\" lines=1"),
      1u);
}

// Text that an unknown sender puts into a reason must not create a sort for each line.
TEST_F(Limiter, bounds_the_lines_of_a_second_whatever_they_say) {
  for (int i = 0; i < 5000; ++i) refuse(1, std::to_string(i));
  for (int i = 0; i < 5000; ++i) refuse(1, std::string(1000, 'x') + std::to_string(i));
  EXPECT_LE(kept_.lines.size(), (LogLimiter::kSortsMax + 1) * LogLimiter::kWholeMax);
  now_ += 1s;
  refuse(1, "no_room");
  EXPECT_EQ(kept_.count("warning log_lines_repeated event=others lines="), 1u);
}

TEST_F(Limiter, counts_no_line_below_the_least) {
  for (int i = 0; i < 5000; ++i) LogLine(limiter_, LogLevel::debug, "dpdu_sent").kv("number", i);
  EXPECT_EQ(kept_.lines.size(), 5000u);
}

TEST(LogLimiter, tells_of_what_is_left_when_it_ends) {
  Kept kept;
  {
    LogLimiter limiter(kept, LogLevel::info, [] { return Duration(1s); });
    for (int i = 0; i < 12; ++i) LogLine(limiter, LogLevel::info, "sis_client_gone");
  }
  EXPECT_EQ(kept.lines.back(), "info log_lines_repeated event=sis_client_gone lines=2");
}

}  // namespace
}  // namespace s5066::posix
