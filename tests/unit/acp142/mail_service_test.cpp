// The whole mail gateway but for its main(), with a scripted SIS server below: nothing is virtual,
// so what must not happen is looked for after something that comes later has.
#include "gateways/acp142/mail_service.h"

#include <gtest/gtest.h>

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <future>

#include "s5066d/posix/socket.h"
#include "sis/codec.h"
#include "sis/framer.h"
#include "tests/support/patience.h"
#include "tests/unit/gateways/temporary_folder.h"

namespace s5066::acp142 {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using test::eventually;

constexpr NodeId kShip{0x0A010102};

struct Lines : LogSink {
  void write(LogLevel, std::string_view line) override { text.append(line).append("\n"); }
  bool has(std::string_view word) const { return text.find(word) != std::string::npos; }
  std::string text;
};

/// Binds whoever asks, and keeps what it is to send.
class SisServer {
 public:
  SisServer() : acceptor_(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0)), socket_(io) {
    accept();
  }
  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  void say(const sis::Primitive& primitive) {
    Bytes octets;
    encode(primitive, octets);
    error_code gone;
    asio::write(socket_, asio::buffer(octets), gone);
  }
  void drop() { socket_.close(); }
  asio::io_context io;
  std::optional<sis::SubnetAvailability> state;  // told with each bind
  std::vector<sis::UnidataRequest> sent;
  int bound = 0;

 private:
  void accept() {
    acceptor_.async_accept([this](const error_code& code, tcp::socket socket) {
      if (code) return;
      socket_ = std::move(socket);
      framer_ = {};
      read();
      accept();
    });
  }
  void read() {
    socket_.async_read_some(asio::buffer(in_), [this](const error_code& code, std::size_t octets) {
      if (code) return;
      framer_.push(ByteSpan(in_.data(), octets));
      while (auto item = framer_.poll()) {
        const auto* frame = std::get_if<sis::Framer::Frame>(&*item);
        if (frame == nullptr) continue;
        auto primitive = sis::decode(frame->body);
        if (!primitive) continue;
        if (std::holds_alternative<sis::BindRequest>(*primitive)) {
          say(sis::BindAccepted{.sap = kMmhsSap});
          if (state) say(*state);
          ++bound;
        } else if (auto* request = std::get_if<sis::UnidataRequest>(&*primitive)) {
          sent.push_back(std::move(*request));
        }
      }
      read();
    });
  }
  tcp::acceptor acceptor_;
  tcp::socket socket_;
  sis::Framer framer_;
  std::array<std::uint8_t, 4096> in_{};
};

/// Of the message that it is a PDU of.
std::optional<MessageName> name_in(const sis::UnidataRequest& request) {
  const auto pdu = decode(ByteSpan(request.updu).subspan(gateways::kRcopHeaderBytes));
  if (!pdu) return std::nullopt;
  if (const auto* address = std::get_if<AddressPdu>(&*pdu)) return address->name;
  if (const auto* data = std::get_if<DataPdu>(&*pdu)) return data->name;
  return std::nullopt;
}

class MailServiceTest : public testing::Test {
 protected:
  MailServiceTest() {
    config.spool_directory = folder.path().string();
    config.node = {0x0A010101};
    config.sis_port = server.port();
    config.smtp.port = 0;
    config.stations = {{.name = "ship", .node = kShip, .address = Address{0x01020002}}};
    config.routes = {{.pattern = "ship.example", .own = false, .stations = {"ship"}},
                     {.pattern = "shore.example", .own = true, .stations = {}}};
  }
  ~MailServiceTest() override { service.reset(); }

