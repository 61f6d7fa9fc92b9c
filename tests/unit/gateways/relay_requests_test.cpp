// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/relay_requests.h"

#include <gtest/gtest.h>

#include <string>

namespace s5066::file_relay {
namespace {

std::optional<PutRequest> parsed(const std::string& arguments) {
  return parse_put(control::words_of(arguments));
}

TEST(RelayRequests, a_put_comes_back_from_its_line) {
  PutRequest request{.name = "a/b \xC3\xA4 100 %.txt",
                     .mtime = 1'700'000'000,
                     .mode = 0640,
                     .to = {Address{0x01020304}, Address{0x01020305}}};
  const auto again = [&] {
    const std::string line = to_line(request);
    EXPECT_EQ(line.substr(0, 4), "put ");
    return parsed(line.substr(4));
  };
  EXPECT_EQ(again(), request);
  request.priority = 15;
  EXPECT_EQ(again(), request);
  request.grade = {gateways::FileGrade::coded, 50, 0};
  EXPECT_EQ(again(), request);
  request.name = std::string(255, '\xff');
  EXPECT_EQ(again(), request);
  request.mtime = -5;
  EXPECT_EQ(again()->mtime, 0);
}

TEST(RelayRequests, a_wrong_word_of_put_is_refused) {
  EXPECT_TRUE(parsed("f 0 644 1.2.3.4"));
  EXPECT_TRUE(parsed("f 4294967295 0 1.2.3.4,1.2.3.5 - coded 50 0"));
  for (const char* wrong :
       {"", "f 0 644", "f 0 644 16.0.0.1", "f 0 644 1.2.3.4,", "f 0 644 1.2.3.4,1.2.3.4",
        "f 0 644 1.2.3.4 16", "f 0 644 1.2.3.4 -1", "f 0 1000 1.2.3.4", "f 0 888 1.2.3.4",
        "f -1 644 1.2.3.4", "f 4294967296 644 1.2.3.4", "%4 0 644 1.2.3.4", "%zz 0 644 1.2.3.4",
        "a%00b 0 644 1.2.3.4", "f 0 644 1.2.3.4 - coded 50", "f 0 644 1.2.3.4 - some 50 0",
        "f 0 644 1.2.3.4 - coded 256 0", "f 0 644 1.2.3.4 - coded 50 x"}) {
    EXPECT_FALSE(parsed(wrong)) << wrong;
  }
}

TEST(RelayRequests, a_filter_of_the_queue_takes_each_word_or_says_what_it_takes) {
  const auto filter = [](const std::string& words) {
    return parse_list_filter(control::words_of(words), {});
  };
  EXPECT_FALSE(filter("")->over);
  const auto all = filter("all=1 state=held station=1.2.3.4");
  ASSERT_TRUE(all);
  EXPECT_TRUE(all->over);
  EXPECT_EQ(all->state, gateways::SpoolState::held);
  EXPECT_EQ(all->destination, Address{0x01020304});
  for (const char* wrong : {"all", "all=2", "x=1", "=", "held"}) {
    EXPECT_EQ(filter(wrong).error().detail, "queue takes all=1, state=STATE and station=STATION")
        << wrong;
  }
  EXPECT_EQ(filter("state=lost").error().detail, "no such state: lost");
  EXPECT_FALSE(filter("station=1.2.3"));
}

TEST(RelayRequests, any_text_is_one_word_of_a_request) {
  for (const std::string text : {"", "a b", "100 %", "\xC3\xA4\n", "plain/path.txt"}) {
    const std::string word = to_percent(text);
    EXPECT_EQ(word.find(' '), std::string::npos);
    EXPECT_EQ(from_percent(word), text);
  }
  EXPECT_FALSE(from_percent("%4"));
  EXPECT_FALSE(from_percent("%zz"));
}

}  // namespace
}  // namespace s5066::file_relay
