// SPDX-License-Identifier: Apache-2.0
#include "gateways/chat/chat_core.h"

#include <gtest/gtest.h>

#include "gateways/chat/chat_text.h"
#include "sis/codec.h"

namespace s5066::chat {
namespace {

using End = sis::SendOutcome::End;

constexpr Instant kNow{std::chrono::seconds(100)};
constexpr Address kBravo{0x01020305};
constexpr Address kCharlie{0x01020306};

class ChatCoreTest : public testing::Test {
 protected:
  void drain() {
    while (auto action = core->poll_action()) {
      if (auto* submit = std::get_if<ChatCore::Submit>(&*action)) {
        submitted.push_back(std::move(*submit));
      } else if (auto* show = std::get_if<ChatCore::Show>(&*action)) {
        lines.push_back(std::move(show->line));
      } else {
        quit = true;
      }
    }
  }
  void bind(std::size_t mtu = 2048) {
    core->on_bound(kNow, mtu);
    drain();
    lines.clear();
  }
  void say(std::string_view line) {
    core->on_line(kNow, line);
    drain();
  }
  void end(std::uint64_t number, const sis::SendOutcome& outcome) {
    core->on_outcome(kNow, number, outcome);
    drain();
  }
  void receive(Address from, Address to, std::string_view text) {
    core->on_received(kNow, {.destination_sap = kChatSap,
                             .destination = to,
                             .source_sap = kChatSap,
                             .source = from,
                             .updu = Bytes(text.begin(), text.end())});
    drain();
  }
  std::string text_of_last() const { return text_of(submitted.back().request.updu); }
  static sis::SendOutcome rejected(sis::RejectReason reason) {
    return {.end = End::rejected, .reason = reason, .reach = sis::event::reach_of(reason)};
  }

  ChatCore::Config config{.to = kBravo, .commands = true};
  std::optional<ChatCore> core{config};
  std::vector<ChatCore::Submit> submitted;
  std::vector<Line> lines;
  bool quit = false;
};

// F.7.3(1), F.7.2(2): the octets are the example of the reference.
TEST_F(ChatCoreTest, a_message_to_a_station_is_one_updu_of_sap_5_with_arq_and_node_confirmation) {
  config.priority = 6;
  config.ttl_s = 0;
  core.emplace(config);
  bind();
  say("QSL?");
  ASSERT_EQ(submitted.size(), 1u);
  Bytes frame;
  encode(sis::Primitive{submitted[0].request}, frame);
  EXPECT_EQ(to_hex(frame),
            to_hex(*from_hex("90EB000012 14 65 E1020305 14 000000 0006 51534C3F0D0A")));
}

// F.7.3(2)
TEST_F(ChatCoreTest, a_message_to_a_group_goes_without_arq_and_is_repeated_as_configured) {
  config.to = Address::all_stations();
  config.repeats = 3;
  core.emplace(config);
  bind();
  say("all stations");
  ASSERT_EQ(submitted.size(), 1u);
  EXPECT_EQ(submitted[0].request.delivery,
            (sis::DeliveryMode{.mode = sis::TransmissionMode::nonarq, .retransmissions = 3}));
  EXPECT_EQ(core->unconfirmed_octets(), 14u);
  end(1, {.end = End::sent});
  EXPECT_EQ(lines.back().kind, LineKind::on_air);
  EXPECT_FALSE(core->any_failed());
}

// F.7.4(3)
TEST_F(ChatCoreTest, each_message_ends_once_as_the_node_reports_it) {
  bind();
  for (const char* text : {"one", "two", "three", "four"}) say(text);
  ASSERT_EQ(submitted.size(), 4u);
  EXPECT_EQ(core->open(), 4u);
  lines.clear();
  end(1, {.end = End::confirmed});
  end(2, rejected(sis::RejectReason::destination_not_responding));
  end(3, rejected(sis::RejectReason::destination_sap_not_bound));
  end(4, {.end = End::unresolved});
  end(4, {.end = End::confirmed});  // a second report of one message means nothing
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0].kind, LineKind::delivered);
  EXPECT_EQ(lines[1].reason, "destination node not responding; it may have arrived");
  EXPECT_EQ(lines[2].reason, "destination SAP not bound");
  EXPECT_EQ(lines[3].kind, LineKind::unknown);
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(lines[i].number, i + 1);
  EXPECT_EQ(core->open(), 0u);
  EXPECT_TRUE(core->any_failed());
  EXPECT_EQ(core->counters()[ChatCounter::messages_delivered], 1u);
  EXPECT_EQ(core->counters()[ChatCounter::messages_failed], 2u);
  EXPECT_EQ(core->counters()[ChatCounter::messages_unknown], 1u);
}

// F.7.4(2)
TEST_F(ChatCoreTest, a_message_of_another_station_is_shown_with_its_source_and_time) {
  receive(kBravo, Address::all_stations(), "hello\r\n");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0], (Line{.kind = LineKind::received,
                            .at = kNow,
                            .from = kBravo,
                            .to = Address::all_stations(),
                            .text = "hello"}));
}

