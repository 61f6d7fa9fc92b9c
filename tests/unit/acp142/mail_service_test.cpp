// SPDX-License-Identifier: Apache-2.0
// These tests run the whole mail gateway except its main(), with a scripted SIS server below. Time
// is real, so a test shows that an event did not happen by waiting for a later one.
#include "gateways/acp142/mail/mail_service.h"

#include <gtest/gtest.h>

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <future>
#include <regex>

#include "config/proto/control.pb.h"
#include "gateways/acp142/mail/mail_operator.h"
#include "s5066d/control/json.h"
#include "s5066d/control/text.h"
#include "s5066d/posix/socket.h"
#include "tests/support/patience.h"
#include "tests/support/sis_server_stand_in.h"
#include "tests/unit/gateways/temporary_folder.h"

namespace s5066::acp142 {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using test::eventually;

constexpr NodeId kShip{0x0A010102};
constexpr MailService::Waits kWaits{.reconnect = std::chrono::milliseconds(20),
                                    .word_of_node = std::chrono::milliseconds(500)};

struct Lines : LogSink {
  void write(LogLevel, std::string_view line) override { text.append(line).append("\n"); }
  bool has(std::string_view word) const { return text.find(word) != std::string::npos; }
  std::string text;
};

/// Returns the name of the message to which this PDU belongs.
std::optional<MessageName> name_in(const sis::UnidataRequest& request) {
  const auto pdu = p_mul::decode(ByteSpan(request.updu).subspan(gateways::kRcopHeaderBytes));
  if (!pdu) return std::nullopt;
  if (const auto* address = std::get_if<p_mul::AddressPdu>(&*pdu)) return address->name;
  if (const auto* data = std::get_if<p_mul::DataPdu>(&*pdu)) return data->name;
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
    service.emplace(config, *address_table(config), 1, log, kWaits);
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
  std::string ask_json(const std::string& request) {
    auto answer = std::async(std::launch::async, [&] {
      return posix::ask_control(control_socket_path(config), request, test::kPatience);
    });
    until([&] { return answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
    const auto said = answer.get();
    return said ? *said : "no answer: " + said.error().detail;
  }
  /// Returns the answer as the program shows it; "error: TEXT" for a refusal.
  std::string ask(const std::string& request) {
    std::vector<control::VerbInfo> verbs = mail_verbs();
    verbs.insert(verbs.end(), {control::kCountersVerb, control::kEventsVerb, control::kHelpVerb});
    const std::string name = request.substr(0, request.find(' '));
    for (const control::VerbInfo& verb : verbs) {
      if (verb.name != name) continue;
      const std::unique_ptr<google::protobuf::Message> answer(verb.answer().New());
      const auto read = control::read_answer(ask_json(request), *answer);
      return read ? control::text_of(*answer) : "error: " + read.error().detail + "\n";
    }
    return ask_json(request);
  }
  template <typename Answer>
  Answer asked(const std::string& request) {
    const auto answer = control::read_answer<Answer>(ask_json(request));
    EXPECT_TRUE(answer) << (answer ? "" : answer.error().detail);
    return answer ? *answer : Answer();
  }
  proto::StationState ship_state() { return asked<proto::StationList>("stations").stations(0); }
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
      return said.find("250 2.0.0 ") != std::string::npos;
    })) << said;
    reply = said.substr(said.rfind("250 2.0.0 "));
  }
  /// Gives a gateway that may send enough time to send.
  void let_it_send() {
    for (int i = 0; i < 20; ++i) ask("status");
  }

  test::TemporaryFolder folder;
  Lines log;
  test::SisServerStandIn server{p_mul::kMmhsSap};
  MailConfig config;
  std::optional<MailService> service;
  std::string reply;  // the answer to the last message
};

