// SPDX-License-Identifier: Apache-2.0
// Takes all file descriptors from a process for a part of a test.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "s5066d/posix/fd.h"

namespace s5066::test {

/// No descriptor can be opened while this object lives, unless one is closed.
class NoDescriptorsLeft {
 public:
  NoDescriptorsLeft() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const posix::Fd next(::fcntl(0, F_DUPFD_CLOEXEC, 0));
    rlimit none = before_;
    none.rlim_cur = static_cast<rlim_t>(next.get());
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoDescriptorsLeft() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptorsLeft(const NoDescriptorsLeft&) = delete;
  NoDescriptorsLeft& operator=(const NoDescriptorsLeft&) = delete;

 private:
  rlimit before_{};
};

}  // namespace s5066::test
