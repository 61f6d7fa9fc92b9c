// SPDX-License-Identifier: Apache-2.0
// Tests HMTP between two stations that both send, and with stations that do not answer.
#include "gateways/acp142/peers/hmtp_core.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace s5066::acp142 {
namespace {

using gateways::SisBound;
using gateways::SisConfirmed;
using gateways::SisIndication;
using gateways::SisLost;
using gateways::SisRejected;
using gateways::SisUnidata;
using Kind = RecipientOutcome::Kind;
using std::chrono::seconds;

constexpr NodeId kShip{2};
constexpr NodeId kTug{3};
constexpr Address kShipAddress{0x01020002};
constexpr Address kTugAddress{0x01020003};
constexpr Address kShoreAddress{0x01020001};

Bytes octets(std::string_view text) {
  return {text.begin(), text.end()};
}

std::string text_of(const Bytes& updu) {
  return {updu.begin(), updu.end()};
}

/// A station with what its core has said.
struct Station {
  Station(std::map<NodeId, Address> others, const std::string& domain) {
    EXPECT_TRUE(table.add({domain, {.own = true, .stations = {}}}));
    config.stations = std::move(others);
    config.session.server.hostname = domain;
    config.session.server.content_follows = true;
    start();
  }
  void start(std::uint16_t mtu = 2048) {
    core.emplace(config, table);
    core->on_sis(now, SisBound{mtu});
  }
  void drain() {
    while (auto event = core->poll_event()) {
      if (auto* one = std::get_if<PeerEnded>(&*event)) {
        ended.push_back(std::move(*one));
      } else if (auto* mail = std::get_if<PeerReceived>(&*event)) {
        received.push_back(*mail);
        core->on_committed(now, mail->ticket, outcome);
      } else {
        news.push_back(std::get<PeerNews>(*event));
      }
    }
    while (auto unidata = core->poll_unidata(now)) sent.push_back(*std::move(unidata));
  }
  void send(std::int64_t id, NodeId station, std::string_view content = "hello\r\n",
            const std::string& to = "b@ship", std::uint8_t priority = 6) {
    auto mail = std::make_shared<Mail>();
    mail->envelope.from.address = "a@shore";
    mail->envelope.recipients.push_back({to, {}});
    const std::string whole =
        "Message-ID: <" + std::to_string(id) + "@x>\r\n\r\n" + std::string(content);
    mail->content = octets(whole);
    core->request_send(now, {.id = {id},
                             .way = MailWay::hmtp,
                             .station = station,
                             .priority = priority,
                             .left = seconds(86400),
                             .mail = std::move(mail)});
    drain();
  }
  void sis(const gateways::SisEvent& event) {
    core->on_sis(now, event);
    drain();
  }
  void indicate(std::string_view text, Address from) {
    sis(SisIndication{.source = from, .source_sap = kHmtpSap, .updu = octets(text)});
  }
  void wait(Duration time) {
    now += time;
    core->on_deadline(now);
    drain();
  }

  HmtpCore::Config config;
  AddressTable table;
  std::optional<HmtpCore> core;
  Instant now{seconds(1)};
  CommitOutcome outcome = CommitOutcome::committed;
  std::vector<SisUnidata> sent;
  std::vector<PeerEnded> ended;
  std::vector<PeerReceived> received;
  std::vector<PeerNews> news;
};

const char* const kOneKept =
    "250 ship\r\n250 ok\r\n250 ok\r\n354 go\r\n250 2.0.0 kept\r\n221 bye\r\n";

class HmtpCoreTest : public testing::Test {
 protected:
  /// Carries what both have to say until there is nothing more.
  void carry() {
    while (!shore.sent.empty() || !ship.sent.empty()) {
      carry(shore, ship, kShoreAddress);
      carry(ship, shore, kShipAddress);
    }
  }
  static void carry(Station& from, Station& to, Address source) {
    for (SisUnidata& one : std::exchange(from.sent, {})) {
      to.sis(SisIndication{
          .source = source, .source_sap = one.destination_sap, .updu = std::move(one.updu)});
      from.sis(SisConfirmed{one.id});
    }
  }

