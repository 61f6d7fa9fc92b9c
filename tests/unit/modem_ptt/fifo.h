// SPDX-License-Identifier: Apache-2.0
// Fifo stands in for the hidraw device of a sound chip: a named pipe that keeps the reports written
// to it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <string>

#include "s5066d/posix/fd.h"
#include "tests/support/temporary_folder.h"

namespace s5066::modem {

class Fifo {
 public:
  Fifo() {
    EXPECT_EQ(::mkfifo(path().c_str(), 0600), 0);
    end_ = posix::Fd(::open(path().c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    EXPECT_TRUE(end_);
  }

  std::string path() const { return folder_ / "hidraw"; }
  /// Waits for the next report and returns it. Returns all ones if none comes within 20 s.
  std::array<std::uint8_t, 5> read() const {
    std::array<std::uint8_t, 5> report;
    report.fill(0xFF);
    pollfd wait{.fd = end_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&wait, 1, 20'000) == 1) {
      EXPECT_EQ(::read(end_.get(), report.data(), report.size()), 5);
    }
    return report;
  }
  /// Closes the reading end. From now on each write fails with an error.
  void pull_out() {
    ::signal(SIGPIPE, SIG_IGN);
    end_.reset();
  }
  bool empty() const {
    pollfd look{.fd = end_.get(), .events = POLLIN, .revents = 0};
    return ::poll(&look, 1, 0) == 0;
  }

 private:
  test::TemporaryFolder folder_;
  posix::Fd end_;
};

}  // namespace s5066::modem
