// SPDX-License-Identifier: Apache-2.0
// Runs s5066-chat as a script does, against a scripted server on a loopback port.
#include "tests/support/program_test.h"

namespace s5066::sis {
namespace {

class ChatProgram : public test::ProgramTest {
 protected:
  Outcome run(std::vector<std::string> arguments, const std::string& input) {
    const std::vector<std::string> server{"--host", "127.0.0.1", "--port", port()};
    arguments.insert(arguments.end(), server.begin(), server.end());
    return ProgramTest::run(S5066_CHAT, arguments, input);
  }
  std::vector<std::string> sent() const {
    std::vector<std::string> texts;
    for (const auto& request : received)
      texts.emplace_back(request.updu.begin(), request.updu.end());
    return texts;
  }
};

// F.7.1(1), F.7.3(1)
TEST_F(ChatProgram, sends_each_line_of_its_input_and_leaves_with_0_when_all_are_delivered) {
  const Outcome outcome = run({"--to", "1.2.3.5"}, "one\n\ntwo\r\nthree");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(sent(), (std::vector<std::string>{"one\r\n", "two\r\n", "three\r\n"}));
  EXPECT_NE(outcome.out.find("#3 delivered to 1.2.3.5"), std::string::npos) << outcome.out;
  const auto& bind = std::get<BindRequest>(seen.at(0));
  EXPECT_EQ(bind.sap, SapId{5});
  EXPECT_EQ(bind.service,
            (DeliveryMode{.mode = TransmissionMode::arq, .confirmation = Confirmation::node}));
}

TEST_F(ChatProgram, sends_more_lines_than_may_be_on_their_way_at_once) {
  std::string input;
  for (int i = 0; i < 500; ++i) input += "line " + std::to_string(i) + '\n';
  const Outcome outcome = run({"--to", "1.2.3.5", "--json"}, input);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  ASSERT_EQ(received.size(), 500u);
  EXPECT_EQ(sent().back(), "line 499\r\n");
}

TEST_F(ChatProgram, leaves_with_1_and_says_which_message_was_not_delivered) {
  on_primitive = [this, usual = on_primitive](const Primitive& primitive) {
    const auto* request = std::get_if<UnidataRequest>(&primitive);
    if (request == nullptr || request->updu[0] != 'b') return usual(primitive);
    say(UnidataRequestRejected{.reason = RejectReason::destination_sap_not_bound,
                               .destination_sap = request->destination_sap,
                               .destination = request->destination,
                               .updu_part = request->updu});
  };
  const Outcome outcome = run({"--to", "1.2.3.5"}, "a\nb\nc\n");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.out.find("#2 NOT delivered to 1.2.3.5: destination SAP not bound"),
            std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("#3 delivered"), std::string::npos) << outcome.out;
}

TEST_F(ChatProgram, refuses_a_line_beyond_its_limit_whole_and_goes_on_with_the_next) {
  const Outcome outcome = run(
      {"--to", "1.2.3.5"}, std::string(20000, 'x') + "\n" + std::string(4096, '\xC3') + "\nok\n");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(sent(), (std::vector<std::string>{"ok\r\n"}));
  EXPECT_NE(outcome.out.find("a line has at most 4096 octets"), std::string::npos) << outcome.out;
}

TEST_F(ChatProgram, shows_what_arrives_and_obeys_commands_if_told_to) {
  on_primitive = [this, usual = on_primitive](const Primitive& primitive) {
    usual(primitive);
    if (!std::holds_alternative<UnidataRequest>(primitive)) return;
    say(UnidataIndication{.destination_sap = {5},
                          .destination = Address{0x01020304},
                          .source_sap = {5},
                          .source = Address{0x01020305},
                          .updu = {'Q', 'S', 'L', '\r', '\n'}});
  };
  const Outcome outcome = run({"--commands"}, "/to 1.2.3.5\nQSL?\n");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("Z #1 to 1.2.3.5: QSL?\n"), std::string::npos) << outcome.out;
}

// F.7.3(2)
TEST_F(ChatProgram, stays_for_the_linger_after_a_message_to_a_group) {
  const Outcome outcome =
      run({"--to", "31.255.255.255", "--repeats", "2", "--linger", "1"}, "all\n");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].delivery,
            (DeliveryMode{.mode = TransmissionMode::nonarq, .retransmissions = 2}));
}

TEST_F(ChatProgram, leaves_with_1_when_the_bind_is_rejected) {
  on_primitive = [this](const Primitive&) {
    say(BindRejected{BindRejectReason::sap_already_allocated});
  };
  const Outcome outcome = run({"--to", "1.2.3.5"}, "hello\n");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("already allocated"), std::string::npos) << outcome.err;
}

TEST_F(ChatProgram, names_a_wrong_option_and_leaves_with_2) {
  const Outcome outcome = ProgramTest::run(S5066_CHAT, {"--to", "nobody"}, "");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_TRUE(outcome.err.starts_with("s5066-chat: --to: ")) << outcome.err;
}

}  // namespace
}  // namespace s5066::sis
