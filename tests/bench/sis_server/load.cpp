// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/sis_server/load.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>

#include "s5066d/base/assert.h"
#include "sis/codec.h"
#include "sis/framer.h"
#include "tests/bench/sis_server/server_side.h"

namespace s5066::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kReadOctets = 256 * 1024;
constexpr int kFillRounds = 20;
constexpr int kFillWaitMs = 50;

std::int64_t now_ns() {
  return Clock::now().time_since_epoch().count();
}

int connected(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  S5066_ASSERT(fd >= 0);
  S5066_ASSERT(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

void send_whole(int fd, const Bytes& octets) {
  S5066_ASSERT(::send(fd, octets.data(), octets.size(), MSG_NOSIGNAL) ==
               static_cast<ssize_t>(octets.size()));
}

SapId sap_of(std::size_t client) {
  return SapId{static_cast<std::uint8_t>(client)};
}

int bound(std::uint16_t port, std::size_t client) {
  const int fd = connected(port);
  Bytes bind;
  sis::encode(
      sis::BindRequest{
          .sap = sap_of(client), .rank = 5, .service = {.mode = sis::TransmissionMode::arq}},
      bind);
  send_whole(fd, bind);
  std::uint8_t answer[9];
  S5066_ASSERT(::recv(fd, answer, sizeof answer, MSG_WAITALL) == sizeof answer);
  S5066_ASSERT(answer[5] == static_cast<std::uint8_t>(sis::Type::bind_accepted));
  return fd;
}

sis::UnidataRequest request_to(Address station, std::size_t client, sis::Confirmation confirm) {
  sis::UnidataRequest request;
  request.destination_sap = sap_of(client);
  request.destination = station;
  request.delivery.mode = sis::TransmissionMode::arq;
  request.delivery.confirmation = confirm;
  return request;
}

/// One socket, of a sending or of an echoing client.
struct Peer {
  int fd = -1;
  std::size_t number = 0;
  bool echoes = false;
  bool waits = false;  // waits until the socket takes more
  sis::Framer framer;
  Bytes unsent;
  std::size_t sent = 0;  // octets of `unsent` that were sent
};

class Load {
 public:
  Load(RoundTrip kind, const std::uint16_t (&ports)[2], int server, const LoadOptions& options)
      : kind_(kind), options_(options), server_(server), epoll_(::epoll_create1(0)) {
    const auto confirm =
        kind == RoundTrip::confirm ? sis::Confirmation::client : sis::Confirmation::none;
    const auto expected = kind == RoundTrip::echo      ? sis::Type::unidata_indication
                          : kind == RoundTrip::confirm ? sis::Type::unidata_request_confirm
                                                       : sis::Type::unidata_request;
    expected_ = static_cast<std::uint8_t>(expected);
    message_ = Bytes(options.updu_octets);
    peers_.reserve(2 * options.clients);
    for (std::size_t i = 0; i < options.clients; ++i) {
      Bytes request;
      auto primitive = request_to(kStations[1], i, confirm);
      primitive.updu = message_;
      sis::encode(primitive, request);
      requests_.push_back(std::move(request));
      Bytes answer;
      primitive = request_to(kStations[0], i, sis::Confirmation::none);
      primitive.updu = message_;
      sis::encode(primitive, answer);
      answers_.push_back(std::move(answer));
      const bool bare = kind == RoundTrip::bare || kind == RoundTrip::relayed;
      const auto client = [&](std::uint16_t port) {
        return bare ? connected(port) : bound(port, i);
      };
      if (kind != RoundTrip::bare) add(client(ports[1]), i, true);
      add(client(ports[0]), i, false);
    }
  }
  ~Load() {
    for (const Peer& peer : peers_) ::close(peer.fd);
    ::close(epoll_);
  }

  LoadResult run() {
    const auto began = Clock::now();
    begin_ = (began + options_.warm_up).time_since_epoch().count();
    const std::int64_t end = (began + options_.warm_up + options_.time).time_since_epoch().count();
    for (Peer& peer : peers_) {
      for (std::size_t n = 0; !peer.echoes && n < options_.outstanding; ++n) {
        request(peer, now_ns());
      }
      flush(peer);
    }
    std::optional<double> cpu;
    std::int64_t measured_from = begin_;
    while (!result_.failed) {
      const std::int64_t now = now_ns();
      if (!cpu && now >= begin_) {
        cpu = cpu_seconds(server_);
        measured_from = now;
      }
      if (now >= end) break;
      send_by_the_clock(began.time_since_epoch().count(), now);
      wait();
    }
    result_.seconds = 1e-9 * static_cast<double>(now_ns() - measured_from);
    result_.server_cpu_seconds = cpu_seconds(server_) - cpu.value_or(0);
    std::sort(result_.latencies_us.begin(), result_.latencies_us.end());
    return std::move(result_);
  }

 private:
  void add(int fd, std::size_t number, bool echoes) {
    Peer& peer = peers_.emplace_back();
    peer.fd = fd;
    peer.number = number;
    peer.echoes = echoes;
    epoll_event event{.events = EPOLLIN, .data = {.u64 = peers_.size() - 1}};
    S5066_ASSERT(::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0);
  }

  /// Requests a message. It begins with the time when it was due, from which its latency counts.
  void request(Peer& peer, std::int64_t at) {
    std::memcpy(message_.data(), &at, sizeof at);
    send(peer, requests_[peer.number], message_);
  }

  void send(Peer& peer, const Bytes& request, ByteSpan updu) {
    append(peer.unsent, request);
    std::copy(updu.begin(), updu.end(),
              peer.unsent.end() - static_cast<std::ptrdiff_t>(updu.size()));
  }

  void flush(Peer& peer) {
    while (peer.sent < peer.unsent.size()) {
      const ssize_t n = ::send(peer.fd, peer.unsent.data() + peer.sent,
                               peer.unsent.size() - peer.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n < 0 && errno != EAGAIN) result_.failed = true;
      if (n < 0) return want_write(peer, true);
      peer.sent += static_cast<std::size_t>(n);
    }
    peer.unsent.clear();
    peer.sent = 0;
    want_write(peer, false);
  }

  void want_write(Peer& peer, bool wanted) {
    if (std::exchange(peer.waits, wanted) == wanted) return;
    epoll_event event{.events = EPOLLIN | (wanted ? EPOLLOUT : 0u),
                      .data = {.u64 = static_cast<std::uint64_t>(&peer - peers_.data())}};
    ::epoll_ctl(epoll_, EPOLL_CTL_MOD, peer.fd, &event);
  }

  // Clients take turns, and each request has a send of its own. A late request carries the time
  // when it was due, so that its delay is part of its latency.
  void send_by_the_clock(std::int64_t began, std::int64_t now) {
    if (options_.per_second <= 0) return;
    const auto due = [&] {
      return began +
             static_cast<std::int64_t>(1e9 * static_cast<double>(sent_) / options_.per_second);
    };
    for (; due() <= now; ++sent_) {
      Peer& peer = peers_[(sent_ % options_.clients) * peers_.size() / options_.clients +
                          peers_.size() / options_.clients - 1];
      request(peer, due());
      flush(peer);
    }
  }

  void wait() {
    epoll_event events[64];
    const int timeout_ms = options_.per_second > 0 ? 0 : 100;
    const int ready = ::epoll_wait(epoll_, events, 64, timeout_ms);
    for (int i = 0; i < ready; ++i) read(peers_[events[i].data.u64], events[i].events);
  }

  void read(Peer& peer, std::uint32_t events) {
    if (events & EPOLLOUT) flush(peer);
    if (!(events & EPOLLIN)) return;
    const ssize_t got = ::recv(peer.fd, input_.data(), input_.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      result_.failed = true;
      return;
    }
    peer.framer.push(ByteSpan(input_.data(), static_cast<std::size_t>(got)));
    while (const auto item = peer.framer.poll()) {
      const auto* frame = std::get_if<sis::Framer::Frame>(&*item);
      if (frame == nullptr || !take(peer, frame->body)) result_.failed = true;
    }
    flush(peer);
  }

  /// Takes a primitive, which ends with the message.
  bool take(Peer& peer, ByteSpan body) {
    if (peer.echoes) {
      const auto expected =
          kind_ == RoundTrip::relayed ? sis::Type::unidata_request : sis::Type::unidata_indication;
      if (kind_ != RoundTrip::confirm) send(peer, answers_[peer.number], message_in(body));
      return body[0] == static_cast<std::uint8_t>(expected);
    }
    if (body[0] != expected_) return false;
    std::int64_t at = 0;
    std::memcpy(&at, message_in(body).data(), sizeof at);
    const std::int64_t now = now_ns();
    if (at >= begin_) result_.latencies_us.push_back(1e-3 * static_cast<double>(now - at));
    if (now >= begin_) ++result_.round_trips;
    if (options_.outstanding > 0) request(peer, now);
    return true;
  }
  ByteSpan message_in(ByteSpan body) const { return body.last(message_.size()); }

  RoundTrip kind_;
  LoadOptions options_;
  int server_;
  int epoll_;
  Bytes message_;
  std::uint8_t expected_ = 0;  // type of the primitive that ends a round trip
  std::vector<Bytes> requests_;
  std::vector<Bytes> answers_;
  std::vector<Peer> peers_;
  Bytes input_ = Bytes(kReadOctets);
  std::int64_t begin_ = 0;
  std::uint64_t sent_ = 0;
  LoadResult result_;
};

}  // namespace

double LoadResult::percentile_us(double percent) const {
  if (latencies_us.empty()) return 0;
  const auto last = static_cast<double>(latencies_us.size() - 1);
  return latencies_us[static_cast<std::size_t>(last * percent / 100)];
}

LoadResult run_load(RoundTrip kind, const std::uint16_t (&ports)[2], int server,
                    const LoadOptions& options) {
  return Load(kind, ports, server, options).run();
}

std::size_t request_octets(std::size_t updu_octets) {
  auto request = request_to(kStations[1], 0, sis::Confirmation::none);
  request.updu = Bytes(updu_octets);
  Bytes frame;
  sis::encode(request, frame);
  return frame.size();
}

IdleClients::IdleClients(std::uint16_t port, std::size_t clients) {
  for (std::size_t i = 0; i < clients; ++i) sockets_.push_back(bound(port, i));
}

IdleClients::~IdleClients() {
  for (const int fd : sockets_) ::close(fd);
}

void IdleClients::fill(std::size_t octets) {
  auto request = request_to(kStations[1], 0, sis::Confirmation::none);
  request.updu = Bytes(octets);
  Bytes frame;
  sis::encode(request, frame);
  for (int round = 0; round < kFillRounds; ++round) {
    for (const int fd : sockets_) {
      while (::send(fd, frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT) > 0) {
      }
    }
    ::poll(nullptr, 0, kFillWaitMs);  // the server makes room as it reads
  }
}

double cpu_seconds(int process) {
  clockid_t clock{};
  timespec used{};
  S5066_ASSERT(::clock_getcpuclockid(process, &clock) == 0);
  S5066_ASSERT(::clock_gettime(clock, &used) == 0);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

double resident_mib(int process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmRSS:", 0) == 0) return std::stod(line.substr(6)) / 1024;
  }
  return 0;
}

}  // namespace s5066::bench
