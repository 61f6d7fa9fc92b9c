// SPDX-License-Identifier: Apache-2.0
// Tests an operator's requests on the control socket of a running server, and clients at its local
// socket.
#include <gtest/gtest.h>

#include <signal.h>

#include <map>
#include <memory>
#include <regex>

#include "config/control_request.h"
#include "config/proto/control.pb.h"
#include "s5066d/control/json.h"
#include "s5066d/control/text.h"
#include "tests/live/hand_client.h"
#include "tests/live/pair.h"

namespace s5066::live {
namespace {

class LiveOperator : public testing::Test {
 protected:
  Outcome ask(std::vector<std::string> request) const {
    std::vector<std::string> command{S5066_S5066D, "--control", "alpha.control"};
    command.insert(command.end(), request.begin(), request.end());
    return run(command, pair.options("s5066d"));
  }
  void expect_done(const std::vector<std::string>& request, const std::string& key,
                   const std::string& value) const {
    auto words = request;
    words.push_back("--json");
    const auto outcome = ask(words);
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    EXPECT_EQ(json_value(outcome.output, key), value) << outcome.output;
  }
  std::string status(const std::string& key) const {
    return json_value(pair.ask("alpha", "status"), key);
  }

  Pair pair;
};

TEST_F(LiveOperator, a_wrong_request_is_one_line_and_status_2_and_a_refused_one_status_1) {
  ASSERT_NO_FATAL_FAILURE(pair.start_node("alpha"));
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{"emcon"},
                                             {"emcon", "maybe"},
                                             {"sap", "16", "shut"},
                                             {"disconnect", "x"},
                                             {"break", "1.2.3"},
                                             {"purge"},
                                             {"dance"},
                                             {"--status", "emcon", "on"},
                                             {}}) {
    const auto outcome = ask(wrong);
    EXPECT_EQ(outcome.status, 2) << outcome.output;
    EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 1) << outcome.output;
  }
  for (const std::vector<std::string>& refused :
       std::vector<std::vector<std::string>>{{"disconnect", "99"}, {"break", "1.2.0.9"}}) {
    const auto outcome = ask(refused);
    EXPECT_EQ(outcome.status, 1) << outcome.output;
    EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 1) << outcome.output;
  }
}

TEST_F(LiveOperator, switches_emcon_and_broadcast_sessions_and_shuts_a_sap) {
  ASSERT_NO_FATAL_FAILURE(pair.start_node("alpha"));
  HandClient client(pair.sis_port("alpha"));
  client.bind(SapId{5});
  expect_done({"emcon", "on"}, "on", "true");
  EXPECT_EQ(status("emcon"), "true");
  expect_done({"emcon", "off"}, "on", "false");
  EXPECT_EQ(status("emcon"), "false");
  expect_done({"sap", "5", "shut"}, "open", "false");
  client.next<sis::UnbindIndication>();
  EXPECT_EQ(client.ask<sis::BindRejected>(sis::BindRequest{.sap = SapId{5}}).reason,
            sis::BindRejectReason::invalid_sap);
  expect_done({"sap", "5", "open"}, "open", "true");
  client.bind(SapId{5});
  expect_done({"broadcast", "on"}, "on", "true");
  client.next<sis::UnbindIndication>();
  EXPECT_EQ(status("broadcast_session"), "true");
  expect_done({"broadcast", "off"}, "on", "false");
  const std::string log = pair.log("alpha");
  EXPECT_NE(log.find("reason=\"the SAP is shut\""), std::string::npos);
  EXPECT_NE(log.find("operator_asked request=\"sap 5 shut\" outcome=done"), std::string::npos);
}

TEST_F(LiveOperator, lists_and_purges_what_waits_and_disconnects_its_client) {
  ASSERT_NO_FATAL_FAILURE(pair.start_node("alpha"));
  HandClient client(pair.sis_port("alpha"));
  client.bind(SapId{5});
  const std::string id = status("id");
  expect_done({"emcon", "on"}, "on", "true");
  const sis::DeliveryMode delivery{.mode = sis::TransmissionMode::arq,
                                   .confirmation = sis::Confirmation::node};
  for (int i = 0; i < 3; ++i) {
    client.send(sis::UnidataRequest{.destination_sap = SapId{5},
                                    .destination = *parse_address("1.2.0.2"),
                                    .delivery = delivery,
                                    .updu = Bytes(100)});
  }
  ASSERT_TRUE(await([&] { return json_value(ask({"queue", "--json"}).output, "total") == "3"; }));
  expect_done({"queue", "to=1.2.0.2"}, "waits_for", "the end of EMCON");
  expect_done({"queue", "to=1.2.0.3"}, "total", "0");
  expect_done({"purge", "client=" + id}, "updus", "3");
  EXPECT_EQ(client.next<sis::UnidataRequestRejected>().reason, sis::RejectReason::ttl_expired);
  expect_done({"disconnect", id}, "client", id);
  client.next<sis::UnbindIndication>();
  ASSERT_TRUE(await([&] { return pair.counter("alpha", "clients_ended_by_operator") == 1; }));
}

