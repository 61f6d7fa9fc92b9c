// SPDX-License-Identifier: Apache-2.0
// These tests check how long a message may take, and which stations it has passed.
#include "tests/unit/acp142/mail_core_fixture.h"

namespace s5066::acp142 {
namespace {

// PM-111, PM-109, PM-023: the lifetime is the one that the sender allows, if the message may be
// returned after it and it is less than that of its precedence.
TEST_F(MailCoreTest, a_message_lives_as_long_as_its_sender_or_its_precedence_allows) {
  struct Case {
    const char* said;
    std::int64_t lifetime;
    std::uint8_t priority;
  };
  const Case cases[] = {{"", 43200, 6},
                        {" BY=1000;R", 1000, 6},
                        {" BY=+1000;R", 1000, 6},
                        {" BY=43201;R", 43200, 6},
                        {" BY=1000;N", 43200, 6},
                        {" BY=-1000;N", 43200, 6},
                        {" MT-PRIORITY=6", 3600, 0},
                        {" MT-PRIORITY=4", 3600, 2},
                        {" MT-PRIORITY=2", 14400, 4},
                        {" MT-PRIORITY=-2", 172800, 8},
                        {" MT-PRIORITY=-9 BY=5;R", 5, 15}};
  for (const Case& one : cases) {
    SCOPED_TRACE(one.said);
    send({"<a@ship.example>"}, "<op@shore.example>" + std::string(one.said));
    EXPECT_EQ(submissions.back().expiry.value, kUtc.value + one.lifetime);
    EXPECT_EQ(submissions.back().priority, one.priority);
    end(kShip, Outcome::delivered, submissions.size() - 1);
  }
}

// PM-108: each gateway adds one field above all others.
TEST_F(MailCoreTest, each_way_in_leaves_its_trace) {
  send({"<a@ship.example>"});
  EXPECT_EQ(count_header_fields(payload().content, "Received"), 1u);
  receive("<a@ship.example>\r\n<x@shore.example>\r\n\r\nReceived: from elsewhere\r\n\r\nhi\r\n");
  const Bytes& content = deliveries.at(0).mail->content;
  EXPECT_EQ(count_header_fields(content, "Received"), 2u);
  EXPECT_EQ(text_of(content).rfind("Received: by gw.shore.example with MULE", 0), 0u);
}

}  // namespace
}  // namespace s5066::acp142
