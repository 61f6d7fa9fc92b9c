// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/mail/repeat_marks.h"

#include <gtest/gtest.h>

namespace s5066::acp142 {
namespace {

Mail mail(const std::string& content, const std::string& from = "a@b",
          std::vector<std::string> to = {"x@far.example"}) {
  Mail made;
  made.envelope.from.address = from;
  for (const std::string& one : to) made.envelope.recipients.push_back({one, {}});
  made.content.assign(content.begin(), content.end());
  return made;
}

const std::string kRest = "Message-ID: <1@x>\r\nSubject: s\r\n\r\nhello\r\n";

TEST(RepeatMarks, a_copy_with_other_trace_fields_is_a_repeat) {
  const auto first = repeat_marks(mail("Received: from a\r\n\tby mx id 1\r\n" + kRest), "smtp");
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].size(), 16u);
  for (const char* fields : {"", "Received: by mx id 2\r\n", "DKIM-Signature: t=2\r\n",
                             "MULE-Next-Hop: 10.1.1.1;\r\nReceived: by mx id 1\r\n"}) {
    EXPECT_EQ(repeat_marks(mail(fields + kRest), "smtp"), first) << fields;
  }
}

TEST(RepeatMarks, what_differs_in_anything_that_matters_is_another_message) {
  const auto first = repeat_marks(mail(kRest), "smtp");
  for (const Mail& other :
       {mail("Message-ID: <2@x>\r\nSubject: s\r\n\r\nhello\r\n"),
        mail("Message-ID: <1@x>\r\nSubject: t\r\n\r\nhello\r\n"),
        mail("Message-ID: <1@x>\r\nSubject: s\r\n\r\nhallo\r\n"), mail("Date: now\r\n" + kRest),
        mail("Resent-Message-ID: <3@x>\r\n" + kRest), mail(kRest, "c@b"),
        mail(kRest, "a@b", {"y@far.example"})}) {
    EXPECT_NE(repeat_marks(other, "smtp"), first);
  }
  EXPECT_NE(repeat_marks(mail(kRest), "air"), first);
}

TEST(RepeatMarks, each_recipient_has_a_mark_of_its_own) {
  const auto both = repeat_marks(mail(kRest, "a@b", {"x@far.example", "y@far.example"}), "smtp");
  ASSERT_EQ(both.size(), 2u);
  EXPECT_NE(both[0], both[1]);
  EXPECT_EQ(both[0], repeat_marks(mail(kRest), "smtp")[0]);
}

TEST(RepeatMarks, without_a_message_id_the_whole_content_but_for_its_trace_counts) {
  const std::string rest = "Date: Fri, 15 Jan 2027 08:00:00 +0000\r\nX-A: 1\r\n\r\nhello\r\n";
  const auto first = repeat_marks(mail("Received: by mx id 1\r\n" + rest), "smtp");
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(repeat_marks(mail("Received: by mx id 2\r\n" + rest), "smtp"), first);
  EXPECT_EQ(repeat_marks(mail("X-B: 2\r\n" + rest), "smtp") == first, false);
  EXPECT_TRUE(repeat_marks(mail("Subject: s\r\n\r\nhello\r\n"), "smtp").empty());
  EXPECT_TRUE(repeat_marks(mail(""), "smtp").empty());
  EXPECT_TRUE(repeat_marks(mail("A"), "smtp").empty());
}

}  // namespace
}  // namespace s5066::acp142