  void start() {
    service.reset();
    log.text.clear();
    const int before = server.bound;
    service.emplace(config, *address_table(config), 1, log);
    const auto started = service->start();
    ASSERT_TRUE(started) << started.error().detail;
    ASSERT_TRUE(until([&] { return server.bound > before && log.has("event=\"bound"); }))
        << log.text;
  }
  template <typename Condition>
  bool until(Condition condition) {
    return eventually([&] {
      service->io().poll();
      server.io.poll();
      return condition();
    });
  }
  std::string ask(const std::string& request) {
    auto answer = std::async(std::launch::async, [&] {
      return posix::ask_control(control_socket_path(config), request, test::kPatience);
    });
    until([&] { return answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
    const auto said = answer.get();
    return said ? *said : "no answer: " + said.error().detail;
  }
  void mail(const std::string& id) {
    const auto at = log.text.find("smtp_port=");
    tcp::socket client(server.io);
    client.connect({asio::ip::make_address("127.0.0.1"),
                    static_cast<std::uint16_t>(std::stoi(log.text.substr(at + 10)))});
    const std::string text = "Message-ID: <" + id + ">\r\n\r\nhello\r\n";
    asio::write(client, asio::buffer("EHLO me\r\nMAIL FROM:<a@shore.example>\r\n"
                                     "RCPT TO:<x@ship.example>\r\nBDAT " +
                                     std::to_string(text.size()) + " LAST\r\n" + text));
    client.non_blocking(true);
    std::string said;
    EXPECT_TRUE(until([&] {
      std::array<char, 1000> part{};
      error_code none_yet;
      said.append(part.data(), client.read_some(asio::buffer(part), none_yet));
      return said.find("2.0.0 Accepted") != std::string::npos;
    })) << said;
  }
  /// After this a gateway that may send has sent.
  void let_it_send() {
    for (int i = 0; i < 20; ++i) ask("status");
  }

  test::TemporaryFolder folder;
  Lines log;
  SisServer server;
  MailConfig config;
  std::optional<MailService> service;
};

// PM-132, PM-055
TEST_F(MailServiceTest, the_operator_keeps_the_station_silent_over_a_restart) {
  start();
  EXPECT_EQ(ask("emcon show"), "off no\n");
  EXPECT_EQ(ask("emcon on"), "ok\n");
  ASSERT_TRUE(until([&] { return server.bound == 2; }));  // what the node had of ours is dropped
  mail("1");
  let_it_send();
  EXPECT_TRUE(server.sent.empty());
  EXPECT_NE(ask("queue").find("EMCON"), std::string::npos);
  EXPECT_NE(ask("show 1").find("waits for the end of EMCON"), std::string::npos);
  const std::string status = ask("status");  // PM-131
  for (const char* part :
       {"emcon=operator", " groups_pool_empty=0 ", " spool_index=yes ", " indexes_mended=0 ",
        " tables_left_out=0 ", "pdus_received=", "data_pdus_sent=", "data_pdus_sent_again=",
        "bad_checksum=", "orphans_dropped=", "destinations_expired="}) {
    EXPECT_NE(status.find(part), std::string::npos) << part;
  }
  EXPECT_NE(ask("show 1").find("to <x@ship.example> ship "), std::string::npos);  // PM-130

  start();
  EXPECT_EQ(ask("emcon show"), "on operator\n");
  let_it_send();
  EXPECT_TRUE(server.sent.empty());
  EXPECT_EQ(ask("emcon off"), "ok\n");
  EXPECT_TRUE(until([&] { return !server.sent.empty(); }));
  EXPECT_EQ(ask("queue").find("EMCON"), std::string::npos);

  start();
  EXPECT_EQ(ask("emcon show"), "off no\n");
}

// PM-132
TEST_F(MailServiceTest, what_is_on_its_way_stops_where_it_is_and_goes_on_afterwards) {
  config.rounds.ack_wait_s = 1;
  start();
  mail("1");
  ASSERT_TRUE(until([&] { return !server.sent.empty(); }));
  const auto first = name_in(server.sent[0]);
  ASSERT_TRUE(first);
  server.say(sis::DataFlowOff{});
  let_it_send();
  EXPECT_EQ(ask("emcon on").find("ok, but the node may still transmit for "), 0u);
  ASSERT_TRUE(until([&] { return server.bound == 2; }));
  server.sent.clear();
  mail("2");
  let_it_send();
  EXPECT_TRUE(server.sent.empty());
  ask("emcon off");
  EXPECT_TRUE(until([&] {
    return std::any_of(server.sent.begin(), server.sent.end(),
                       [&](const auto& request) { return name_in(request) == first; });
  }));
}

// PM-055
TEST_F(MailServiceTest, a_node_that_only_receives_makes_the_station_silent) {
  start();
  server.say(
      sis::SubnetAvailability{sis::NodeStatus::receive_only, sis::AvailabilityReason::emcon});
  ASSERT_TRUE(until([&] { return log.has("emcon_begins by=node"); }));
  EXPECT_EQ(ask("emcon show"), "on node\n");
  mail("1");
  let_it_send();
  EXPECT_TRUE(server.sent.empty());
  EXPECT_NE(ask("emcon off").find("ok, but"), std::string::npos);
  let_it_send();
  EXPECT_TRUE(server.sent.empty());
  server.say(sis::SubnetAvailability{sis::NodeStatus::on, sis::AvailabilityReason::unspecified});
  EXPECT_TRUE(until([&] { return !server.sent.empty(); }));
  EXPECT_EQ(ask("emcon show"), "off no\n");
}

// PM-055
TEST_F(MailServiceTest, who_has_lost_a_silent_node_waits_for_its_word) {
  start();
  server.state = {sis::NodeStatus::receive_only, sis::AvailabilityReason::emcon};
  server.say(*server.state);
  ASSERT_TRUE(until([&] { return log.has("emcon_begins by=node"); }));
  server.drop();
  ASSERT_TRUE(until([&] { return log.has("event=\"lost"); })) << log.text;
  EXPECT_EQ(ask("emcon show"), "on node\n");
  mail("1");
  ASSERT_TRUE(until([&] { return server.bound == 2; }));
  let_it_send();
  EXPECT_FALSE(log.has("emcon_ends"));
  EXPECT_TRUE(server.sent.empty());
  server.state.reset();  // one that is not silent need not say so
  server.drop();
  EXPECT_TRUE(until([&] { return !server.sent.empty(); }));
  EXPECT_EQ(server.bound, 3);
  EXPECT_EQ(ask("emcon show"), "off no\n");
}

// PM-132: after a start, whatever was said before.
TEST_F(MailServiceTest, the_configuration_can_make_each_start_a_silent_one) {
  config.start_in_emcon = true;
  for (int i = 0; i < 2; ++i) {
    start();
    mail(std::to_string(i));
    let_it_send();
    EXPECT_TRUE(server.sent.empty());
    EXPECT_EQ(ask("emcon show"), "on operator\n");
    ask("emcon off");
    EXPECT_TRUE(until([&] { return !server.sent.empty(); }));
    server.sent.clear();
  }
}

// PM-037, PM-038
TEST_F(MailServiceTest, a_station_is_silent_until_the_operator_or_itself_says_otherwise) {
  start();
  const std::string ship = std::to_string(kShip.value);
  EXPECT_EQ(ask("station " + ship + " silent"), "ok\n");
  EXPECT_NE(ask("station 7 silent").find("error: no such station"), std::string::npos);
  EXPECT_NE(ask("station " + ship + " dumb").find("error: "), std::string::npos);
  start();
  EXPECT_NE(ask("stations").find("\tsilent\n"), std::string::npos);
  mail("1");
  ASSERT_TRUE(until([&] { return !server.sent.empty(); }));
  const auto pdu = decode(ByteSpan(server.sent[0].updu).subspan(gateways::kRcopHeaderBytes));
  ASSERT_TRUE(pdu);
  const AckPdu ack{.sender = kShip, .entries = {{.name = std::get<AddressPdu>(*pdu).name}}};
  Bytes updu;
  gateways::encode(gateways::RcopHeader{.application_id = kPMulApplication}, updu);
  append(updu, encode(ack));
  server.say(sis::UnidataIndication{.destination_sap = kMmhsSap,
                                    .destination = Address{0x01020001},
                                    .source_sap = kMmhsSap,
                                    .source = Address{0x01020002},
                                    .updu = updu});
  ASSERT_TRUE(until([&] { return log.has("mail_delivered"); }));
  EXPECT_NE(ask("stations").find("\tanswering\n"), std::string::npos);
  start();
  EXPECT_NE(ask("stations").find("\tanswering\n"), std::string::npos);
}

}  // namespace
}  // namespace s5066::acp142
