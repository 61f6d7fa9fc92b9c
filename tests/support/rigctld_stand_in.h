// Stands in for hamlib's rigctld on a loopback port of its own: takes any number of connections and
// gives each line the same answer.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

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
    drop();
    for (std::thread& peer : peers_) peer.join();
  }
  std::uint16_t port() const { return port_; }
  /// Ends the connections there are, as a restart of rigctld does.
  void drop() {
    const std::lock_guard lock(mutex_);
    for (const posix::Fd& socket : sockets_) ::shutdown(socket.get(), SHUT_RDWR);
  }
  /// The connections there are get no answers any more; new ones do.
  void hang() { hung_ = connected_.load(); }
  /// All lines so far: "T 1" keys the transmitter, "T 0" unkeys it.
  std::string heard() const {
    const std::lock_guard lock(mutex_);
    return heard_;
  }
  int connected() const { return connected_; }

 private:
  static constexpr Duration kPatience = std::chrono::seconds(20);

  void serve() {
    for (;;) {
      posix::Fd peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!peer) return;
      const int socket = peer.get();
      const int number = ++connected_;
      const std::lock_guard lock(mutex_);
      sockets_.push_back(std::move(peer));
      peers_.emplace_back([this, socket, number] { answer(socket, number); });
    }
  }
  void answer(int socket, int number) {
    Bytes line(64);
    for (;;) {
      const auto got = posix::receive_some(socket, line, kPatience);
      if (!got) return;
      {
        const std::lock_guard lock(mutex_);
        heard_.append(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(*got));
      }
      if (number <= hung_) continue;
      const Bytes answer(answer_.begin(), answer_.end());
      if (!posix::send_all(socket, answer, kPatience)) return;
    }
  }

  std::string answer_;
  posix::Fd listener_;
  std::uint16_t port_ = 0;
  std::atomic<int> connected_{0};
  std::atomic<int> hung_{0};
  mutable std::mutex mutex_;
  std::string heard_;
  std::vector<posix::Fd> sockets_;
  std::vector<std::thread> peers_;
  std::thread thread_;
};

}  // namespace s5066::test
