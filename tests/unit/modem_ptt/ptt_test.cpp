#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "modem/ptt/rigctld.h"
#include "modem/ptt/serial_rts.h"
#include "tests/support/rigctld_stand_in.h"

namespace s5066::modem {
namespace {

using test::RigctldStandIn;

constexpr Duration kPatience = std::chrono::seconds(20);

TEST(RigctldPtt, keys_and_unkeys_and_unkeys_when_it_goes) {
  const RigctldStandIn rig("RPRT 0\n");
  {
    RigctldPtt ptt({.port = rig.port(), .timeout = kPatience});
    EXPECT_TRUE(ptt.key(true).ok());
    EXPECT_TRUE(ptt.key(false).ok());
    EXPECT_TRUE(ptt.key(true).ok());
    EXPECT_EQ(rig.heard(), "T 1\nT 0\nT 1\n");
  }
  EXPECT_EQ(rig.heard(), "T 1\nT 0\nT 1\nT 0\n");
}

TEST(RigctldPtt, a_refusal_and_an_endless_answer_are_errors) {
  const RigctldStandIn refusing("RPRT -9\n");
  RigctldPtt ptt({.port = refusing.port(), .timeout = kPatience});
  const auto refused = ptt.key(false);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::refused);
  const RigctldStandIn babbling(std::string(1000, 'x'));
  RigctldPtt other({.port = babbling.port(), .timeout = kPatience});
  EXPECT_EQ(other.key(false).error().code, ErrorCode::too_large);
}

TEST(RigctldPtt, nobody_there_and_no_answer_are_errors_in_bounded_time) {
  std::uint16_t port = 0;
  {
    const RigctldStandIn gone("");
    port = gone.port();
    RigctldPtt ptt({.port = port, .timeout = std::chrono::milliseconds(50)});
    EXPECT_EQ(ptt.key(false).error().code, ErrorCode::timed_out);
  }
  RigctldPtt ptt({.port = port, .timeout = kPatience});
  EXPECT_EQ(ptt.key(true).error().code, ErrorCode::io);
}

TEST(SerialRtsPtt, a_port_that_is_missing_or_has_no_such_line_is_an_error) {
  SerialRtsPtt missing({.path = "/dev/no-such-port"});
  EXPECT_EQ(missing.key(false).error().code, ErrorCode::io);
  SerialRtsPtt lineless({.path = "/dev/null"});
  EXPECT_FALSE(lineless.key(true).ok());
}

}  // namespace
}  // namespace s5066::modem
