// SPDX-License-Identifier: Apache-2.0
// The whole IP client but for its main(), between a TUN interface in a network namespace of its own
// and a scripted SIS server. Without the right to make a namespace these tests are skipped.
#include "gateways/ip_client/ip_service.h"

#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "gateways/ip_client/net_link.h"
#include "tests/support/patience.h"
#include "tests/support/sis_server_stand_in.h"
#include "tests/unit/ip_client/packets.h"

namespace s5066::ip_client {
namespace {

constexpr Address kBravo{0x01020302};
constexpr std::uint32_t kHere = 0x0A4D0001;   // 10.77.0.1
constexpr std::uint32_t kThere = 0x0A4E0005;  // 10.78.0.5

struct Lines final : LogSink {
  void write(LogLevel, std::string_view line) override { text.append(line).append("\n"); }
  bool has(std::string_view word) const { return text.find(word) != std::string::npos; }
  std::string text;
};

/// A UDP socket of this host, bound to the address of the interface.
class UdpSocket {
 public:
  UdpSocket() : fd_(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
    const sockaddr_in here = name(kHere, 4000);
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&here), sizeof here), 0);
  }
  void discover_path_mtu() {
    const int always = IP_PMTUDISC_DO;
    ::setsockopt(fd_.get(), IPPROTO_IP, IP_MTU_DISCOVER, &always, sizeof always);
  }
  bool send(std::size_t octets) {
    const Bytes data(octets, 7);
    const sockaddr_in there = name(kThere, 5000);
    return ::sendto(fd_.get(), data.data(), data.size(), 0,
                    reinterpret_cast<const sockaddr*>(&there), sizeof there) >= 0;
  }
  std::size_t received() {
    char data[2000];
    const auto got = ::recv(fd_.get(), data, sizeof data, 0);
    return got < 0 ? 0 : static_cast<std::size_t>(got);
  }

 private:
  static sockaddr_in name(std::uint32_t address, std::uint16_t port) {
    sockaddr_in made{};
    made.sin_family = AF_INET;
    made.sin_addr.s_addr = htonl(address);
    made.sin_port = htons(port);
    return made;
  }
  posix::Fd fd_;
};

class IpServiceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::unshare(CLONE_NEWNET) != 0) GTEST_SKIP() << "cannot make a network namespace";
    if (!TunDevice::open("probe")) GTEST_SKIP() << "there is no TUN device";
    ASSERT_TRUE(NetLink::open()->bring_up("lo", 65536));
    char name[] = "/tmp/s5066-ip-XXXXXX";
    folder = ::mkdtemp(name);
    server.emplace(kIpSap);
    config.sis_port = server->port();
    config.interface = "hf-test";
    config.addresses = {{IpAddress::v4(kHere), 24}};
    config.control_socket = folder + "/control.sock";
    config.routes = {{.prefix = test::prefix(0x0A4E0000, 16), .station = kBravo}};
  }
  void TearDown() override {
    service.reset();
    if (!folder.empty()) std::filesystem::remove_all(folder);
  }
  void start() {
    service.emplace(
        config, [this] { return reloaded; }, log);
    const auto started = service->start();
    ASSERT_TRUE(started) << started.error().detail;
    ASSERT_TRUE(until([&] { return server->bound > 0; }));
    ASSERT_TRUE(until([&] { return log.has("bound"); }));
    udp.emplace();
  }
  template <typename Condition>
  bool until(Condition condition) {
    return s5066::test::eventually([&] {
      service->io().poll();
      server->io.poll();
      return condition();
    });
  }

  std::string ask(std::string_view request) {
    auto answer = service->answer(request);
    return answer ? *answer : answer.error().detail;
  }
  bool answers(std::string_view request, std::string_view part) {
    return ask(request).find(part) != std::string::npos;
  }

  std::string folder;
  std::optional<s5066::test::SisServerStandIn> server;
  IpConfig config;
  Reloaded reloaded;
  Lines log;
  std::optional<IpService> service;
  std::optional<UdpSocket> udp;
};