  Station shore{{{kShip, kShipAddress}, {kTug, kTugAddress}}, "shore"};
  Station ship{{{NodeId{1}, kShoreAddress}}, "ship"};
};

// F.5.3(1)
TEST_F(HmtpCoreTest, a_session_is_one_updu_each_way_with_arq_and_node_confirmation_on_sap_3) {
  shore.send(1, kShip);
  ASSERT_EQ(shore.sent.size(), 1u);
  EXPECT_EQ(shore.sent[0].destination_sap, SapId{3});
  EXPECT_EQ(shore.sent[0].delivery, (sis::DeliveryMode{.mode = sis::TransmissionMode::arq,
                                                       .confirmation = sis::Confirmation::node}));
  carry(shore, ship, kShoreAddress);
  ASSERT_EQ(ship.sent.size(), 1u);
  EXPECT_EQ(ship.sent[0].destination, kShoreAddress);
  carry();
  ASSERT_EQ(shore.ended.size(), 1u);
  EXPECT_EQ(shore.ended[0].done.outcomes.at(0).kind, Kind::delivered);
  ASSERT_EQ(ship.received.size(), 1u);
  EXPECT_EQ(shore.core->counters()[HmtpCounter::sessions_answered], 1u);
}

// F.5.2(5)
TEST_F(HmtpCoreTest, both_stations_send_at_once_in_small_updus) {
  shore.start(40);
  ship.start(40);
  std::string text;
  for (int i = 0; i < 200; ++i) text += "250 line " + std::to_string(i) + "\r\n";
  shore.send(1, kShip, text);
  ship.send(2, NodeId{1}, text, "a@shore");
  carry();
  ASSERT_EQ(shore.received.size(), 1u);
  ASSERT_EQ(ship.received.size(), 1u);
  EXPECT_TRUE(text_of(ship.received[0].mail.content).ends_with(text));
  ASSERT_EQ(shore.ended.size(), 1u);
  EXPECT_EQ(shore.ended[0].done.outcomes.at(0).kind, Kind::delivered);
  EXPECT_EQ(ship.ended.at(0).done.outcomes.at(0).kind, Kind::delivered);
}

TEST_F(HmtpCoreTest, what_waits_goes_in_one_session_the_most_urgent_first) {
  shore.send(1, kShip);
  shore.send(2, kShip, "routine\r\n", "b@ship", 8);
  shore.send(3, kShip, "flash\r\n", "b@ship", 2);
  EXPECT_EQ(shore.sent.size(), 1u);
  carry();
  ASSERT_EQ(shore.ended.size(), 3u);
  EXPECT_EQ(shore.ended[1].id, MailId{3});
  EXPECT_EQ(shore.core->counters()[HmtpCounter::sessions_sent], 2u);
}

TEST_F(HmtpCoreTest, a_session_has_no_more_messages_than_its_limits) {
  shore.core->set_quiet(true);
  for (int i = 0; i < 20; ++i) shore.send(i + 1, kShip);
  shore.core->set_quiet(false);
  shore.drain();
  carry();
  EXPECT_EQ(shore.core->counters()[HmtpCounter::sessions_sent], 2u);
  EXPECT_EQ(shore.ended.size(), 20u);
}

TEST_F(HmtpCoreTest, a_repeat_has_the_same_identity_and_another_message_has_not) {
  shore.send(1, kShip);
  carry();
  shore.send(1, kShip);
  carry();
  shore.send(2, kShip);
  carry();
  ASSERT_EQ(ship.received.size(), 3u);
  EXPECT_FALSE(ship.received[0].identity.empty());
  EXPECT_EQ(ship.received[0].identity, ship.received[1].identity);
  EXPECT_NE(ship.received[0].identity, ship.received[2].identity);
}

TEST_F(HmtpCoreTest, what_the_spool_of_the_other_does_not_take_is_deferred) {
  ship.outcome = CommitOutcome::full;
  shore.send(1, kShip);
  carry();
  EXPECT_EQ(shore.ended.at(0).done.outcomes.at(0).code, 452);
  EXPECT_EQ(shore.ended.at(0).done.outcomes.at(0).kind, Kind::deferred);
}

TEST_F(HmtpCoreTest, a_rejected_part_ends_the_session_and_all_that_waits_for_the_station) {
  shore.send(1, kShip);
  shore.send(2, kShip);
  shore.send(3, kTug);
  shore.sis(SisRejected{shore.sent.at(0).id, sis::RejectReason::destination_not_responding});
  ASSERT_EQ(shore.ended.size(), 2u);
  EXPECT_TRUE(shore.ended[0].unanswered);
  EXPECT_FALSE(shore.ended[1].unanswered);
  shore.indicate(kOneKept, kTugAddress);
  EXPECT_EQ(shore.ended.back().id, MailId{3});
  EXPECT_EQ(shore.ended.back().done.outcomes.at(0).kind, Kind::delivered);
}

TEST_F(HmtpCoreTest, a_station_that_never_replies_holds_up_no_other) {
  shore.config.outstanding_max = 4;
  shore.config.station_outstanding_max = 2;
  shore.start(30);
  shore.send(1, kShip, std::string(500, 'x') + "\r\n");
  EXPECT_EQ(shore.sent.size(), 2u);
  shore.send(2, kTug);
  EXPECT_GT(shore.sent.size(), 2u);
  while (std::any_of(shore.sent.begin(), shore.sent.end(),
                     [](const auto& one) { return one.destination == kTugAddress; })) {
    const auto next = std::find_if(shore.sent.begin(), shore.sent.end(),
                                   [](const auto& one) { return one.destination == kTugAddress; });
    const auto id = next->id;
    shore.sent.erase(next);
    shore.sis(SisConfirmed{id});
  }
  shore.indicate(kOneKept, kTugAddress);
  ASSERT_EQ(shore.ended.size(), 1u);
  EXPECT_EQ(shore.ended[0].station, kTug);
}

TEST_F(HmtpCoreTest, a_session_without_replies_ends_in_time) {
  shore.send(1, kShip);
  shore.sis(SisConfirmed{shore.sent.at(0).id});
  shore.indicate("250 ship\r\n250 ok\r\n", kShipAddress);
  shore.wait(shore.config.answer_wait - seconds(1));
  EXPECT_TRUE(shore.ended.empty());
  shore.wait(seconds(60));
  ASSERT_EQ(shore.ended.size(), 1u);
  EXPECT_EQ(shore.ended[0].done.outcomes.at(0).kind, Kind::deferred);
}

TEST_F(HmtpCoreTest, late_replies_of_a_session_are_not_taken_for_those_of_the_next) {
  shore.send(1, kShip);
  shore.send(2, kShip);
  shore.sis(SisConfirmed{shore.sent.at(0).id});
  shore.wait(shore.config.answer_wait + seconds(60));
  ASSERT_EQ(shore.ended.size(), 2u) << "what waits for the station ends, too";
  EXPECT_TRUE(shore.ended[0].unanswered);
  EXPECT_FALSE(shore.ended[1].unanswered);
  shore.send(3, kShip);
  EXPECT_EQ(shore.sent.size(), 1u);
  shore.indicate(kOneKept, kShipAddress);
  EXPECT_EQ(shore.ended.size(), 2u);
  shore.wait(shore.config.late_reply_wait - seconds(1));
  EXPECT_EQ(shore.sent.size(), 1u);
  shore.wait(seconds(1));
  ASSERT_EQ(shore.sent.size(), 2u);
  shore.indicate(kOneKept, kShipAddress);
  EXPECT_EQ(shore.ended.back().id, MailId{3});
}

TEST_F(HmtpCoreTest, replies_before_the_end_of_a_dialogue_are_not_its_own) {
  shore.config.station_outstanding_max = 1;
  shore.start(40);
  shore.send(1, kShip);
  shore.indicate(kOneKept, kShipAddress);
  EXPECT_TRUE(shore.ended.empty());
}

TEST_F(HmtpCoreTest, no_session_begins_while_parts_of_the_last_are_at_the_node) {
  shore.send(1, kShip);
  shore.indicate(kOneKept, kShipAddress);
  ASSERT_EQ(shore.ended.size(), 1u);
  shore.send(2, kShip);
  EXPECT_EQ(shore.sent.size(), 1u);
  shore.sis(SisConfirmed{shore.sent[0].id});
  EXPECT_EQ(shore.sent.size(), 2u);
}

TEST_F(HmtpCoreTest, the_commit_of_a_message_that_was_cut_off_answers_no_other) {
  const std::string dialogue =
      "EHLO x\r\nMAIL FROM:<a@shore>\r\nRCPT TO:<b@ship>\r\nDATA\r\nhi\r\n.\r\nQUIT\r\n";
  const SisIndication indication{
      .source = kShoreAddress, .source_sap = kHmtpSap, .updu = octets(dialogue)};
  ship.core->on_sis(ship.now, indication);
  ship.core->on_sis(ship.now, indication);
  std::vector<PeerTicket> tickets;
  while (const auto event = ship.core->poll_event()) {
    tickets.push_back(std::get<PeerReceived>(*event).ticket);
  }
  ASSERT_EQ(tickets.size(), 2u);
  ship.core->on_committed(ship.now, tickets[0], CommitOutcome::committed);
  EXPECT_FALSE(ship.core->poll_unidata(ship.now));
  ship.core->on_committed(ship.now, tickets[1], CommitOutcome::committed);
  EXPECT_TRUE(ship.core->poll_unidata(ship.now));
}

TEST_F(HmtpCoreTest, a_station_that_refuses_data_gets_one_message_in_each_session) {
  shore.core->set_quiet(true);
  for (int id = 1; id <= 3; ++id) shore.send(id, kShip);
  shore.core->set_quiet(false);
  shore.drain();
  shore.sis(SisConfirmed{shore.sent.at(0).id});
  shore.indicate("250 ship\r\n250 ok\r\n550 who\r\n554 none\r\n500 what\r\n", kShipAddress);
  ASSERT_EQ(shore.ended.size(), 3u);
  EXPECT_EQ(shore.ended[0].done.outcomes.at(0).code, 550);
  EXPECT_TRUE(shore.ended[1].more);
  shore.send(2, kShip);
  shore.send(3, kShip);
  shore.wait(shore.config.late_reply_wait);
  ASSERT_EQ(shore.sent.size(), 2u);
  shore.sis(SisConfirmed{shore.sent[1].id});
  shore.indicate(kOneKept, kShipAddress);
  EXPECT_EQ(shore.sent.size(), 3u);
}

TEST_F(HmtpCoreTest, a_session_begins_again_when_the_node_is_back) {
  shore.send(1, kShip);
  shore.sis(SisLost{});
  shore.sis(SisBound{2048});
  ASSERT_EQ(shore.sent.size(), 2u);
  EXPECT_EQ(shore.sent[0].updu, shore.sent[1].updu);
  shore.sis(SisConfirmed{shore.sent[0].id});  // of the lost connection; it means nothing
  shore.indicate(kOneKept, kShipAddress);
  EXPECT_EQ(shore.ended.size(), 1u);
}

TEST_F(HmtpCoreTest, a_server_without_ehlo_is_tried_at_once_with_helo) {
  shore.send(1, kShip);
  shore.sis(SisConfirmed{shore.sent.at(0).id});
  shore.indicate("500 what\r\n503 first\r\n", kShipAddress);
  ASSERT_EQ(shore.ended.size(), 1u);
  EXPECT_TRUE(shore.ended[0].more);
  shore.send(1, kShip);
  EXPECT_TRUE(text_of(shore.sent.at(1).updu).starts_with("HELO "));
}

TEST_F(HmtpCoreTest, only_configured_stations_are_listened_to) {
  shore.indicate("EHLO x\r\nQUIT\r\n", Address{0x01020099});
  EXPECT_EQ(shore.news.at(0).kind, PeerNews::Kind::peer_unknown);
  EXPECT_TRUE(shore.sent.empty());
}

TEST_F(HmtpCoreTest, a_withdrawn_message_ends_at_once_and_not_again) {
  shore.send(1, kShip);
  shore.send(2, kShip);
  shore.core->request_withdraw(shore.now, {2});
  shore.core->request_withdraw(shore.now, {1});
  shore.drain();
  EXPECT_EQ(shore.ended.size(), 2u);
  shore.indicate(kOneKept, kShipAddress);
  EXPECT_EQ(shore.ended.size(), 2u);
}

TEST_F(HmtpCoreTest, content_that_smtp_does_not_allow_fails) {
  shore.send(1, kShip, "bare\nend\r\n");
  shore.send(2, kShip, std::string(999, 'x') + "\r\n");
  shore.send(3, kShip, std::string(998, 'x') + "\r\n");
  ASSERT_EQ(shore.ended.size(), 2u);
  EXPECT_EQ(shore.ended[0].done.outcomes.at(0).kind, Kind::failed);
  EXPECT_EQ(shore.ended[1].id, MailId{2});
}

}  // namespace
}  // namespace s5066::acp142
