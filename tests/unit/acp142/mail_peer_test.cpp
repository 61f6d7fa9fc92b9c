// SPDX-License-Identifier: Apache-2.0
// Tests the mail side with stations that take mail by CFTP or HMTP. The test plays these protocols.
#include "tests/unit/acp142/mail_core_fixture.h"

namespace s5066::acp142 {
namespace {

using Kind = RecipientOutcome::Kind;
using News = MailNews::Kind;

class MailPeerTest : public MailCoreTest {
 protected:
  MailPeerTest() {
    EXPECT_TRUE(addresses.add({"boat.example", {.own = false, .stations = {kBoat}}}));
    EXPECT_TRUE(addresses.add({"on.example", {.own = false, .stations = {kShip}, .relay = true}}));
    config.ways[kBoat] = MailWay::cftp;
    start();
  }
  void peer_ends(Kind kind, bool unanswered = false, std::size_t i = 0) {
    const HandOver& one = handed_over.at(i);
    core->on_peer_ended(now, {.id = one.id,
                              .station = one.station,
                              .done = done_with(*one.mail, kind, "4.4.1", "why"),
                              .unanswered = unanswered});
    drain();
  }
  void peer_sends(const std::vector<std::string>& to, const std::string& identity,
                  const std::string& content = "Message-ID: <9@y>\r\n\r\nhello\r\n") {
    PeerReceived received{.ticket = {MailWay::cftp, 1}, .station = kBoat};
    received.identity = octets(identity);
    received.mail.envelope.from.address = "captain@boat.example";
    for (const auto& one : to) received.mail.envelope.recipients.push_back({one, {}});
    received.mail.content = octets(content);
    core->on_peer_mail(now, std::move(received));
    drain();
  }
};

// F.14.1(1)
TEST_F(MailPeerTest,
       a_message_for_a_station_with_cftp_is_handed_over_and_ends_as_the_station_says) {
  send({"<x@boat.example>", "<y@boat.example>"}, "<op@shore.example> MT-PRIORITY=4");
  EXPECT_TRUE(submissions.empty());
  ASSERT_EQ(handed_over.size(), 1u);
  const HandOver& one = handed_over[0];
  EXPECT_EQ(one.way, MailWay::cftp);
  EXPECT_EQ(one.station, kBoat);
  EXPECT_EQ(one.priority, 2);
  EXPECT_GT(one.left, seconds(0));
  ASSERT_EQ(one.mail->envelope.recipients.size(), 2u);
  // CFTP has no parameters, so the precedence goes on in the header (RFC 6758).
  EXPECT_EQ(header_field(one.mail->content, "MT-Priority"), "4");
  peer_ends(Kind::delivered);
  EXPECT_EQ(newest(), SpoolState::delivered);
  EXPECT_EQ(core->counters()[MailCounter::delivered], 2u);
}

TEST_F(MailPeerTest, a_message_for_both_kinds_of_stations_goes_both_ways) {
  send({"<all@fleet.example>"});
  ASSERT_EQ(submissions.size(), 1u);
  EXPECT_EQ(submissions[0].destinations.size(), 1u);
  EXPECT_EQ(submissions[0].destinations[0].node, kShip);
  ASSERT_EQ(handed_over.size(), 1u);
  EXPECT_EQ(handed_over[0].station, kBoat);
}

TEST_F(MailPeerTest, a_deferred_message_is_tried_again_and_a_refused_one_is_reported) {
  send({"<x@boat.example>"});
  peer_ends(Kind::deferred);
  EXPECT_TRUE(was_told(News::deferred));
  EXPECT_EQ(handed_over.size(), 1u);
  wait(config.retry_min + config.spool_poll);
  ASSERT_EQ(handed_over.size(), 2u);
  EXPECT_EQ(handed_over[1].id, handed_over[0].id);
  peer_ends(Kind::failed, false, 1);
  EXPECT_TRUE(was_told(News::failed));
  EXPECT_TRUE(was_told(News::reported));
  ASSERT_EQ(deliveries.size(), 1u);  // of the report to the sender, who is ours
}

TEST_F(MailPeerTest, a_station_that_did_not_answer_is_left_alone_for_a_while) {
  send({"<x@boat.example>"});
  peer_ends(Kind::deferred, /*unanswered=*/true);
  EXPECT_TRUE(was_told(News::station_dead));
  send({"<y@boat.example>"});
  EXPECT_EQ(handed_over.size(), 1u);
  send({"<z@boat.example>"}, kFlash);
  EXPECT_EQ(handed_over.size(), 2u);  // flash goes all the same
  core->on_heard(now, kBoat);
  drain();
  EXPECT_GT(handed_over.size(), 2u);
}

TEST_F(MailPeerTest, what_had_no_room_in_one_attempt_is_tried_at_once) {
  send({"<x@boat.example>", "<y@boat.example>"});
  PeerEnded ended{.id = handed_over.at(0).id, .station = kBoat, .more = true};
  ended.done.outcomes = {{Kind::delivered, "2.0.0", {}}, {Kind::deferred, "4.4.1", "no room"}};
  core->on_peer_ended(now, ended);
  drain();
  ASSERT_EQ(handed_over.size(), 2u);
  ASSERT_EQ(handed_over[1].mail->envelope.recipients.size(), 1u);
  EXPECT_EQ(handed_over[1].mail->envelope.recipients[0].address, "y@boat.example");
}

TEST_F(MailPeerTest, what_the_operator_holds_is_withdrawn) {
  send({"<x@boat.example>"});
  ASSERT_TRUE(operate(SpoolChange::hold));
  ASSERT_EQ(withdrawn.size(), 1u);
  peer_ends(Kind::deferred);
  EXPECT_EQ(newest(), SpoolState::held);
}

TEST_F(MailPeerTest, a_row_of_two_ways_from_another_configuration_goes_both_in_turn) {
  config.ways.clear();
  start();
  send({"<all@fleet.example>"});
  config.ways[kBoat] = MailWay::cftp;
  start();
  wait(config.spool_poll);
  for (int i = 0; i < 3 && (submissions.size() < 2 || handed_over.empty()); ++i) {
    if (!handed_over.empty()) peer_ends(Kind::delivered);
    if (submissions.size() > 1) end(kShip, Outcome::delivered, 1);
    wait(config.retry_min + config.spool_poll);
  }
  ASSERT_EQ(submissions.size(), 2u);
  EXPECT_EQ(submissions[1].destinations.size(), 1u);
  EXPECT_EQ(handed_over.size(), 1u);
}

// F.14.6(5)
TEST_F(MailPeerTest,
       mail_from_a_station_goes_to_our_mail_server_and_is_confirmed_after_it_is_kept) {
  peer_sends({"x@shore.example"}, "identity one");
  EXPECT_EQ(peers_confirmed, std::vector<CommitOutcome>{CommitOutcome::committed});
  ASSERT_EQ(deliveries.size(), 1u);
  const Bytes& content = deliveries[0].mail->content;
  EXPECT_NE(header_field(content, "Received").find("with CFTP"), std::string::npos);
  EXPECT_TRUE(was_told(News::received));
}

// F.14.6(6)
TEST_F(MailPeerTest, a_repeat_is_confirmed_and_not_delivered_again) {
  peer_sends({"x@shore.example"}, "identity one");
  peer_sends({"x@shore.example"}, "identity one");
  EXPECT_EQ(peers_confirmed.size(), 2u);
  EXPECT_EQ(deliveries.size(), 1u);
  EXPECT_TRUE(was_told(News::received_again));
}

TEST_F(MailPeerTest, another_message_whose_number_is_the_same_by_chance_is_kept) {
  peer_sends({"x@shore.example"}, "same one");  // the first four octets are the number
  peer_sends({"x@shore.example"}, "same two", "Message-ID: <10@y>\r\n\r\nother\r\n");
  peer_sends({"x@shore.example"}, "same two", "Message-ID: <10@y>\r\n\r\nother\r\n");
  EXPECT_EQ(peers_confirmed.size(), 3u);
  EXPECT_EQ(deliveries.size(), 2u);
}

TEST_F(MailPeerTest, mail_is_passed_on_only_where_a_route_says_so_and_the_rest_is_reported) {
  peer_sends({"x@on.example", "y@ship.example", "z@nowhere"}, "identity one");
  ASSERT_EQ(submissions.size(), 1u);
  ASSERT_EQ(payload().envelope.recipients.size(), 1u);
  EXPECT_EQ(payload().envelope.recipients[0].address, "x@on.example");
  EXPECT_TRUE(was_told(News::reported));
}

TEST_F(MailPeerTest, mail_that_the_spool_does_not_take_is_not_confirmed) {
  store_fails = true;
  peer_sends({"x@shore.example"}, "identity one");
  EXPECT_EQ(peers_confirmed, std::vector<CommitOutcome>{CommitOutcome::failed});
}

}  // namespace
}  // namespace s5066::acp142
