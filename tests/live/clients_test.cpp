// SPDX-License-Identifier: Apache-2.0
// Tests SIS clients that break the rules while another client's transfer goes on.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "sis/codec.h"
#include "tests/live/hand_client.h"
#include "tests/live/pair.h"

namespace s5066::live {
namespace {

/// Returns the number of the client that connected last.
std::string newest_client(const std::string& log) {
  const std::string mark = "sis_client_connected client=";
  const auto at = log.rfind(mark);
  if (at == std::string::npos) return {};
  const auto begin = at + mark.size();
  return log.substr(begin, log.find_first_not_of("0123456789", begin) - begin);
}

/// A bare TCP connection to a station.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~RawClient() { ::close(socket_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return connected_; }
  void send(ByteSpan octets) {
    (void)!::send(socket_, octets.data(), octets.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  /// Writes whole copies of `octets` until the socket takes no more.
  void fill_with(const Bytes& octets) {
    for (;;) {
      if (unsent_.empty()) unsent_ = octets;
      const ssize_t n =
          ::send(socket_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n < 0) {
        reset_ = reset_ || (errno != EAGAIN);
        return;
      }
      unsent_.erase(unsent_.begin(), unsent_.begin() + n);
    }
  }
  /// True if the server has reset the connection, as a client notices that sends and never reads.
  bool is_reset() const { return reset_; }
  /// Drops all incoming packets from now on, so that nothing is acknowledged either.
  void lose_network() {
    sock_filter nothing[] = {{BPF_RET | BPF_K, 0, 0, 0}};
    const sock_fprog filter{1, nothing};
    ASSERT_EQ(::setsockopt(socket_, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter), 0);
  }
  /// True if the server has closed the connection; reads and discards the octets before that.
  bool is_closed() {
    pollfd poll{socket_, POLLIN, 0};
    std::uint8_t buffer[4096];
    while (::poll(&poll, 1, 0) > 0) {
      const ssize_t n = ::recv(socket_, buffer, sizeof buffer, MSG_DONTWAIT);
      if (n > 0) continue;
      return true;
    }
    return false;
  }

 private:
  int socket_;
  bool connected_ = false;
  Bytes unsent_;
  bool reset_ = false;
};

TEST(LiveClients, garbage_halves_and_silence_leave_a_transfer_alone) {
  const std::string file = noise(20'000, 2);
  Pair pair;
  ASSERT_NO_FATAL_FAILURE(pair.start_all());
  pair.folder().write("noise.bin", file);
  Process send = pair.send("noise.bin");
  ASSERT_TRUE(await([&] { return pair.acknowledged_octets("alpha") > 0; })) << pair.log("alpha");

  RawClient garbage(pair.sis_port("alpha"));
  RawClient half(pair.sis_port("alpha"));
  RawClient silent(pair.sis_port("alpha"));
  ASSERT_TRUE(garbage.connected() && half.connected() && silent.connected());
  const std::string rubbish = noise(64 * 1024, 3);
  garbage.send(Bytes(rubbish.begin(), rubbish.end()));
  Bytes bind;
  encode(sis::Primitive{sis::BindRequest{.sap = SapId{7}, .rank = 1, .service = {}}}, bind);
  half.send(ByteSpan(bind).first(bind.size() - 1));

  ASSERT_EQ(send.wait(), 0) << pair.log("send");
  EXPECT_EQ(pair.received("noise.bin"), file);
  // The server closes each of the three: for too many invalid primitives, for a primitive that
  // stays incomplete, and for never binding. The timeouts pass quickly because the cable's clock is
  // fast.
  EXPECT_TRUE(await([&] { return garbage.is_closed(); }));
  EXPECT_TRUE(await([&] { return half.is_closed(); }));
  EXPECT_TRUE(await([&] { return silent.is_closed(); }));
  EXPECT_EQ(pair.process("alpha").stop(), 0);
}

/// Returns the resident memory of a process in octets.
std::size_t resident_octets(const std::string& status) {
  const std::size_t at = status.find("VmRSS:");
  return at == std::string::npos ? 0 : 1024 * std::stoul(status.substr(at + 6));
}

constexpr Address kAlpha{0x01020001};

Bytes request_to_itself(SapId sap, std::size_t octets) {
  Bytes frame;
  encode(sis::Primitive{sis::UnidataRequest{
             .destination_sap = sap, .destination = kAlpha, .updu = Bytes(octets, 0x55)}},
         frame);
  return frame;
}

// A.2.1.14(5): the server disconnects a client at the limit of unread octets.
TEST(LiveClients, one_that_never_reads_is_ended_and_takes_nothing_from_an_honest_one) {
  constexpr std::size_t kUnreadMax = 256 * 1024;
  Pair pair;
  // The node's clock stops while the other station is missing, so the rate limits are off.
  pair.configure_sis("alpha",
                     "limits { primitives_per_second_max: 0 octets_per_second_max: 0 "
                     "unread_octets_max: " +
                         std::to_string(kUnreadMax) + " }");
  ASSERT_NO_FATAL_FAILURE(pair.start_node("alpha"));
  HandClient honest(pair.sis_port("alpha"));
  honest.bind(SapId{5});
  const auto is_served = [&] {
    honest.send(
        sis::UnidataRequest{.destination_sap = SapId{5}, .destination = kAlpha, .updu = {1, 2, 3}});
    return honest.next<sis::UnidataIndication>().updu == Bytes({1, 2, 3});
  };
  ASSERT_TRUE(is_served());
  const auto status = [&] {
    return text_of("/proc/" + std::to_string(pair.process("alpha").id()) + "/status");
  };
  const std::size_t before = resident_octets(status());
  std::size_t most = before;

  RawClient deaf(pair.sis_port("alpha"));
  Bytes bind;
  encode(sis::Primitive{sis::BindRequest{
             .sap = SapId{7}, .rank = 5, .service = {.mode = sis::TransmissionMode::arq}}},
         bind);
  deaf.send(bind);
  const Bytes request = request_to_itself(SapId{7}, sis::kMtu);
  EXPECT_TRUE(await([&] {
    deaf.fill_with(request);
    EXPECT_TRUE(is_served());
    most = std::max(most, resident_octets(status()));
    return deaf.is_reset();
  }));
  EXPECT_TRUE(is_served());
  // The bound is twice the limit of unread octets, the octets read ahead from the client, and 2 MiB
  // of room.
  EXPECT_LT(most - before, 2 * kUnreadMax + 256 * 1024 + 2 * 1024 * 1024);
}

// TCP keep-alive finds the dead peer if the server has nothing to send, TCP_USER_TIMEOUT if it has.
TEST(LiveClients, one_whose_network_has_vanished_loses_its_sap) {
  Pair pair;
  pair.configure_sis("alpha", "limits { dead_peer_timeout_s: 8 }");
  ASSERT_NO_FATAL_FAILURE(pair.start_node("alpha"));
  HandClient honest(pair.sis_port("alpha"));
  honest.bind(SapId{5});
  for (const bool has_news : {false, true}) {
    const SapId sap{static_cast<std::uint8_t>(has_news ? 8 : 7)};
    const std::string before = newest_client(pair.log("alpha"));
    RawClient vanishing(pair.sis_port("alpha"));
    std::string number;
    ASSERT_TRUE(await([&] {
      number = newest_client(pair.log("alpha"));
      return number != before;
    }));
    Bytes octets;
    encode(sis::Primitive{sis::BindRequest{
               .sap = sap, .rank = 5, .service = {.mode = sis::TransmissionMode::arq}}},
           octets);
    vanishing.send(octets);
    HandClient next(pair.sis_port("alpha"));
    const auto bind_next = [&] {
      next.send(
          sis::BindRequest{.sap = sap, .rank = 5, .service = {.mode = sis::TransmissionMode::arq}});
    };
    ASSERT_TRUE(
        await([&] { return pair.counter("alpha", "clients_bound") >= (has_news ? 4 : 2); }));
    vanishing.lose_network();
    bind_next();
    next.next<sis::BindRejected>();  // the SAP is not free yet
    if (has_news) {
      honest.send(
          sis::UnidataRequest{.destination_sap = sap, .destination = kAlpha, .updu = {1, 2, 3}});
    }
    const std::string gone = "sis_client_gone client=" + number + " ";
    EXPECT_TRUE(await([&] { return pair.log("alpha").find(gone) != std::string::npos; }))
        << pair.log("alpha");
    bind_next();
    next.next<sis::BindAccepted>();
  }
}

TEST(LiveClients, a_control_client_that_says_nothing_holds_up_nobody) {
  Pair pair;
  ASSERT_NO_FATAL_FAILURE(pair.start_node("alpha"));
  const int mute = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (pair.folder() / "alpha.control").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::connect(mute, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_NE(pair.ask("alpha", "status"), "");
  EXPECT_NE(pair.ask("alpha", "nonsense").find("\"error\""), std::string::npos);
  ::close(mute);
}

}  // namespace
}  // namespace s5066::live
