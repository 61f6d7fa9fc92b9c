// Stands in for hamlib's rigctld: takes one connection after the other on a port of its own, and
// gives each line the same answer.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "s5066d/base/bytes.h"
#include "s5066d/posix/socket.h"

namespace s5066::test {

class RigctldStandIn {
 public:
  explicit RigctldStandIn(std::string answer = "RPRT 0\n") : answer_(std::move(answer)) {
    listener_ = posix::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_.get(), generic, size), 0);
    EXPECT_EQ(::listen(listener_.get(), 4), 0);
    EXPECT_EQ(::getsockname(listener_.get(), generic, &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~RigctldStandIn() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  std::uint16_t port() const { return port_; }
  /// All lines so far: "T 1" keys the transmitter, "T 0" unkeys it.
  std::string heard() const {
    const std::lock_guard lock(mutex_);
    return heard_;
  }

 private:
  static constexpr Duration kPatience = std::chrono::seconds(20);

  void serve() {
    for (;;) {
      const posix::Fd peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!peer) return;
      Bytes line(64);
      for (;;) {
        const auto got = posix::receive_some(peer.get(), line, kPatience);
        if (!got) break;
        {
          const std::lock_guard lock(mutex_);
          heard_.append(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(*got));
        }
        const Bytes answer(answer_.begin(), answer_.end());
        if (!posix::send_all(peer.get(), answer, kPatience)) break;
      }
    }
  }

  std::string answer_;
  posix::Fd listener_;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::string heard_;
  std::thread thread_;
};

}  // namespace s5066::test
