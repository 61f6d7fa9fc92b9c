// SPDX-License-Identifier: Apache-2.0
// Two proxies joined without a subnetwork: each U_PDU arrives at once and is confirmed. Their TCP
// connections are real ones on the loopback interface.
#include "gateways/ip_client/tcp_proxy.h"

#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <deque>
#include <set>

#include "tests/support/patience.h"
#include "tests/unit/ip_client/dns_messages.h"
#include "tests/unit/ip_client/packets.h"

namespace s5066::ip_client {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using boost::system::error_code;

constexpr Address kAlpha{0x01020301};
constexpr Address kBravo{0x01020302};

struct Lines final : LogSink {
  void write(LogLevel, std::string_view line) override { text.append(line).append("\n"); }
  bool has(std::string_view word) const { return text.find(word) != std::string::npos; }
  std::string text;
};

/// A port of this host on which nobody listens.
std::uint16_t free_port(asio::io_context& io) {
  Tcp::acceptor acceptor(io, Tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  return acceptor.local_endpoint().port();
}

class TcpProxyTest : public testing::Test {
 protected:
  void SetUp() override {
    table = *RouteTable::make({{.prefix = test::prefix(0x7F000000, 8), .station = kBravo}});
    alpha_config.transparent = bravo_config.transparent = false;
    alpha_config.socks_port = free_port(io);
    bravo_config.socks_port = 0;
    bravo_config.allow = {{test::prefix(0x7F000000, 8), {}}};
  }
  void TearDown() override {
    for (auto* proxy : {alpha.get(), bravo.get()}) {
      if (proxy != nullptr) proxy->stop();
    }
    io.poll();
  }
  void start() {
    alpha = make(alpha_config, 1);
    bravo = make(bravo_config, 2);
    for (auto* proxy : {alpha.get(), bravo.get()}) {
      proxy->start();
      proxy->on_sis(gateways::SisBound{2048});
    }
  }
  std::unique_ptr<TcpProxy> make(const ProxyConfig& config, std::uint64_t seed) {
    return std::make_unique<TcpProxy>(
        io, config, "lo-none",
        TcpProxy::Hooks{
            .send = [this](gateways::SisUnidata updu) { air.push_back(std::move(updu)); },
            .routes = [this]() -> const RouteTable& { return table; },
            .set_rules = [this](const TproxyPlan&) -> Result<void> {
              ++rules_set;
              if (rules_fail) return Error{ErrorCode::io, "nft refused the rules"};
              return {};
            },
            .resolvers =
                [] {
                  return std::vector{IpAddress::v4(0x7F000002), IpAddress::v4(0x7F000001)};
                }},
        seed, log);
  }
  void carry() {
    while (!air.empty()) {
      const gateways::SisUnidata updu = std::move(air.front());
      air.pop_front();
      const bool to_bravo = updu.destination == kBravo;
      TcpProxy& to = to_bravo ? *bravo : *alpha;
      TcpProxy& from = to_bravo ? *alpha : *bravo;
      if (bravo_answers) {
        to.on_sis(gateways::SisIndication{to_bravo ? kAlpha : kBravo, SapId{9}, updu.updu});
        from.on_sis(gateways::SisConfirmed{updu.id});
      } else {
        from.on_sis(gateways::SisRejected{updu.id, sis::RejectReason::destination_sap_not_bound});
      }
    }
  }
  template <typename Condition>
  bool until(Condition condition) {
    return s5066::test::eventually([&] {
      io.poll();
      io.restart();
      carry();
      return condition();
    });
  }

  /// A SOCKS5 client that has asked for a server on this host.
  struct Client {
    explicit Client(asio::io_context& io) : socket(io) {}
    Tcp::socket socket;
    Bytes got;
    bool ended = false;
    std::array<std::uint8_t, 65536> buffer{};
    void read() {
      socket.async_read_some(asio::buffer(buffer), [this](error_code error, std::size_t octets) {
        if (error) {
          ended = true;
          return;
        }
        got.insert(got.end(), buffer.begin(), buffer.begin() + static_cast<long>(octets));
        read();
      });
    }
    void send(const Bytes& octets) {
      auto kept = std::make_shared<Bytes>(octets);
      asio::async_write(socket, asio::buffer(*kept), [kept](error_code, std::size_t) {});
    }
  };
  Client* connect(std::uint16_t port, bool request = true) {
    Client* client = clients.emplace_back(std::make_unique<Client>(io)).get();
    client->socket.connect(
        Tcp::endpoint(asio::ip::address_v4::loopback(), alpha_config.socks_port));
    client->read();
    if (!request) return client;
    Bytes octets = {5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1};
    put_u16(octets, port);
    client->send(octets);
    return client;
  }
  static constexpr std::size_t kReplies = 12;  // octets before those of the server

  /// Accepts connections and sends back what comes, to the end of each.
  struct EchoServer {
    explicit EchoServer(asio::io_context& io)
        : acceptor(io, Tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {
      accept();
    }
    struct Peer : std::enable_shared_from_this<Peer> {
      explicit Peer(Tcp::socket made) : socket(std::move(made)) {}
      void run() {
        socket.async_read_some(
            asio::buffer(buffer), [self = shared_from_this()](error_code error, std::size_t n) {
              if (error) return;
              asio::async_write(self->socket, asio::buffer(self->buffer.data(), n),
                                [self](error_code failed, std::size_t) {
                                  if (!failed) self->run();
                                });
            });
      }
      Tcp::socket socket;
      std::array<std::uint8_t, 65536> buffer{};
    };
    void accept() {
      acceptor.async_accept([this](error_code error, Tcp::socket socket) {
        if (error) return;
        ++accepted;
        std::make_shared<Peer>(std::move(socket))->run();
        accept();
      });
    }
    std::uint16_t port() const { return acceptor.local_endpoint().port(); }
    Tcp::acceptor acceptor;
    std::size_t accepted = 0;
  };

  /// A resolver that answers each question by TCP with one address.
  struct Resolver {
    explicit Resolver(asio::io_context& io)
        : acceptor(io, Tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {
      accept();
    }
    struct Peer : std::enable_shared_from_this<Peer> {
      Peer(Tcp::socket made, Resolver& of) : socket(std::move(made)), resolver(of) {}
      void run() {
        socket.async_read_some(asio::buffer(buffer),
                               [self = shared_from_this()](error_code error, std::size_t n) {
                                 if (error) return;
                                 self->frames.on_octets(ByteSpan(self->buffer).first(n));
                                 self->answer();
                                 self->run();
                               });
      }
      void answer() {
        while (const auto question = frames.poll_message()) {
          ++resolver.questions;
          if (!resolver.answers) continue;
          const auto octets = std::make_shared<Bytes>(
              DnsFrames::framed(test::dns_answer(*question, 300, resolver.records)));
          asio::async_write(socket, asio::buffer(*octets), [octets](error_code, std::size_t) {});
        }
      }
      Tcp::socket socket;
      Resolver& resolver;
      DnsFrames frames{65535};
      std::array<std::uint8_t, 1024> buffer{};
    };
    void accept() {
      acceptor.async_accept([this](error_code error, Tcp::socket socket) {
        if (error) return;
        std::make_shared<Peer>(std::move(socket), *this)->run();
        accept();
      });
    }
    Tcp::acceptor acceptor;
    std::size_t questions = 0;
    std::size_t records = 1;  // of an answer
    bool answers = true;
  };
  void use_dns(const Resolver& resolver) {
    alpha_config.dns.address = "127.0.0.1";
    alpha_config.dns.port = free_port(io);
    bravo_config.dns.answer = true;
    bravo_config.dns.resolver = IpAddress::v4(0x7F000001);
    bravo_config.dns.resolver_port = resolver.acceptor.local_endpoint().port();
  }
  /// Asks the stub of Alpha by UDP; `got` becomes the answer.
  struct UdpClient {
    UdpClient(asio::io_context& io, std::uint16_t port)
        : socket(io, asio::ip::udp::endpoint(asio::ip::address_v4::loopback(), 0)) {
      socket.connect({asio::ip::address_v4::loopback(), port});
    }
    void ask(const Bytes& question) {
      got.clear();
      socket.send(asio::buffer(question));
      socket.async_receive(asio::buffer(buffer), [this](error_code error, std::size_t octets) {
        if (!error) got.assign(buffer.begin(), buffer.begin() + static_cast<long>(octets));
      });
    }
    asio::ip::udp::socket socket;
    std::array<std::uint8_t, 4096> buffer{};
    Bytes got;
  };
  static unsigned outcome_of(const Bytes& answer) {
    return answer.size() < 12 ? 99 : answer[3] & 15;
  }

  std::uint64_t counter(const TcpProxy& proxy, std::string_view name) {
    CounterRows rows;
    proxy.list(rows);
    for (const CounterRow& row : rows) {
      if (row.name == name) return row.value;
    }
    return ~std::uint64_t{0};
  }

  asio::io_context io;
  Lines log;
  RouteTable table;
  ProxyConfig alpha_config;
  ProxyConfig bravo_config;
  std::unique_ptr<TcpProxy> alpha;
  std::unique_ptr<TcpProxy> bravo;
  std::deque<gateways::SisUnidata> air;
  bool bravo_answers = true;
  bool rules_fail = false;
  int rules_set = 0;
  std::vector<std::unique_ptr<Client>> clients;  // outlive the handlers that TearDown runs
};

TEST_F(TcpProxyTest, octets_go_to_a_server_of_the_far_end_and_back_unchanged) {
  start();
  EchoServer server(io);
  auto client = connect(server.port());
  Bytes sent;
  for (std::size_t i = 0; i < 300'000; ++i) sent.push_back(static_cast<std::uint8_t>(i * i >> 7));
  client->send(sent);
  ASSERT_TRUE(until([&] { return client->got.size() == kReplies + sent.size(); }));
  EXPECT_TRUE(std::equal(sent.begin(), sent.end(), client->got.begin() + kReplies));
  client->socket.shutdown(Tcp::socket::shutdown_send);
  EXPECT_TRUE(until([&] { return client->ended; }));
  EXPECT_TRUE(until([&] { return alpha->connections() == 0 && bravo->connections() == 0; }));
}

TEST_F(TcpProxyTest, a_refused_server_resets_the_client) {
  start();
  auto client = connect(free_port(io));
  client->send(Bytes{'x'});
  EXPECT_TRUE(until([&] { return client->ended; }));
  EXPECT_EQ(client->got.size(), kReplies);
  EXPECT_EQ(counter(*bravo, "proxy_connect_failed"), 1u);
  EXPECT_TRUE(log.has("the server refused the connection"));
}

TEST_F(TcpProxyTest, a_server_that_does_not_answer_is_given_up_in_time) {
  bravo_config.connect_time = std::chrono::seconds(1);
  start();
  // The queue of this server has room for one connection, and it accepts none.
  Tcp::acceptor server(io, Tcp::v4());
  server.bind(Tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  server.listen(0);
  Tcp::socket first(io);
  first.connect(server.local_endpoint());
  auto client = connect(server.local_endpoint().port());
  client->send(Bytes{'x'});
  EXPECT_TRUE(until([&] { return client->ended; }));
  EXPECT_EQ(counter(*bravo, "proxy_connect_failed"), 1u);
  EXPECT_EQ(counter(*bravo, "proxy_connected"), 0u);
}

TEST_F(TcpProxyTest, a_server_that_is_not_allowed_is_not_connected_to) {
  bravo_config.allow.clear();
  start();
  EchoServer server(io);
  auto client = connect(server.port());
  client->send(Bytes{'x'});
  EXPECT_TRUE(until([&] { return client->ended; }));
  EXPECT_EQ(server.accepted, 0u);
  EXPECT_EQ(counter(*bravo, "proxy_not_allowed"), 1u);
  EXPECT_TRUE(log.has("server_not_allowed"));
}

TEST_F(TcpProxyTest, our_own_listener_is_not_connected_to_even_if_it_is_allowed) {
  bravo_config.socks_port = free_port(io);
  start();
  auto client = connect(bravo_config.socks_port);
  client->send(Bytes{'x'});
  EXPECT_TRUE(until([&] { return client->ended; }));
  EXPECT_EQ(counter(*bravo, "proxy_not_allowed"), 1u);
  EXPECT_EQ(bravo->connections(), 0u);
}

TEST_F(TcpProxyTest, a_station_without_a_proxy_is_reported_by_socks) {
  bravo_answers = false;
  start();
  auto first = connect(80);
  EXPECT_TRUE(until([&] { return first->ended; }));
  auto second = connect(80);
  ASSERT_TRUE(until([&] { return second->ended; }));
  ASSERT_EQ(second->got.size(), kReplies);
  EXPECT_EQ(second->got[3], 4);  // host unreachable
  EXPECT_TRUE(log.has("proxy_missing"));
}

TEST_F(TcpProxyTest, connections_above_the_limit_are_closed_at_once_and_logged_once) {
  alpha_config.streams_max = 20;
  start();
  for (int i = 0; i < 25; ++i) connect(80, false);
  ASSERT_TRUE(until([&] { return clients.back()->ended; }));
  EXPECT_FALSE(clients[19]->ended);
  EXPECT_EQ(counter(*alpha, "proxy_refused_limit"), 5u);
  const auto line = log.text.find("connection_refused");
  EXPECT_NE(line, std::string::npos);
  EXPECT_EQ(log.text.find("connection_refused", line + 1), std::string::npos);
}

TEST_F(TcpProxyTest, nonsense_of_a_client_is_counted_and_ends_its_connection) {
  start();
  auto client = connect(80, false);
  client->send(Bytes(1000, 'G'));
  EXPECT_TRUE(until([&] { return client->ended; }));
  auto silent = connect(80, false);
  silent->socket.close();
  EXPECT_TRUE(until([&] { return counter(*alpha, "proxy_socks_errors") == 2; }));
  EXPECT_TRUE(until([&] { return alpha->connections() == 0; }));
}

TEST_F(TcpProxyTest, a_client_that_goes_away_resets_the_server) {
  start();
  EchoServer server(io);
  auto client = connect(server.port());
  client->send(Bytes(100, 'x'));
  ASSERT_TRUE(until([&] { return client->got.size() == kReplies + 100; }));
  client->socket.set_option(asio::socket_base::linger(true, 0));
  client->socket.close();
  EXPECT_TRUE(until([&] { return alpha->connections() == 0 && bravo->connections() == 0; }));
}

TEST_F(TcpProxyTest, the_resolver_of_the_far_end_answers_hosts_of_this_side) {
  Resolver resolver(io);
  use_dns(resolver);
  start();
  UdpClient client(io, alpha_config.dns.port);
  const Bytes question = test::dns_question("Mail.example");
  client.ask(question);
  ASSERT_TRUE(until([&] { return !client.got.empty(); }));
  EXPECT_EQ(client.got, test::dns_answer(question, 300));
  EXPECT_TRUE(until([&] { return bravo->connections() == 0; }));
  EXPECT_TRUE(alpha->core().streams(alpha->now()).empty());
  client.ask(question);
  ASSERT_TRUE(until([&] { return !client.got.empty(); }));
  EXPECT_EQ(resolver.questions, 1u);
  EXPECT_EQ(counter(*alpha, "dns_from_cache"), 1u);
  EXPECT_EQ(counter(*bravo, "proxy_dns_served"), 1u);
  EXPECT_FALSE(log.has("stream_reset"));
}

TEST_F(TcpProxyTest, questions_by_tcp_are_answered_each_with_its_id) {
  Resolver resolver(io);
  use_dns(resolver);
  start();
  Client& client = *clients.emplace_back(std::make_unique<Client>(io));
  client.socket.connect(Tcp::endpoint(asio::ip::address_v4::loopback(), alpha_config.dns.port));
  client.read();
  Bytes octets;
  for (std::uint16_t id = 1; id <= 3; ++id) {
    append(octets, DnsFrames::framed(test::dns_question("host" + std::to_string(id), {.id = id})));
  }
  client.send(octets);
  client.socket.shutdown(Tcp::socket::shutdown_send);
  ASSERT_TRUE(until([&] { return client.ended; }));
  DnsFrames frames(65535);
  frames.on_octets(client.got);
  std::set<std::uint16_t> ids;
  while (const auto message = frames.poll_message()) {
    ids.insert(get_u16(*message, 0));
    EXPECT_EQ(outcome_of(*message), 0u);
  }
  EXPECT_EQ(ids, (std::set<std::uint16_t>{1, 2, 3}));
}

TEST_F(TcpProxyTest, answers_that_wait_are_written_before_a_client_that_ended_is_closed) {
  Resolver resolver(io);
  use_dns(resolver);
  start();
  UdpClient first(io, alpha_config.dns.port);
  first.ask(test::dns_question("mail.example"));
  ASSERT_TRUE(until([&] { return !first.got.empty(); }));
  // The answers come from the cache, before the end of the client is read.
  Client& client = *clients.emplace_back(std::make_unique<Client>(io));
  client.socket.connect(Tcp::endpoint(asio::ip::address_v4::loopback(), alpha_config.dns.port));
  client.read();
  Bytes octets;
  for (std::uint16_t id = 1; id <= 5; ++id) {
    append(octets, DnsFrames::framed(test::dns_question("mail.example", {.id = id})));
  }
  client.send(octets);
  client.socket.shutdown(Tcp::socket::shutdown_send);
  ASSERT_TRUE(until([&] { return client.ended; }));
  DnsFrames frames(65535);
  frames.on_octets(client.got);
  std::size_t answers = 0;
  while (frames.poll_message()) ++answers;
  EXPECT_EQ(answers, 5u);
}

TEST_F(TcpProxyTest, a_client_that_takes_no_answers_is_not_read_and_then_closed) {
  constexpr std::size_t kQuestions = 10'000;
  Resolver resolver(io);
  resolver.records = 200;
  use_dns(resolver);
  alpha_config.dns.connection_idle = std::chrono::seconds(2);
  start();
  UdpClient first(io, alpha_config.dns.port);
  first.ask(test::dns_question("mail.example"));
  ASSERT_TRUE(until([&] { return !first.got.empty(); }));
  // The answers have more than 30 MB, which the kernel does not keep.
  Client& client = *clients.emplace_back(std::make_unique<Client>(io));
  client.socket.connect(Tcp::endpoint(asio::ip::address_v4::loopback(), alpha_config.dns.port));
  const Bytes question = DnsFrames::framed(test::dns_question("mail.example"));
  Bytes octets;
  for (std::size_t i = 0; i < kQuestions; ++i) append(octets, question);
  client.send(octets);
  const auto state = [&] {
    tcp_info info{};
    socklen_t size = sizeof info;
    ::getsockopt(client.socket.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &size);
    return int{info.tcpi_state};
  };
  ASSERT_EQ(state(), TCP_ESTABLISHED);
  EXPECT_TRUE(until([&] { return state() == TCP_CLOSE; }));
  EXPECT_GT(counter(*alpha, "dns_questions"), 16u);
  EXPECT_LT(counter(*alpha, "dns_questions"), kQuestions);
}

TEST_F(TcpProxyTest, a_far_end_that_does_not_answer_dns_gives_server_failure) {
  Resolver resolver(io);
  use_dns(resolver);
  bravo_config.dns.answer = false;
  start();
  UdpClient client(io, alpha_config.dns.port);
  client.ask(test::dns_question("mail.example"));
  ASSERT_TRUE(until([&] { return !client.got.empty(); }));
  EXPECT_EQ(outcome_of(client.got), 2u);
  EXPECT_EQ(resolver.questions, 0u);
  EXPECT_EQ(counter(*bravo, "proxy_not_allowed"), 1u);
}

TEST_F(TcpProxyTest, a_resolver_that_never_answers_gives_server_failure_and_ends_the_stream) {
  Resolver resolver(io);
  resolver.answers = false;
  use_dns(resolver);
  alpha_config.dns.timeout = std::chrono::seconds(2);
  start();
  UdpClient client(io, alpha_config.dns.port);
  client.ask(test::dns_question("mail.example"));
  ASSERT_TRUE(until([&] { return resolver.questions == 1; }));
  ASSERT_TRUE(until([&] { return !client.got.empty(); }));
  EXPECT_EQ(outcome_of(client.got), 2u);
  EXPECT_TRUE(until([&] { return bravo->connections() == 0; }));
  EXPECT_EQ(counter(*alpha, "dns_failed"), 1u);
}

TEST_F(TcpProxyTest, a_second_resolver_is_asked_if_the_first_takes_no_connection) {
  Resolver resolver(io);
  use_dns(resolver);
  bravo_config.dns.resolver.reset();
  bravo_config.connect_time = std::chrono::seconds(2);
  // The first resolver has room for one connection, and accepts none.
  Tcp::acceptor silent(io, Tcp::v4());
  silent.bind(
      Tcp::endpoint(asio::ip::make_address_v4("127.0.0.2"), bravo_config.dns.resolver_port));
  silent.listen(0);
  Tcp::socket first(io);
  first.connect(silent.local_endpoint());
  start();
  UdpClient client(io, alpha_config.dns.port);
  const Bytes question = test::dns_question("mail.example");
  client.ask(question);
  ASSERT_TRUE(until([&] { return !client.got.empty(); }));
  EXPECT_EQ(client.got, test::dns_answer(question, 300));
  EXPECT_EQ(resolver.questions, 1u);
}

TEST_F(TcpProxyTest, rules_of_interception_are_tried_again_after_a_failure) {
  alpha_config.transparent = true;
  alpha_config.rules_retry = std::chrono::milliseconds(50);
  rules_fail = true;
  start();
  if (rules_set == 0) GTEST_SKIP() << "a transparent listener needs CAP_NET_ADMIN";
  EXPECT_EQ(alpha->transparent_state(), "off: nft refused the rules");
  ASSERT_TRUE(until([&] { return rules_set >= 3; }));
  rules_fail = false;
  EXPECT_TRUE(until([&] { return alpha->transparent_state().rfind("off", 0) != 0; }));
  const int before = rules_set;
  const auto until_later = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  EXPECT_TRUE(until([&] { return std::chrono::steady_clock::now() > until_later; }));
  EXPECT_EQ(rules_set, before);
}

TEST_F(TcpProxyTest, our_own_stub_is_no_resolver_for_a_far_end) {
  Resolver resolver(io);
  use_dns(resolver);
  bravo_config.dns.address = "127.0.0.1";
  bravo_config.dns.port = bravo_config.dns.resolver_port = free_port(io);
  start();
  UdpClient client(io, alpha_config.dns.port);
  client.ask(test::dns_question("mail.example"));
  ASSERT_TRUE(until([&] { return !client.got.empty(); }));
  EXPECT_EQ(outcome_of(client.got), 2u);
  EXPECT_EQ(counter(*bravo, "dns_questions"), 0u);
  EXPECT_TRUE(log.has("the only resolver is the stub itself"));
  EXPECT_EQ(counter(*bravo, "proxy_not_allowed"), 1u);
}

TEST_F(TcpProxyTest, a_stub_on_one_address_does_not_take_the_place_of_a_resolver_on_another) {
  Resolver resolver(io);
  use_dns(resolver);
  bravo_config.dns.address = "127.0.0.2";
  bravo_config.dns.port = bravo_config.dns.resolver_port;
  start();
  ASSERT_FALSE(log.has("dns_unavailable"));
  UdpClient client(io, alpha_config.dns.port);
  client.ask(test::dns_question("mail.example"));
  ASSERT_TRUE(until([&] { return !client.got.empty(); }));
  EXPECT_EQ(outcome_of(client.got), 0u);
  EXPECT_EQ(resolver.questions, 1u);
}

TEST_F(TcpProxyTest, a_far_end_reaches_the_resolver_with_nothing_but_questions) {
  Resolver resolver(io);
  use_dns(resolver);
  start();
  Client* const client = connect(53, false);
  client->send(Bytes{5, 1, 0, 5, 1, 0, 3, 1, '.', 0, 53, 'G', 'E', 'T', ' ', '/'});
  EXPECT_TRUE(until([&] { return client->ended; }));
  EXPECT_EQ(counter(*bravo, "proxy_dns_refused"), 1u);
  EXPECT_EQ(resolver.questions, 0u);
  EXPECT_TRUE(until([&] { return bravo->connections() == 0; }));
}

}  // namespace
}  // namespace s5066::ip_client
