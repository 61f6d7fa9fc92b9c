// SPDX-License-Identifier: Apache-2.0
// These tests read lines of the control connection: round trips, limits, and any other input.
#include "modem/remote/messages.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "s5066d/base/rng.h"

namespace s5066::modem::remote {
namespace {

const Mode kMode = *parse_mode("4539-9600-vl");
const Instant kThen{std::chrono::nanoseconds(123456789012345)};

std::string without_end(std::string line) {
  EXPECT_EQ(line.back(), '\n');
  line.pop_back();
  return line;
}

std::vector<UserMessage> user_messages() {
  return {Hello{.version = 7},
          Send{.id = {~std::uint64_t{0}}, .mode = kMode, .not_before = kThen, .octets = kOctetsMax},
          Send{.id = {0}, .mode = kMode, .not_before = Instant{Duration{-5}}},
          Abort{.id = {12}},
          Listen{},
          Listen{.modes = {all_modes().begin(), all_modes().end()}},
          Ping{}};
}

std::vector<std::string> host_lines() {
  return {"WELCOME 1 0123456789abcdef",
          "READY",
          "REFUSED in use",
          "CLOCK 123456789012345",
          "STARTED 5 17",
          "FINISHED 5 17 sent",
          "FINISHED 5 17 aborted",
          "FINISHED 5 17 underrun",
          "CARRIER 5 110a-2400-short -3.5 74.25",
          "RECEIVED 5 -4 110a-2400-short 180 0.875 12.5 -1 2 0.5",
          "ENDED 9 8 end_of_message",
          "ENDED 9 8 lost",
          "ENDED 9 8 replaced",
          "OCCUPIED 6",
          "FREE 7",
          "FAULT 5 command_refused burst 3: mode",
          "FAULT 5 samples_dropped x",
          "FAULT 5 device_lost x",
          "FAULT 5 ptt_failed x",
          "FAULT 5 device_back x"};
}

TEST(RemoteMessages, of_a_user_arrive_as_they_were) {
  for (const UserMessage& message : user_messages()) {
    const std::string line = without_end(encode(message));
    EXPECT_LE(line.size(), kLineMax);
    const auto parsed = parse_user_line(line);
    ASSERT_TRUE(parsed.ok()) << line;
    EXPECT_EQ(*parsed, message) << line;
  }
}

TEST(RemoteMessages, of_a_host_are_written_as_they_were_read) {
  for (const std::string& line : host_lines()) {
    const auto parsed = parse_host_line(line);
    ASSERT_TRUE(parsed.ok()) << line;
    EXPECT_EQ(without_end(encode(*parsed)), line);
  }
}

TEST(RemoteMessages, carry_each_field_of_what_was_received) {
  const auto parsed = parse_host_line("RECEIVED 50 40 110d-600-l 180 0.875 12.5 -1 2 0.5");
  ASSERT_TRUE(parsed.ok());
  const auto& happened = std::get<Happened>(*parsed);
  const auto& event = std::get<ReceivedBytes>(happened.event);
  EXPECT_EQ(happened.octets, 180U);
  EXPECT_EQ(event.at, Instant{Duration{50}});
  EXPECT_EQ(event.first_bit_at, Instant{Duration{40}});
  EXPECT_EQ(to_string(event.mode), "110d-600-l");
  EXPECT_EQ(event.soft_quality, 0.875F);
  EXPECT_EQ(event.channel.snr_db, 12.5F);
  EXPECT_EQ(event.channel.offset_hz, -1.0F);
  EXPECT_EQ(event.channel.multipath_ms, 2.0F);
  EXPECT_EQ(event.channel.doppler_hz, 0.5F);
}

TEST(RemoteMessages, what_is_no_figure_is_written_as_one) {
  CarrierUp event{.mode = kMode};
  event.snr_db = std::numeric_limits<float>::quiet_NaN();
  event.offset_hz = std::numeric_limits<float>::infinity();
  EXPECT_EQ(encode(HostMessage(Happened{.event = event})), "CARRIER 0 4539-9600-vl 0 0\n");
}

TEST(RemoteMessages, a_fault_cannot_break_out_of_its_line) {
  const Fault fault{.kind = FaultKind::ptt_failed, .detail = "a\nREADY\n" + std::string(9999, 'x')};
  const std::string line = encode(HostMessage(Happened{.event = fault}));
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_LE(line.size(), kLineMax);
}

TEST(RemoteMessages, limits_of_numbers_are_kept) {
  const std::string most = std::to_string(kOctetsMax);
  const std::string more = std::to_string(kOctetsMax + 1);
  EXPECT_TRUE(parse_user_line("SEND 1 110a-2400-short 0 " + most).ok());
  EXPECT_TRUE(parse_host_line("RECEIVED 0 0 110a-2400-short " + most + " 1 1 1 1 1").ok());
  for (const std::string& line :
       {"SEND 1 110a-2400-short 0 " + more, std::string("SEND 1 110a-2400-short 0 -1"),
        std::string("SEND 18446744073709551616 110a-2400-short 0 1"),
        std::string("SEND 1 110a-2400-short 9999999999999999999 1"),
        std::string("SEND 1 110a-2400-medium 0 1"), std::string("SEND 1 110a-2400-short 0"),
        std::string("SEND 1 110a-2400-short 0 1 1"), std::string("SEND  1 110a-2400-short 0 1"),
        std::string("SEND 1 110a-2400-short 0 0x1"), std::string("ABORT"), std::string("ABORT 1.5"),
        std::string("PING 1"), std::string("HELLO"), std::string("HELLO one"), std::string(""),
        std::string(" "), std::string("hello 1"), std::string("LISTEN 110a-2400-shor")}) {
    EXPECT_FALSE(parse_user_line(line).ok()) << line;
  }
  for (const std::string& line :
       {"RECEIVED 0 0 110a-2400-short " + more + " 1 1 1 1 1",
        std::string("RECEIVED 0 0 110a-2400-short 1 nan 1 1 1 1"),
        std::string("RECEIVED 0 0 110a-2400-short 1 inf 1 1 1 1"),
        std::string("RECEIVED 0 0 110a-2400-short 1 1 1 1 1"),
        std::string("CARRIER 0 110a-2400-short 1e7 0"), std::string("FINISHED 5 17 gone"),
        std::string("ENDED 1 2 tired"), std::string("OCCUPIED"), std::string("FREE 1 2"),
        std::string("FAULT 1 odd x"), std::string("CLOCK"),
        std::string("WELCOME 1 0123456789abcde"), std::string("WELCOME 1"),
        std::string("READY now")}) {
    EXPECT_FALSE(parse_host_line(line).ok()) << line;
  }
}

// Each line is cut at every place and has each of its characters replaced. The parser may refuse it
// but must not fail.
TEST(RemoteMessages, any_damage_is_read_safely) {
  std::vector<std::string> lines = host_lines();
  for (const UserMessage& message : user_messages()) lines.push_back(without_end(encode(message)));
  Rng rng(3);
  const auto read_both = [](const std::string& line) {
    static_cast<void>(parse_user_line(line));
    if (const auto parsed = parse_host_line(line)) static_cast<void>(encode(*parsed));
  };
  for (const std::string& line : lines) {
    if (line.size() > 200) continue;  // a list of all modes is long and adds no case
    for (std::size_t length = 0; length <= line.size(); ++length) read_both(line.substr(0, length));
    for (std::size_t at = 0; at < line.size(); ++at) {
      std::string damaged = line;
      for (const char c : {' ', '-', '.', '9', 'e', '~', static_cast<char>(' ' + rng.below(95))}) {
        damaged[at] = c;
        read_both(damaged);
      }
    }
  }
}

TEST(LineSplitter, takes_lines_in_any_portions) {
  for (const std::size_t portion : {1U, 2U, 5U, 100U}) {
    LineSplitter splitter;
    std::vector<std::string> lines;
    const std::string text = "PING\n\nABORT 1\nrest";
    for (std::size_t at = 0; at < text.size(); at += portion) {
      ASSERT_TRUE(splitter.add(text.substr(at, portion)).ok());
      while (const auto line = splitter.next()) lines.push_back(*line);
    }
    EXPECT_EQ(lines, (std::vector<std::string>{"PING", "", "ABORT 1"}));
  }
}

TEST(LineSplitter, refuses_what_is_no_text_and_a_line_too_long) {
  EXPECT_TRUE(LineSplitter().add(std::string(kLineMax, 'x')).ok());
  EXPECT_TRUE(LineSplitter().add(std::string(kLineMax, 'x') + "\nx").ok());
  EXPECT_FALSE(LineSplitter().add(std::string(kLineMax + 1, 'x')).ok());
  EXPECT_FALSE(LineSplitter().add(std::string(kLineMax + 1, 'x') + "\n").ok());
  LineSplitter splitter;
  EXPECT_TRUE(splitter.add(std::string(kLineMax, 'x')).ok());
  EXPECT_FALSE(splitter.add("x").ok());
  for (const char c : {'\0', '\r', '\t', '\x7f', '\xff'}) {
    EXPECT_FALSE(LineSplitter().add(std::string(1, c)).ok()) << static_cast<int>(c);
  }
}

// Three thirds of a nanosecond and sums of two times must fit the type.
TEST(RemoteMessages, times_go_as_far_as_ten_years) {
  for (const char* sign : {"", "-"}) {
    EXPECT_TRUE(parse_host_line(std::string("CLOCK ") + sign + "315360000000000000").ok());
    EXPECT_FALSE(parse_host_line(std::string("CLOCK ") + sign + "315360000000000001").ok());
  }
}

}  // namespace
}  // namespace s5066::modem::remote
