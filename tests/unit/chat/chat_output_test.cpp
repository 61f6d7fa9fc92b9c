// SPDX-License-Identifier: Apache-2.0
#include "gateways/chat/chat_output.h"

#include <gtest/gtest.h>

namespace s5066::chat {
namespace {

constexpr Duration kTime = std::chrono::milliseconds(1'800'000'000'123);
constexpr Address kBravo{0x01020305};

// F.7.4(2): source and time of receipt
TEST(ChatOutput, a_person_reads_who_said_what_and_when) {
  const Line heard{.kind = LineKind::received, .from = kBravo, .to = {0x01020306}, .text = "a\nb"};
  EXPECT_EQ(as_text(heard, kTime), "08:00:00Z 1.2.3.5: a\n    b\n");
  Line to_all = heard;
  to_all.to = Address::all_stations();
  EXPECT_EQ(as_text(to_all, kTime), "08:00:00Z 1.2.3.5 to 31.255.255.255: a\n    b\n");
}

// F.7.4(3)
TEST(ChatOutput, a_person_reads_what_became_of_a_message) {
  Line line{.kind = LineKind::sent, .number = 7, .to = kBravo, .text = "QSL?"};
  EXPECT_EQ(as_text(line, kTime), "08:00:00Z #7 to 1.2.3.5: QSL?\n");
  line.kind = LineKind::delivered;
  EXPECT_EQ(as_text(line, kTime), "08:00:00Z #7 delivered to 1.2.3.5\n");
  line.kind = LineKind::failed;
  line.reason = "destination SAP not bound";
  EXPECT_EQ(as_text(line, kTime),
            "08:00:00Z #7 NOT delivered to 1.2.3.5: destination SAP not bound\n");
}

TEST(ChatOutput, json_has_one_object_a_line_whatever_was_said) {
  const Line heard{.kind = LineKind::received,
                   .from = kBravo,
                   .to = Address::all_stations(),
                   .text = "say \"a\\b\"\nend"};
  EXPECT_EQ(as_json(heard, kTime),
            "{\"event\": \"received\", \"time\": \"2027-01-15T08:00:00.123Z\", "
            "\"from\": \"1.2.3.5\", \"to\": \"31.255.255.255\", \"group\": true, "
            "\"text\": \"say \\\"a\\\\b\\\"\\u000aend\"}\n");
  const Line failed{.kind = LineKind::failed, .number = 7, .to = kBravo, .reason = "no"};
  EXPECT_EQ(as_json(failed, kTime),
            "{\"event\": \"failed\", \"time\": \"2027-01-15T08:00:00.123Z\", \"id\": 7, "
            "\"to\": \"1.2.3.5\", \"group\": false, \"reason\": \"no\"}\n");
}

}  // namespace
}  // namespace s5066::chat
