#include "tests/live/sis_tap.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "s5066d/pdu/capture.h"
#include "sis/primitives.h"

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
  pdu::append_capture_header(pdu::LinkType::raw_ip, file_);
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
  return file_;
}

void SisTap::serve() {
  while (!stopping_) {
    if (!is_readable(listener_)) continue;
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(server_port_);
    if (::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      ++client_port_;
      sent_[0] = sent_[1] = 1;
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
  Bytes packet = {0x45, 0};
  put_u16(packet, static_cast<std::uint16_t>(40 + octets.size()));
  append(packet, Bytes{0, 0, 0x40, 0, 64, 6, 0, 0});
  append(packet, to_server ? Bytes{10, 0, 0, 2, 10, 0, 0, 1} : Bytes{10, 0, 0, 1, 10, 0, 0, 2});
  put_u16(packet, to_server ? client_port_ : sis::kDefaultPort);
  put_u16(packet, to_server ? sis::kDefaultPort : client_port_);
  put_u32(packet, sent_[to_server]);
  put_u32(packet, sent_[!to_server]);
  append(packet, Bytes{0x50, 0x18, 0xFF, 0xFF, 0, 0, 0, 0});  // PSH and ACK, no urgent data
  append(packet, octets);
  sent_[to_server] += static_cast<std::uint32_t>(octets.size());
  pdu::append_capture_record(std::chrono::system_clock::now().time_since_epoch(), packet, file_);
}

}  // namespace s5066::live
