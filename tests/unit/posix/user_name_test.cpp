// SPDX-License-Identifier: Apache-2.0
#include "s5066d/posix/user_name.h"

#include <gtest/gtest.h>

#include "s5066d/posix/os_error.h"

namespace s5066::posix {
namespace {

TEST(UserName, is_the_name_or_else_the_number) {
  EXPECT_EQ(user_name(0), "root");
  EXPECT_EQ(user_name(3999999999u), "3999999999");
}

TEST(OsError, names_the_thing_and_the_reason) {
  errno = ENOENT;
  EXPECT_EQ(os_error("/a").detail, "/a: No such file or directory");
  EXPECT_EQ(os_error("/a", EISDIR).detail, "/a: Is a directory");
  EXPECT_EQ(os_error("/a").code, ErrorCode::io);
}

}  // namespace
}  // namespace s5066::posix
