// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/mail/mail_types.h"

#include <gtest/gtest.h>

namespace s5066::acp142 {
namespace {

Bytes octets(std::string_view text) {
  return {text.begin(), text.end()};
}

// PM-104
TEST(PathLine, the_sample_envelope_of_rfc_8494_is_read_and_written_back) {
  for (const char* line : {"<from@example.com> MT-PRIORITY=4 BODY=8BITMIME RET=HDRS ENVID=QQ314159",
                           "<to1@example.net> NOTIFY=FAILURE ORCPT=rfc822;Bob@ent.example.net",
                           "<to2@example.net> NOTIFY=SUCCESS,FAILURE", "<a@[192.0.2.1]>",
                           "<\"a>b\\\"\"@example.net> X"}) {
    const auto path = parse_path(line, PathUse::forward);
    ASSERT_TRUE(path) << line;
    EXPECT_EQ(to_string(*path), line);
  }
}

TEST(PathLine, what_is_no_path_is_refused) {
  for (const char* line :
       {"", "a@b", "<a@b", "<a@b>x", "<a b@c>", "<@b>", "<a@>", "<a@b..c>", "<a@.b>", "<a>",
        "<a@b> =x", "<a@b> k=1 K=2", "<a@b>\tx", "<a@b> k=\xC3\xA9", "<a\"b@c>", "<a@b\n>",
        "<@x,@y>", "<\"a@b>", "<\"a\"b\"@c>"}) {
    EXPECT_FALSE(parse_path(line, PathUse::forward)) << line;
  }
}

TEST(PathLine, only_a_reverse_path_may_be_null_and_only_a_forward_path_the_postmaster) {
  EXPECT_EQ(parse_path("<>", PathUse::reverse)->address, "");
  EXPECT_FALSE(parse_path("<>", PathUse::forward));
  EXPECT_EQ(parse_path("<PostMaster>", PathUse::forward)->address, "PostMaster");
  EXPECT_FALSE(parse_path("<postmaster>", PathUse::reverse));
}

TEST(PathLine, a_source_route_is_dropped) {  // RFC 5321 4.1.1.3
  EXPECT_EQ(parse_path("<@a.b,@c.d:x@y.z>", PathUse::forward)->address, "x@y.z");
}

TEST(PathLine, lengths_at_their_limit_are_taken_and_one_more_is_not) {
  const auto path = [](std::size_t local, std::size_t domain) {
    std::string name;
    while (name.size() + 1 < domain) name += name.size() % 60 == 59 ? "." : "d";
    return "<" + std::string(local, 'l') + "@" + name + "d>";
  };
  EXPECT_TRUE(parse_path(path(64, 100), PathUse::forward));
  EXPECT_FALSE(parse_path(path(65, 100), PathUse::forward));
  EXPECT_TRUE(parse_path(path(53, 200), PathUse::forward));
  EXPECT_FALSE(parse_path(path(54, 200), PathUse::forward));
  std::string line = "<a@b>";
  for (std::size_t i = 0; i < kParametersMax; ++i) line += " K" + std::to_string(i);
  EXPECT_TRUE(parse_path(line, PathUse::forward));
  EXPECT_FALSE(parse_path(line + " K", PathUse::forward));
  std::string longest = "<a@b> K=";
  longest.append(kPathLineOctetsMax - longest.size(), 'v');
  EXPECT_TRUE(parse_path(longest, PathUse::forward));
  EXPECT_FALSE(parse_path(longest + "v", PathUse::forward));
}

// PM-110
TEST(EsmtpParameters, the_required_ones_are_known_with_legal_values_only) {
  const auto bad = [](const char* text, PathUse use) {
    return bad_parameter(parse_path("<a@b> " + std::string(text), use)->parameters, use);
  };
  for (const char* good : {"SIZE=0", "SIZE=9223372036854775807", "BODY=7bit", "BODY=8BITMIME",
                           "BODY=BINARYMIME", "RET=FULL", "RET=hdrs", "ENVID=a+2Bb",
                           "MT-PRIORITY=-9", "MT-PRIORITY=9", "BY=1;R", "BY=-5;NT", "AUTH=<>"}) {
    EXPECT_FALSE(bad(good, PathUse::reverse)) << good;
  }
  for (const char* wrong : {"SIZE=-1", "SIZE=", "SIZE=9223372036854775808", "BODY=9BIT", "RET=ALL",
                            "ENVID=", "ENVID=a+", "ENVID=a+2b", "MT-PRIORITY=10", "MT-PRIORITY=x",
                            "BY=0;R", "BY=5;X", "BY=5;", "BY=5", "NOTIFY=NEVER", "WHAT"}) {
    EXPECT_TRUE(bad(wrong, PathUse::reverse)) << wrong;
  }
  for (const char* good : {"NOTIFY=NEVER", "NOTIFY=SUCCESS,DELAY", "ORCPT=rfc822;a@b"}) {
    EXPECT_FALSE(bad(good, PathUse::forward)) << good;
  }
  for (const char* wrong :
       {"NOTIFY=NEVER,DELAY", "NOTIFY=", "NOTIFY=SUCCESS,", "ORCPT=a@b", "ORCPT=;a", "SIZE=1"}) {
    EXPECT_TRUE(bad(wrong, PathUse::forward)) << wrong;
  }
}

// PM-109
TEST(MtPriority, every_level_has_the_p_mul_priority_of_rfc_8494_and_none_is_negative) {
  const int expected[] = {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0};
  for (int level = -9; level <= 9; ++level) {
    EXPECT_EQ(p_mul_priority(level), expected[level + 9]) << level;
  }
  EXPECT_EQ(mt_priority({{"MT-PRIORITY", "+4"}}), 4);
  EXPECT_EQ(mt_priority({}), 0);
}

TEST(NotifyParameter, says_what_the_sender_wants_and_failure_is_told_unless_said_otherwise) {
  EXPECT_TRUE(notify_of({}).failure);
  EXPECT_FALSE(notify_of({}).success);
  const Notify never = notify_of({{"NOTIFY", "NEVER"}});
  EXPECT_FALSE(never.failure || never.success || never.delay);
  const Notify some = notify_of({{"NOTIFY", "Success,DELAY"}});
  EXPECT_TRUE(some.success && some.delay && !some.failure);
}

TEST(HeaderFields, are_found_folded_and_only_in_the_header_section) {
  const Bytes content = octets(
      "Received: one\r\nMESSAGE-id:\r\n <1@a>\r\nReceived: two\r\n\tb\r\n\r\nReceived: three\r\n");
  EXPECT_EQ(header_field(content, "Message-ID"), "<1@a>");
  EXPECT_EQ(header_field(content, "Subject"), "");
  EXPECT_EQ(count_header_fields(content, "Received"), 2u);
  EXPECT_EQ(header_octets(content), content.size() - 17);
  EXPECT_EQ(header_octets(octets("\r\nbody")), 2u);
  EXPECT_EQ(header_octets(octets("A: b")), 4u);
}

TEST(LineEnds, alone_they_are_seen_wherever_they_stand) {
  EXPECT_FALSE(check_lines(octets("a\r\nb\r\n")).bare);
  EXPECT_FALSE(check_lines({}).bare);
  for (const char* text : {"a\nb", "\n", "a\rb", "a\r", "a\r\r\n", "a\r\n\nb"}) {
    EXPECT_TRUE(check_lines(octets(text)).bare) << text;
  }
  EXPECT_EQ(check_lines(octets("abc\r\nab")).longest, 5u);
  EXPECT_TRUE(check_lines(octets("\x80")).eight_bit);
  EXPECT_TRUE(check_lines(Bytes(1)).zero);
}

TEST(MailDate, is_written_as_rfc_5322_wants_it) {
  EXPECT_EQ(mail_date({1700003600}), "Tue, 14 Nov 2023 23:13:20 +0000");
  EXPECT_EQ(mail_date({0}), "Thu, 1 Jan 1970 00:00:00 +0000");
}

}  // namespace
}  // namespace s5066::acp142
