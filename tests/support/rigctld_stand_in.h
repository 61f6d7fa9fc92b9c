// SPDX-License-Identifier: Apache-2.0
// A stand-in for hamlib's rigctld on a loopback port of its own. It takes any number of connections
// and gives each line the same answer, at once or later. It answers the question "\chk_vfo" truly
// and leaves it out of the lines that heard() and done() return.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "s5066d/base/bytes.h"
#include "s5066d/posix/socket.h"

namespace s5066::test {

class RigctldStandIn {
 public:
  explicit RigctldStandIn(std::string answer = "RPRT 0\n", std::uint16_t port = 0)
      : answer_(std::move(answer)) {
    listener_ = posix::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    const int again = 1;
    ::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &again, sizeof again);
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
    for (Peer& peer : peers_) peer.thread.join();
  }
  std::uint16_t port() const { return port_; }
  /// Closes the existing connections, as a restart of rigctld does.
  void drop() {
    const std::lock_guard lock(mutex_);
    for (const Peer& peer : peers_) ::shutdown(peer.socket.get(), SHUT_RDWR);
  }
  /// Leaves commands on the existing connections undone until resume(); new connections are served.
  void hang() {
    const std::lock_guard lock(mutex_);
    for (Peer& peer : peers_) peer.hangs = true;
  }
  /// Serves neither existing nor new connections while `on`.
  void hang_all(bool on) {
    {
      const std::lock_guard lock(mutex_);
      hangs_ = on;
    }
    if (on) return hang();
    resume();
  }
  void resume() {
    const std::lock_guard lock(mutex_);
    for (Peer& peer : peers_) {
      peer.hangs = false;
      work_off(peer);
    }
  }
  /// Answers "t" with the key state that it has recorded, and not with the common answer.
  void tell_key() {
    const std::lock_guard lock(mutex_);
    tells_key_ = true;
  }
  /// Answers the next `times` lines "T 0" without a change of the key state.
  void ignore_unkeying(unsigned times) {
    const std::lock_guard lock(mutex_);
    ignored_ = times;
  }
  /// Behaves as rigctld --vfo does: each line has to name the VFO. A line without it is taken for
  /// half a line and gets no answer.
  void want_vfo() {
    const std::lock_guard lock(mutex_);
    wants_vfo_ = true;
  }
  /// Gives no answer to "t" if `nothing` is true.
  void tell_nothing(bool nothing) {
    const std::lock_guard lock(mutex_);
    tells_nothing_ = nothing;
  }
  /// Answers the next `times` lines "t" with 1 although the answer should be 0, like a radio that
  /// unkeys or reports late.
  void tell_late(unsigned times) {
    const std::lock_guard lock(mutex_);
    late_ = times;
  }
  /// Returns all lines received so far: "T 1" keys the transmitter, "T 0" unkeys it.
  std::string heard() const {
    const std::lock_guard lock(mutex_);
    std::string lines = heard_;
    for (auto at = lines.find(kVfoQuestion); at != std::string::npos;
         at = lines.find(kVfoQuestion)) {
      lines.erase(at, kVfoQuestion.size());
    }
    return lines;
  }
  /// Returns all lines that were done and answered, in this order.
  std::string done() const {
    const std::lock_guard lock(mutex_);
    return done_;
  }
  std::size_t connected() const {
    const std::lock_guard lock(mutex_);
    return peers_.size();
  }

 private:
  static constexpr Duration kPatience = std::chrono::seconds(20);
  static constexpr std::string_view kVfoQuestion = "\\chk_vfo\n";

  struct Peer {
    posix::Fd socket;
    bool hangs = false;
    std::string to_do;
    std::thread thread;
  };

  void serve() {
    for (;;) {
      posix::Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!socket) return;
      const std::lock_guard lock(mutex_);
      Peer& peer = peers_.emplace_back();
      peer.hangs = hangs_;
      peer.socket = std::move(socket);
      peer.thread = std::thread([this, &peer] { listen_to(peer); });
    }
  }
  void listen_to(Peer& peer) {
    Bytes part(64);
    const int socket = peer.socket.get();
    while (const auto got = posix::receive_some(socket, part, kPatience)) {
      const std::lock_guard lock(mutex_);
      const auto end = part.begin() + static_cast<std::ptrdiff_t>(*got);
      heard_.append(part.begin(), end);
      peer.to_do.append(part.begin(), end);
      work_off(peer);
    }
  }
  void work_off(Peer& peer) {
    for (auto end = peer.to_do.find('\n'); !peer.hangs && end != std::string::npos;
         end = peer.to_do.find('\n')) {
      const std::string line = peer.to_do.substr(0, end + 1);
      if (line != kVfoQuestion) done_ += line;
      peer.to_do.erase(0, end + 1);
      const std::string words = answer_to(line);
      const Bytes answer(words.begin(), words.end());
      static_cast<void>(posix::send_all(peer.socket.get(), answer, kPatience));
    }
  }

  std::string answer_to(std::string line) {
    if (line == kVfoQuestion) return wants_vfo_ ? "1\n" : "0\n";
    if (wants_vfo_) {
      const auto vfo = line.find(" currVFO");
      if (vfo == std::string::npos) return {};
      line.erase(vfo, std::string_view(" currVFO").size());
    }
    if (line == "t\n" && tells_nothing_) return {};
    if (line == "t\n" && tells_key_) {
      if (keyed_) return "1\n";
      return late_ > 0 && late_-- > 0 ? "1\n" : "0\n";
    }
    if (line == "T 1\n") keyed_ = true;
    if (line != "T 0\n") return answer_;
    if (ignored_ > 0) {
      --ignored_;
    } else {
      keyed_ = false;
    }
    return answer_;
  }

  std::string answer_;
  posix::Fd listener_;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;  // guards all members below
  std::list<Peer> peers_;
  std::string heard_;
  std::string done_;
  bool tells_key_ = false;
  bool tells_nothing_ = false;
  bool wants_vfo_ = false;
  bool hangs_ = false;
  bool keyed_ = false;
  unsigned ignored_ = 0;
  unsigned late_ = 0;
  std::thread thread_;
};

}  // namespace s5066::test
