// SPDX-License-Identifier: Apache-2.0
#include "tests/live/sis_tap.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "sis/codec.h"
#include "tests/support/sis_dissection.h"
#include "tests/support/tshark.h"

namespace s5066::live {

namespace {

constexpr int kPollMs = 50;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

bool is_readable(int socket) {
  pollfd poll{socket, POLLIN, 0};
  return ::poll(&poll, 1, kPollMs) > 0;
}

bool send_all(int socket, ByteSpan octets) {
  while (!octets.empty()) {
    const ssize_t n = ::send(socket, octets.data(), octets.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    octets = octets.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

SisTap::SisTap(std::uint16_t server_port) : server_port_(server_port) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size);
  ::listen(listener_, 4);
  ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

SisTap::~SisTap() {
  stopping_ = true;
  thread_.join();
  ::close(listener_);
}

Bytes SisTap::capture() const {
  const std::lock_guard lock(mutex_);
  return capture_.file();
}

std::vector<sis::Primitive> SisTap::primitives() const {
  const std::lock_guard lock(mutex_);
  return primitives_;
}

void SisTap::serve() {
  while (!stopping_) {
    if (!is_readable(listener_)) continue;
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(server_port_);
    if (::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      {
        const std::lock_guard lock(mutex_);
        capture_.new_connection();
        framers_[0] = framers_[1] = {};
      }
      pass_on(client, server);
    }
    ::close(client);
    ::close(server);
  }
}

void SisTap::pass_on(int client, int server) {
  std::array<std::uint8_t, 32 * 1024> buffer;
  while (!stopping_) {
    std::array<pollfd, 2> polls = {pollfd{client, POLLIN, 0}, pollfd{server, POLLIN, 0}};
    if (::poll(polls.data(), polls.size(), kPollMs) <= 0) continue;
    for (const bool to_server : {true, false}) {
      const auto& from = polls[to_server ? 0 : 1];
      if (!from.revents) continue;
      const ssize_t n = ::recv(from.fd, buffer.data(), buffer.size(), 0);
      if (n <= 0) return;
      const ByteSpan octets(buffer.data(), static_cast<std::size_t>(n));
      keep(to_server, octets);
      if (!send_all(to_server ? server : client, octets)) return;
    }
  }
}

void SisTap::keep(bool to_server, ByteSpan octets) {
  const std::lock_guard lock(mutex_);
  sis::Framer& framer = framers_[to_server];
  framer.push(octets);
  while (const auto item = framer.poll()) {
    const auto* frame = std::get_if<sis::Framer::Frame>(&*item);
    auto primitive = frame ? sis::decode(frame->body)
                           : Result<sis::Primitive>(Error{ErrorCode::bad_sync, "frame"});
    EXPECT_TRUE(primitive.ok()) << to_string(primitive.error());
    if (!primitive) continue;
    Bytes whole = {sis::kPreamble0, sis::kPreamble1, sis::kVersion};
    put_u16(whole, static_cast<std::uint16_t>(frame->body.size()));
    append(whole, frame->body);
    capture_.add(to_server, whole, std::chrono::system_clock::now().time_since_epoch());
    if (const auto* in = std::get_if<sis::UnidataIndication>(&*primitive)) {
      octets_delivered_ += in->updu.size();
    }
    primitives_.push_back(*std::move(primitive));
  }
}

std::size_t expect_dissected(const SisTap& tap) {
  const auto primitives = tap.primitives();
  const auto packets = test::dissect(tap.capture());
  EXPECT_TRUE(packets.ok());
  if (!packets) return 0;
  EXPECT_GE(packets->size(), primitives.size());  // more primitives may have passed since
  for (std::size_t i = 0; i < std::min(packets->size(), primitives.size()); ++i) {
    const auto shown = test::split_primitives((*packets)[i]);
    EXPECT_EQ(shown.size(), 1u) << "packet " << i + 1;
    if (shown.size() != 1) continue;
    EXPECT_EQ(test::differences(shown[0], primitives[i]), std::vector<std::string>{})
        << "packet " << i + 1;
  }
  return primitives.size();
}

}  // namespace s5066::live