// F.12.2(3): the interface is the access from a LAN; it is made and configured by the program.
TEST_F(IpServiceTest, a_datagram_goes_from_a_socket_to_the_node_and_back) {
  start();
  ASSERT_TRUE(udp->send(100));
  ASSERT_TRUE(until([&] { return !server->sent.empty(); }));
  const auto& request = server->sent[0];
  EXPECT_EQ(request.destination, kBravo);
  EXPECT_EQ(request.destination_sap, kIpSap);
  const Datagram datagram = test::parsed(request.updu);
  EXPECT_EQ(datagram.total_octets, 128u);
  EXPECT_EQ(datagram.destination, IpAddress::v4(kThere));
  server->say(sis::UnidataIndication{
      .destination_sap = kIpSap,
      .source_sap = kIpSap,
      .source = kBravo,
      .updu = test::udp(60, {.source = kThere, .destination = kHere}, 5000, 4000)});
  EXPECT_TRUE(until([&] { return udp->received() == 32; }));
}

// F.12.6(2): the host learns the path MTU from our message.
TEST_F(IpServiceTest, the_host_learns_the_path_mtu) {
  config.routes[0].mtu = 600;
  start();
  udp->discover_path_mtu();
  EXPECT_TRUE(until([&] { return !udp->send(1000); }));
  EXPECT_EQ(errno, EMSGSIZE);
  ASSERT_TRUE(udp->send(572));
  EXPECT_TRUE(until([&] { return server->sent.size() == 1; }));
}

TEST_F(IpServiceTest, the_host_learns_that_a_station_does_not_answer) {
  start();
  ASSERT_TRUE(udp->send(100));
  ASSERT_TRUE(until([&] { return !server->sent.empty(); }));
  server->say(sis::UnidataRequestRejected{.reason = sis::RejectReason::destination_not_responding,
                                          .destination_sap = kIpSap,
                                          .destination = kBravo,
                                          .updu_part = server->sent[0].updu});
  EXPECT_TRUE(until([&] { return log.has("station_silent"); }));
  EXPECT_TRUE(answers("queue", R"("silent": true)")) << ask("queue");
}

TEST_F(IpServiceTest, a_table_with_errors_leaves_the_old_one_in_use) {
  start();
  reloaded.problems = {"f:1:2: prefix: not an IP address or network"};
  EXPECT_TRUE(answers("reload", "f:1:2")) << ask("reload");
  EXPECT_TRUE(answers("table", "10.78.0.0/16")) << ask("table");
  reloaded.config = config;
  reloaded.config->routes = {{.prefix = test::prefix(0x0A4F0000, 16), .station = kBravo}};
  ::raise(SIGHUP);
  ASSERT_TRUE(until([&] { return log.has("table_loaded"); }));
  EXPECT_TRUE(answers("table", "10.79.0.0/16"));
  EXPECT_FALSE(answers("table", "10.78.0.0/16"));
  EXPECT_FALSE(udp->send(100));  // the kernel's route went with the row
}

TEST_F(IpServiceTest, an_interface_that_disappears_is_made_again) {
  start();
  ASSERT_EQ(std::system("ip link delete hf-test"), 0);
  ASSERT_TRUE(until([&] { return log.has("interface_lost"); }));
  ASSERT_TRUE(until([&] { return log.has("interface_back"); }));
  udp.reset();
  udp.emplace();
  ASSERT_TRUE(udp->send(100));
  EXPECT_TRUE(until([&] { return !server->sent.empty(); }));
}

TEST_F(IpServiceTest, an_interface_that_an_administrator_made_is_used_as_it_is) {
  ASSERT_EQ(std::system("ip tuntap add dev hf-test mode tun && ip address add 10.77.0.1/24 dev "
                        "hf-test && ip link set hf-test mtu 1000 up"),
            0);
  config.addresses.clear();
  config.mtu = 1000;
  start();
  ASSERT_TRUE(udp->send(100));
  EXPECT_TRUE(until([&] { return !server->sent.empty(); }));
  service.reset();
  EXPECT_TRUE(has_interface("hf-test"));
}

TEST_F(IpServiceTest, requests_are_answered) {
  start();
  ASSERT_TRUE(udp->send(100));
  ASSERT_TRUE(until([&] { return !server->sent.empty(); }));
  EXPECT_TRUE(answers("status", R"("bound": true)")) << ask("status");
  EXPECT_TRUE(answers("flows", "udp 10.77.0.1:4000")) << ask("flows");
  EXPECT_TRUE(answers("queue", R"("with_node": 1)")) << ask("queue");
  EXPECT_TRUE(answers("counters", "ip_datagrams_sent"));
  EXPECT_FALSE(service->answer("nonsense"));
  EXPECT_FALSE(service->answer("table now"));
}

}  // namespace
}  // namespace s5066::ip_client