TEST_F(ChatCoreTest, a_line_that_cannot_be_sent_is_refused_with_the_reason) {
  say("too early");
  EXPECT_EQ(lines.back().reason, "the node is not connected");
  bind();
  say("你好");
  EXPECT_NE(lines.back().reason.find("U+4F60"), std::string::npos);
  say(std::string(config.line_octets_max, 'x'));
  EXPECT_EQ(lines.back().kind, LineKind::sent);
  say(std::string(config.line_octets_max + 1, 'x'));
  EXPECT_NE(lines.back().reason.find("at most 4096 octets"), std::string::npos);
  core->on_line(kNow, "cut", /*cut=*/true);
  drain();
  EXPECT_EQ(lines.back().kind, LineKind::refused);
  EXPECT_EQ(core->counters()[ChatCounter::lines_refused], 4u);
  EXPECT_TRUE(core->any_failed());
}

TEST_F(ChatCoreTest, an_empty_line_is_no_message) {
  bind();
  for (const char* line : {"", " ", "\r", " \t "}) say(line);
  EXPECT_TRUE(submitted.empty());
  EXPECT_FALSE(core->any_failed());
}

TEST_F(ChatCoreTest, a_station_that_never_answers_leaves_half_the_places_to_the_others) {
  bind();
  for (std::size_t i = 0; i < config.open_max / 2; ++i) say("anybody there?");
  EXPECT_EQ(core->open(), config.open_max / 2);
  EXPECT_FALSE(core->can_take());
  say("one more");
  EXPECT_EQ(lines.back().kind, LineKind::refused);
  say("/to 1.2.3.6");
  EXPECT_TRUE(core->can_take());
  say("hello");
  EXPECT_EQ(submitted.back().request.destination, kCharlie);
  end(submitted.back().number, {.end = End::confirmed});
  EXPECT_EQ(lines.back().kind, LineKind::delivered);
  end(1, {.end = End::unresolved});
  say("/to 1.2.3.5");
  say("again");
  EXPECT_EQ(lines.back().kind, LineKind::sent);
}

TEST_F(ChatCoreTest, a_line_that_would_never_fit_is_refused_also_when_nothing_is_open) {
  bind(/*mtu=*/10);
  EXPECT_TRUE(core->can_take());
  say(std::string(8 * config.open_max / 2, 'x'));
  EXPECT_EQ(submitted.size(), config.open_max / 2);
  core.emplace(config);
  submitted.clear();
  bind(/*mtu=*/10);
  say(std::string(8 * config.open_max / 2 + 1, 'x'));
  EXPECT_TRUE(submitted.empty());
  EXPECT_EQ(lines.back().reason, "it needs 33 messages, and only 32 more may be on their way");
}

TEST_F(ChatCoreTest, a_node_with_an_mtu_too_small_for_any_text_counts_as_not_connected) {
  core->on_bound(kNow, 2);
  drain();
  EXPECT_FALSE(core->bound());
  core->on_bound(kNow, 3);
  drain();
  EXPECT_TRUE(core->bound());
}

TEST_F(ChatCoreTest, commands_change_the_destination_and_leave) {
  bind();
  say("/to 31.255.255.255");
  say("to all");
  EXPECT_EQ(submitted.back().request.destination, Address::all_stations());
  say("//path");
  EXPECT_EQ(text_of_last(), "/path");
  say("/to nobody");
  EXPECT_EQ(lines.back().kind, LineKind::refused);
  say("/foo");
  EXPECT_EQ(lines.back().reason, "there is no such command; /help lists them");
  say("/quit");
  EXPECT_TRUE(quit);
}

TEST_F(ChatCoreTest, input_without_commands_is_sent_as_it_is) {
  config.commands = false;
  core.emplace(config);
  bind();
  say("/quit");
  say("//path");
  EXPECT_FALSE(quit);
  EXPECT_EQ(submitted.size(), 2u);
  EXPECT_EQ(text_of_last(), "//path");
}

// F.7.4(1)
TEST_F(ChatCoreTest, the_history_has_what_was_said_by_both_sides_up_to_its_limit) {
  config.history_max = 10;
  core.emplace(config);
  bind();
  say("one");
  receive(kBravo, kCharlie, "two");
  lines.clear();
  say("/history");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].text, "one");
  EXPECT_EQ(lines[1].text, "two");
  for (int i = 0; i < 20; ++i) receive(kBravo, kCharlie, std::to_string(i));
  lines.clear();
  say("/history");
  ASSERT_EQ(lines.size(), 10u);
  EXPECT_EQ(lines.front().text, "10");
}

// F.7.4(4)
TEST_F(ChatCoreTest, what_the_node_says_about_the_connection_is_shown) {
  core->on_bound(kNow, 2048);
  drain();
  EXPECT_EQ(lines.back().text, "connected; a message has up to 2046 characters");
  core->on_unbound(kNow, "bind rejected: SAP already allocated");
  drain();
  EXPECT_EQ(lines.back().text, "not connected: bind rejected: SAP already allocated");
  EXPECT_FALSE(core->bound());
}

}  // namespace
}  // namespace s5066::chat
