// SPDX-License-Identifier: Apache-2.0
// A stand-in for systemd: a socket that receives a service's messages in the protocol of
// sd_notify(3).
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "s5066d/posix/fd.h"

namespace s5066::test {

class FakeServiceManager {
 public:
  /// Opens one socket per `service` name. An `abstract` socket has no path in the file system.
  explicit FakeServiceManager(const std::string& service, bool abstract = false) {
    const std::string name = "s5066-notify-" + std::to_string(::getpid()) + "-" + service;
    socket_name_ = (abstract ? "@" : std::filesystem::temp_directory_path().string() + "/") + name;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socket_name_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    if (abstract) address.sun_path[0] = '\0';
    if (!abstract) std::filesystem::remove(socket_name_);
    const auto octets =
        static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_name_.size());
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), octets), 0);
  }
  ~FakeServiceManager() {
    if (socket_name_[0] != '@') std::filesystem::remove(socket_name_);
  }
  FakeServiceManager(const FakeServiceManager&) = delete;
  FakeServiceManager& operator=(const FakeServiceManager&) = delete;

  /// Returns the socket's name in the format of NOTIFY_SOCKET.
  const std::string& socket_name() const { return socket_name_; }
  /// Returns all states received so far, the oldest first.
  const std::vector<std::string>& heard() {
    std::array<char, 256> text{};
    for (;;) {
      const auto octets = ::recv(socket_.get(), text.data(), text.size(), MSG_DONTWAIT);
      if (octets < 0) return heard_;
      heard_.emplace_back(text.data(), static_cast<std::size_t>(octets));
    }
  }
  std::size_t count(const std::string& state) {
    const auto& all = heard();
    return static_cast<std::size_t>(std::count(all.begin(), all.end(), state));
  }

 private:
  std::string socket_name_;
  posix::Fd socket_{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  std::vector<std::string> heard_;
};

}  // namespace s5066::test