TEST_F(LiveOperator, a_hangup_or_a_request_reads_the_configuration_again) {
  ASSERT_NO_FATAL_FAILURE(pair.start_node("alpha"));
  const std::string file = pair.folder() / "alpha-node.textproto";
  const std::string before = text_of(file);
  pair.folder().write("alpha-node.textproto", "log_level: DEBUG\n" + before);
  const auto reloaded = ask({"reload"});
  EXPECT_EQ(reloaded.status, 0) << reloaded.output;
  EXPECT_NE(reloaded.output.find("log_level"), std::string::npos) << reloaded.output;

  pair.folder().write("alpha-node.textproto", before + "\nadress: 1\n");
  const auto wrong = ask({"reload"});
  EXPECT_EQ(wrong.status, 1);
  EXPECT_NE(wrong.output.find("alpha-node.textproto:"), std::string::npos) << wrong.output;
  EXPECT_NE(wrong.output.find(":1: adress: unknown field"), std::string::npos) << wrong.output;

  pair.folder().write(
      "alpha-node.textproto",
      std::regex_replace(before, std::regex("data_transfer \\{"), "$& window: 64 "));
  pair.process("alpha").signal(SIGHUP);
  ASSERT_TRUE(await([&] {
    return pair.log("alpha").find("after_restart=data_transfer") != std::string::npos;
  })) << pair.log("alpha");
  EXPECT_TRUE(pair.process("alpha").running());
}

TEST_F(LiveOperator, a_client_at_the_local_socket_is_served_and_named) {
  pair.configure_sis("alpha", "local { socket: \"alpha.sis\" }");
  ASSERT_NO_FATAL_FAILURE(pair.start_node("alpha"));
  pair.folder().write("input", "hello");
  Process listener({"/bin/sh", "-c",
                    "exec " S5066_SIS_CAT " --host ./alpha.sis --listen --count 1"
                    " --sap 6 > received"},
                   pair.options("listener"));
  ASSERT_TRUE(await([&] { return pair.counter("alpha", "clients_bound") == 1; }));
  EXPECT_NE(pair.log("alpha").find("origin=\"pid " + std::to_string(listener.id()) + " uid "),
            std::string::npos)
      << pair.log("alpha");
  Process sender({"/bin/sh", "-c",
                  "exec " S5066_SIS_CAT " --host ./alpha.sis --to 1.2.0.1 --sap 5"
                  " --to-sap 6 < input"},
                 pair.options("sender"));
  EXPECT_EQ(listener.wait(), 0) << text_of(pair.folder() / "listener.log");
  EXPECT_EQ(sender.wait(), 0) << text_of(pair.folder() / "sender.log");
  EXPECT_EQ(text_of(pair.folder() / "received"), "hello");
}

// Each answer is the message that the table names, has the version, and is shown as text.
TEST_F(LiveOperator, every_request_is_answered_by_its_message_or_by_an_error) {
  ASSERT_NO_FATAL_FAILURE(pair.start_node("alpha"));
  const std::map<std::string_view, std::string> arguments = {
      {"emcon", " on"},         {"broadcast", " off"},
      {"sap", " 5 open"},       {"disconnect", " 99"},
      {"break", " 1.2.0.9"},    {"level", " -6"},
      {"purge", " to=1.2.0.9"}, {"mode", " 1.2.0.9 110a-600-long"}};
  std::vector<control::VerbInfo> verbs = {control::kCountersVerb, control::kEventsVerb,
                                          control::kHelpVerb};
  for (const config::ControlVerb& own : config::control_verbs()) verbs.push_back(own.info);
  for (const control::VerbInfo& verb : verbs) {
    const auto words = arguments.find(verb.name);
    const std::string request =
        std::string(verb.name) + (words == arguments.end() ? "" : words->second);
    const std::string json = pair.ask("alpha", request);
    EXPECT_NE(json.find("\"version\": 1"), std::string::npos) << request << ": " << json;
    const std::unique_ptr<google::protobuf::Message> answer(verb.answer().New());
    const auto read = control::read_answer(json, *answer);
    const bool may_fail = verb.name == "disconnect" || verb.name == "break" || verb.name == "mode";
    EXPECT_TRUE(read || (may_fail && read.error().code != ErrorCode::bad_field))
        << request << ": " << json;
    if (read) {
      EXPECT_NE(control::text_of(*answer), "") << request;
    }
  }
  const auto events = control::read_answer<proto::Events>(
      pair.ask("alpha", "events event=operator_asked with=emcon"));
  ASSERT_TRUE(events);
  EXPECT_EQ(events->events_size(), 1);
}

}  // namespace
}  // namespace s5066::live
