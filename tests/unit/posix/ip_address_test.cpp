// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "s5066d/posix/socket.h"
#include "tests/support/patience.h"

namespace s5066::posix {
namespace {

TEST(IpAddress, an_address_is_four_or_six_in_digits) {
  for (const char* good : {"127.0.0.1", "192.0.2.255", "::", "2001:db8::7", "::ffff:192.0.2.1"}) {
    EXPECT_TRUE(check_ip_address(good).ok()) << good;
  }
  for (const char* bad : {"", "radio.example", "192.0.2.256", "192.0.2", "::1::", "[::1]", "1 "}) {
    const auto checked = check_ip_address(bad);
    ASSERT_FALSE(checked.ok()) << bad;
    EXPECT_EQ(checked.error().code, ErrorCode::bad_field);
  }
}

TEST(IpAddress, a_connection_has_the_address_of_its_other_end) {
  for (const char* address : {"127.0.0.1", "::1"}) {
    const auto listener = listen_tcp(address, 0, 1);
    if (!listener && std::string(address) == "::1") GTEST_SKIP() << "no IPv6 here";
    ASSERT_TRUE(listener.ok());
    const auto port = local_port(listener->get());
    const auto user = connect_tcp(address, *port, test::kPatience);
    ASSERT_TRUE(user.ok());
    EXPECT_EQ(peer_address(user->get()), address);
  }
  EXPECT_EQ(peer_address(-1), "?");
}

}  // namespace
}  // namespace s5066::posix