// PM-132, PM-055
TEST_F(MailServiceTest, the_operator_keeps_the_station_silent_over_a_restart) {
  start();
  EXPECT_EQ(ask("emcon show"), "on no\nreason no\n");
  EXPECT_EQ(ask("emcon on"), "on yes\nreason operator\n");
  // The node drops the PDUs that it had of ours.
  ASSERT_TRUE(until([&] { return server.bound == 2; }));
  mail("1");
  let_it_send();
  EXPECT_TRUE(server.sent.empty());
  EXPECT_NE(ask("queue").find("EMCON"), std::string::npos);
  EXPECT_NE(ask("show 1").find("waits_for the end of EMCON"), std::string::npos);
  const auto status = asked<proto::MailStatus>("status");
  EXPECT_EQ(status.emcon(), "operator");
  EXPECT_EQ(status.program().name(), "s5066-acp142");
  EXPECT_EQ(status.version(), control::kInterfaceVersion);
  const std::string counters = ask("counters");  // PM-131
  for (const char* part :
       {"\np_mul_groups_pool_empty ", "\nmail_parked ", "\np_mul_pdus_received ",
        "\np_mul_data_pdus_sent ", "\np_mul_data_pdus_sent_again ", "\np_mul_bad_checksum ",
        "\np_mul_orphans_dropped ", "\np_mul_destinations_expired ", "carrier=udop\n"}) {
    EXPECT_NE(counters.find(part), std::string::npos) << part << counters;
  }
  const auto shown = asked<proto::MailDetails>("show 1");  // PM-130
  ASSERT_EQ(shown.recipients_size(), 1);
  EXPECT_EQ(shown.recipients(0).address(), "x@ship.example");
  EXPECT_EQ(shown.recipients(0).station(), "ship");
  for (const std::string& at : {shown.accepted(), shown.expires()}) {
    EXPECT_TRUE(std::regex_match(at, std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)"))) << at;
  }
  EXPECT_EQ(shown.next_try(), "");  // it is due
  EXPECT_EQ(ship_state().next_try(), "");

  start();
  EXPECT_EQ(ask("emcon show"), "on yes\nreason operator\n");
  let_it_send();
  EXPECT_TRUE(server.sent.empty());
  EXPECT_EQ(ask("emcon off"), "on no\nreason no\n");
  EXPECT_TRUE(until([&] { return !server.sent.empty(); }));
  EXPECT_EQ(ask("queue").find("EMCON"), std::string::npos);

  start();
  EXPECT_EQ(ask("emcon show"), "on no\nreason no\n");
}

// PM-132
TEST_F(MailServiceTest, what_is_on_its_way_stops_where_it_is_and_goes_on_afterwards) {
  config.line_rate_bps = 9600;  // sooner over than at 300 bit/s
  config.rounds.ack_wait_s = 1;
  config.receiving.ack_slot_ms = 100;
  start();
  mail("1");
  ASSERT_TRUE(until([&] { return !server.sent.empty(); }));
  const auto first = name_in(server.sent[0]);
  ASSERT_TRUE(first);
  server.say(sis::DataFlowOff{});
  let_it_send();
  EXPECT_NE(ask("emcon on").find("\nthe node may still transmit for "), std::string::npos);
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
  EXPECT_EQ(ask("emcon show"), "on yes\nreason node\n");
  mail("1");
  let_it_send();
  EXPECT_TRUE(server.sent.empty());
  EXPECT_NE(ask("emcon off").find("the node is in EMCON"), std::string::npos);
  let_it_send();
  EXPECT_TRUE(server.sent.empty());
  server.say(sis::SubnetAvailability{sis::NodeStatus::on, sis::AvailabilityReason::unspecified});
  EXPECT_TRUE(until([&] { return !server.sent.empty(); }));
  EXPECT_EQ(ask("emcon show"), "on no\nreason no\n");
}

// PM-055
TEST_F(MailServiceTest, who_has_lost_a_silent_node_waits_for_its_word) {
  start();
  server.state = {sis::NodeStatus::receive_only, sis::AvailabilityReason::emcon};
  server.say(*server.state);
  ASSERT_TRUE(until([&] { return log.has("emcon_begins by=node"); }));
  server.drop();
  ASSERT_TRUE(until([&] { return log.has("event=\"lost"); })) << log.text;
  EXPECT_EQ(ask("emcon show"), "on yes\nreason node\n");
  mail("1");
  ASSERT_TRUE(until([&] { return server.bound == 2; }));
  let_it_send();
  EXPECT_FALSE(log.has("emcon_ends"));
  EXPECT_TRUE(server.sent.empty());
  server.state.reset();  // a node that is not silent need not say so
  server.drop();
  EXPECT_TRUE(until([&] { return !server.sent.empty(); }));
  EXPECT_EQ(server.bound, 3);
  EXPECT_EQ(ask("emcon show"), "on no\nreason no\n");
}

// PM-132: the setting applies after each start, whatever the operator said before.
TEST_F(MailServiceTest, the_configuration_can_make_each_start_a_silent_one) {
  config.start_in_emcon = true;
  for (int i = 0; i < 2; ++i) {
    start();
    mail(std::to_string(i));
    let_it_send();
    EXPECT_TRUE(server.sent.empty());
    EXPECT_EQ(ask("emcon show"), "on yes\nreason operator\n");
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
  EXPECT_EQ(ship_state().emcon(), "silent");
  mail("1");
  ASSERT_TRUE(until([&] { return !server.sent.empty(); }));
  const auto pdu = p_mul::decode(ByteSpan(server.sent[0].updu).subspan(gateways::kRcopHeaderBytes));
  ASSERT_TRUE(pdu);
  const p_mul::AckPdu ack{.sender = kShip,
                          .entries = {{.name = std::get<p_mul::AddressPdu>(*pdu).name}}};
  Bytes updu;
  gateways::encode(gateways::RcopHeader{.application_id = p_mul::kPMulApplication}, updu);
  append(updu, encode(ack));
  EXPECT_EQ(ship_state().heard(), "");
  EXPECT_EQ(ship_state().waiting(), 1);
  server.say(sis::UnidataIndication{.destination_sap = p_mul::kMmhsSap,
                                    .destination = Address{0x01020001},
                                    .source_sap = p_mul::kMmhsSap,
                                    .source = Address{0x01020002},
                                    .updu = updu});
  ASSERT_TRUE(until([&] { return log.has("mail_delivered"); }));
  EXPECT_NE(ship_state().heard(), "");
  EXPECT_EQ(ship_state().emcon(), "answering");
  start();
  EXPECT_EQ(ship_state().emcon(), "answering");
  EXPECT_NE(ship_state().heard(), "");
}

TEST_F(MailServiceTest, an_empty_spool_is_said_to_be_empty) {
  start();
  EXPECT_EQ(ask("queue"), "the spool is empty\n");
  EXPECT_EQ(ask("queue all=1"), "the spool is empty\n");
  EXPECT_EQ(ask("queue state=held"), "no message matches\n");
  EXPECT_EQ(ask("queue state=lost"), "error: no such state: lost\n");
  EXPECT_EQ(ask("trace 1"), "error: no such message in the spool\n");
  EXPECT_EQ(ask("trace"), "error: the request is `trace ID|MESSAGE-ID|ADDRESS`\n");
  EXPECT_EQ(ask("stations"),
            "name  address  state  failures  messages  emcon      waiting  octets\n"
            "ship  1.2.0.2  ok     0         0         answering  0        0\n");
  config.stations.clear();
  config.routes.erase(config.routes.begin());
  start();
  EXPECT_EQ(ask("stations"), "no stations are configured\n");
}

TEST_F(MailServiceTest, one_number_leads_through_all_that_is_said_of_a_message) {
  start();
  mail("1@x");
  EXPECT_EQ(reply, "250 2.0.0 queued as 1\r\n");
  ASSERT_TRUE(until([&] { return log.has("round_started mail=1 "); })) << log.text;
  EXPECT_TRUE(log.has("mail_accepted mail=1 address=a@shore.example")) << log.text;
  EXPECT_TRUE(log.has("message_id=<1@x> to=x@ship.example")) << log.text;
  EXPECT_TRUE(log.has("mail_submitted mail=1 ")) << log.text;
  const auto number = std::to_string(name_in(server.sent.at(0))->message_id);
  EXPECT_TRUE(log.has("msid=" + number)) << log.text;
  const std::string course = ask("trace 1");
  for (const std::string& part :
       {std::string("id 1\nstate active\n"), std::string("accepted_by SMTP from me [127.0.0.1]\n"),
        std::string("message_id <1@x>\n"), "msid " + number + "\n",
        std::string("waits_for acknowledgements of ship\n"),
        std::string("x@ship.example  ship     incoming")}) {
    EXPECT_NE(course.find(part), std::string::npos) << part << "\n" << course;
  }
  for (const char* word : {"<1@x>", "1@x", "X@ship.example", "a@shore.example"}) {
    EXPECT_EQ(ask(std::string("trace ") + word), course) << word;
  }
  EXPECT_EQ(ask("trace 2"), "error: no such message in the spool\n");
  EXPECT_EQ(ask("trace <2@x>"), "error: no such message in the spool\n");
  EXPECT_EQ(ship_state().waiting(), 1);

  mail("1@x");  // its Received field differs from the first
  EXPECT_EQ(reply, "250 2.0.0 not sent again, it was queued as 1\r\n");
  EXPECT_TRUE(log.has("mail_repeated mail=1 ")) << log.text;
}

TEST_F(MailServiceTest, the_queue_lists_what_is_asked_for_and_what_it_waits_for) {
  start();
  mail("1@x");
  mail("2@x");
  EXPECT_TRUE(until([&] { return ask("hold 2") == "ok\n"; }));  // its attempt may just begin
  const auto has = [&](const std::string& request, const std::string& part) {
    return ask(request).find(part) != std::string::npos;
  };
  const auto queue = asked<proto::MailQueue>("queue");
  ASSERT_EQ(queue.mails_size(), 2);
  std::map<double, proto::QueuedMail> mails;
  for (const proto::QueuedMail& queued : queue.mails()) mails[queued.id()] = queued;
  EXPECT_EQ(mails[1].state(), "active");
  EXPECT_EQ(mails[1].transport(), "air");
  EXPECT_EQ(mails[1].priority(), 6u);
  EXPECT_EQ(mails[1].from(), "a@shore.example");
  EXPECT_EQ(mails[1].message_id(), "<1@x>");
  EXPECT_EQ(mails[1].waits_for(), "acknowledgements of ship");
  EXPECT_EQ(mails[2].waits_for(), "the operator, who holds it");
  EXPECT_FALSE(has("queue state=held", "<1@x>"));
  EXPECT_TRUE(has("queue state=held", "<2@x>"));
  const std::string ship = "station=" + std::to_string(kShip.value);
  EXPECT_TRUE(has("queue " + ship + " from=A@shore.example", "<1@x>"));
  EXPECT_EQ(ask("queue station=1"), "no message matches\n");
  EXPECT_EQ(ask("queue from=b@shore.example"), "no message matches\n");
  EXPECT_EQ(ask("queue from=a@shore.exampl"), "no message matches\n");
  EXPECT_EQ(ask("cancel 1"), "ok\n");
  EXPECT_EQ(ask("cancel 2"), "ok\n");
  EXPECT_EQ(ask("queue"), "the spool is empty\n");
}

// Each answer is the message that the table names, has the version, and is shown as text.
TEST_F(MailServiceTest, every_request_is_answered_by_its_message_or_by_an_error) {
  start();
  mail("1@x");
  const auto help = asked<proto::VerbList>("help");
  ASSERT_EQ(help.verbs_size(), static_cast<int>(mail_verbs().size()) + 3);
  for (const control::VerbInfo& verb : mail_verbs()) {
    const bool about_mail = verb.arguments.starts_with("ID");
    const std::string name(verb.name);
    const std::string request = about_mail ? name + " 1"
                                : name == "station"
                                    ? name + " " + std::to_string(kShip.value) + " silent"
                                : name == "emcon" ? name + " show"
                                                  : name;
    const std::string json = ask_json(request);
    EXPECT_NE(json.find("\"version\": 1"), std::string::npos) << request << ": " << json;
    const std::unique_ptr<google::protobuf::Message> answer(verb.answer().New());
    if (control::read_answer(json, *answer)) {
      EXPECT_NE(control::text_of(*answer), "") << request;
    } else {
      EXPECT_TRUE(about_mail) << request << ": " << json;  // such as release of what is not held
    }
  }
  for (const char* wrong : {"status now", "stations now", "trace", "show one", "hold", "emcon"}) {
    EXPECT_NE(ask_json(wrong).find("\"code\": \"bad_field\""), std::string::npos) << wrong;
  }
  EXPECT_NE(ask_json("dance").find("\"code\": \"unsupported\""), std::string::npos);
  const auto events = asked<proto::Events>("events event=mail_accepted");
  ASSERT_EQ(events.events_size(), 1);
  EXPECT_EQ(events.events(0).fields(0).value(), "1");
}

}  // namespace
}  // namespace s5066::acp142
