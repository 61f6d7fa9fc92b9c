// SPDX-License-Identifier: Apache-2.0
// Mail comes from the air for a recipient behind another station.
#include "tests/unit/acp142/mail_core_fixture.h"

namespace s5066::acp142 {
namespace {

constexpr NodeId kFar{4};

class MailRelay : public MailCoreTest {
 protected:
  MailRelay() {
    EXPECT_TRUE(addresses.add({"far.example", {.stations = {kFar}, .relay = true}}));
    EXPECT_TRUE(addresses.add({"both.example", {.stations = {kFar, kBoat}, .relay = true}}));
    config.groups.push_back({kShip, kBoat, kFar});
    config.node = {0x0A010109};
    start();
  }
  void hear(const std::string& recipients, const std::string& fields = {},
            std::vector<NodeId> destinations = {}, NodeId source = kShip,
            const std::string& from = "<a@ship.example> MT-PRIORITY=4") {
    Received received{.name = {source, ++number},
                      .priority = 2,
                      .expiry = {kUtc.value + 1000},
                      .content = encode_cdt(octets(from + "\r\n" + recipients + "\r\n" + fields +
                                                   "S: 1\r\n\r\nhi\r\n")),
                      .destinations = std::move(destinations)};
    core->on_received(now, received);
    drain();
    EXPECT_TRUE(confirmed.back());
  }
  std::uint32_t number = 0;
};

// PM-107, PM-108, PM-109: mail for us goes to our mail server, and mail for others to the next hop.
// Each copy has its own recipients only. The message stays as urgent as it was and gets no more
// time.
TEST_F(MailRelay, what_is_for_others_goes_on_to_the_next_hop_and_no_further_than_its_time) {
  hear("<x@shore.example>\r\n<y@far.example> NOTIFY=NEVER\r\n<z@nowhere.example>\r\n");
  ASSERT_EQ(deliveries.size(), 1u);
  ASSERT_EQ(deliveries[0].mail->envelope.recipients.size(), 1u);
  EXPECT_EQ(deliveries[0].mail->envelope.recipients[0].address, "x@shore.example");
  ASSERT_EQ(submissions.size(), 1u);
  EXPECT_EQ(submissions[0].destinations, (std::vector<Destination>{{kFar, 1}}));
  EXPECT_EQ(submissions[0].priority, 2);
  EXPECT_EQ(submissions[0].expiry.value, kUtc.value + 1000);
  const Mail onward = payload();
  EXPECT_EQ(to_string(onward.envelope.from), "<a@ship.example> MT-PRIORITY=4");
  ASSERT_EQ(onward.envelope.recipients.size(), 1u);
  EXPECT_EQ(to_string(onward.envelope.recipients[0]), "<y@far.example> NOTIFY=NEVER");
  EXPECT_EQ(text_of(onward.content).rfind("Received: by gw.shore.example with MULE", 0), 0u);
  EXPECT_EQ(count_header_fields_with(onward.content, "Received", "(MULE 10.1.1.9)"), 1u);
}

// PM-107: ship.example is behind a station, and the configuration does not let us relay for it.
TEST_F(MailRelay, where_we_do_not_relay_it_is_dropped_without_a_word) {
  hear("<y@ship.example>\r\n<z@nowhere.example>\r\n", {}, {}, kBoat);
  EXPECT_TRUE(deliveries.empty());
  EXPECT_TRUE(submissions.empty());
  EXPECT_TRUE(was_told(MailNews::Kind::not_for_us));
  EXPECT_EQ(core->counters()[MailCounter::reports], 0u);
}

// PM-107: we do not know whether the other stations will ever have it.
TEST_F(MailRelay, who_was_in_the_same_transmission_may_never_get_it) {
  hear("<y@far.example>\r\n", {}, {kFar, config.node});
  ASSERT_EQ(submissions.size(), 1u);
  EXPECT_EQ(submissions[0].destinations, (std::vector<Destination>{{kFar, 1}}));
  hear("<y@both.example>\r\n", {}, {kFar, config.node});
  ASSERT_EQ(submissions.size(), 2u);
  EXPECT_EQ(submissions[1].destinations, (std::vector<Destination>{{kBoat, 1}, {kFar, 2}}));
}

// PM-107: the sender says which recipients belong to which station, so that no station has to
// guess.
TEST_F(MailRelay, of_what_is_for_several_stations_each_takes_its_own_recipients) {
  const std::string recipients =
      "<x@shore.example>\r\n<w@shore.example>\r\n<y@far.example>\r\n<z@far.example>\r\n";
  hear(recipients, "MULE-Next-Hop: 0.0.0.2; 0.0.0.4 2 4 10.1.1.9 1 3\r\n", {kFar, config.node});
  ASSERT_EQ(deliveries.size(), 1u);
  const Mail& here = *deliveries[0].mail;
  ASSERT_EQ(here.envelope.recipients.size(), 1u);
  EXPECT_EQ(here.envelope.recipients[0].address, "x@shore.example");
  EXPECT_EQ(header_field(here.content, "MULE-Next-Hop"), "");
  ASSERT_EQ(submissions.size(), 1u);
  const Mail onward = payload();
  ASSERT_EQ(onward.envelope.recipients.size(), 1u);
  EXPECT_EQ(onward.envelope.recipients[0].address, "y@far.example");
  EXPECT_EQ(header_field(onward.content, "MULE-Next-Hop"), "");

  // A field of another station does not apply to this transmission.
  hear(recipients, "MULE-Next-Hop: 0.0.0.3; 0.0.0.4 2 4 10.1.1.9 1 3\r\n", {kFar, config.node});
  ASSERT_EQ(deliveries.size(), 2u);
  EXPECT_EQ(deliveries[1].mail->envelope.recipients.size(), 2u);
  EXPECT_EQ(payload(1).envelope.recipients.size(), 2u);
}

// PM-107: the message goes to several stations at once, and each must know which recipients are its
// own.
TEST_F(MailRelay, a_transmission_for_several_stations_says_whose_recipients_are_whose) {
  send({"<a@ship.example>", "<all@fleet.example>"});
  send({"<all@fleet.example>"});
  send({"<a@ship.example>", "<b@ship.example>"});
  ASSERT_EQ(submissions.size(), 3u);
  EXPECT_EQ(submissions[0].destinations.size(), 2u);
  EXPECT_EQ(
      text_of(payload(0).content).rfind("MULE-Next-Hop: 10.1.1.9; 0.0.0.2 1-2 0.0.0.3 2\r\nRec", 0),
      0u);
  EXPECT_EQ(
      text_of(payload(1).content).rfind("MULE-Next-Hop: 10.1.1.9; 0.0.0.2 1 0.0.0.3 1\r\nRec", 0),
      0u);
  EXPECT_EQ(text_of(payload(2).content).rfind("Received: ", 0), 0u);
}

// PM-112: the message was sent to us to be passed on, and its sender relies on that.
TEST_F(MailRelay, what_was_certainly_for_us_and_cannot_go_on_is_reported) {
  const std::string trace = "Received: by gw with ESMTP id 1 (ESMTP 0.0.0.2);\r\n\tdate\r\n";
  hear("<z@nowhere.example>\r\n", trace);
  ASSERT_EQ(submissions.size(), 1u);
  EXPECT_EQ(payload().envelope.recipients.at(0).address, "a@ship.example");
  EXPECT_NE(text_of(payload().content).find("Status: 5.4.4"), std::string::npos);
  hear("<x@shore.example>\r\n<z@nowhere.example>\r\n<y@far.example>\r\n",
       "MULE-Next-Hop: 0.0.0.2; 0.0.0.4 2-3 10.1.1.9 1\r\n" + trace, {kFar, config.node});
  EXPECT_EQ(submissions.size(), 1u);
  EXPECT_EQ(deliveries.size(), 1u);
}

// PM-112: an older gateway of ours adds the mark but does not say which recipients belong to which
// station.
TEST_F(MailRelay, of_what_nobody_says_whose_it_is_nothing_is_reported) {
  const std::string trace = "Received: by gw with ESMTP id 1 (ESMTP 0.0.0.2);\r\n\tdate\r\n";
  const std::string recipients = "<x@shore.example>\r\n<z@nowhere.example>\r\n<y@far.example>\r\n";
  hear(recipients, trace, {kFar, config.node});
  EXPECT_EQ(core->counters()[MailCounter::reports], 0u);
  EXPECT_EQ(deliveries.size(), 1u);
  ASSERT_EQ(submissions.size(), 1u);
  EXPECT_EQ(submissions[0].destinations.at(0).node, kFar);
  hear(recipients, trace, {config.node});
  EXPECT_EQ(core->counters()[MailCounter::reports], 1u);
}

// PM-107: a gateway sends nothing to a station without recipients, so such a field is not from a
// gateway.
TEST_F(MailRelay, a_field_by_which_nothing_is_for_us_is_not_obeyed) {
  hear("<x@shore.example>\r\n<z@nowhere.example>\r\n<y@far.example>\r\n",
       "MULE-Next-Hop: 0.0.0.2; 0.0.0.99 1-3\r\n"
       "Received: by gw with ESMTP id 1 (ESMTP 0.0.0.2);\r\n\tdate\r\n",
       {config.node});
  ASSERT_EQ(deliveries.size(), 1u);
  EXPECT_EQ(header_field(deliveries[0].mail->content, "MULE-Next-Hop"), "");
  ASSERT_EQ(submissions.size(), 1u);
  EXPECT_EQ(submissions[0].destinations.at(0).node, kFar);
  EXPECT_EQ(core->counters()[MailCounter::reports], 0u);
}

// A user may not decide the route of mail.
TEST_F(MailRelay, such_a_field_in_what_the_mail_server_hands_over_does_not_go_on) {
  send(
      {"<a@ship.example>"}, "<op@shore.example>", {},
      "Subject: x\r\nmule-next-hop: 10.1.1.9;\r\n 0.0.0.3 1\r\nMessage-ID: <1@x>\r\n\r\nhello\r\n");
  const std::string text = text_of(payload().content);
  EXPECT_EQ(text.find("next-hop"), std::string::npos);
  EXPECT_EQ(text.find("0.0.0.3"), std::string::npos);
  EXPECT_NE(text.find("Subject: x\r\nMessage-ID: <1@x>\r\n\r\nhello"), std::string::npos);
}

// PM-109: the sender has given no MT-PRIORITY. The message goes on, and is reported, as urgent as
// it came.
TEST_F(MailRelay, what_has_no_priority_of_its_own_keeps_the_one_it_came_with) {
  hear("<y@far.example>\r\n", {}, {}, kShip, "<a@ship.example>");
  ASSERT_EQ(submissions.size(), 1u);
  EXPECT_EQ(submissions[0].priority, 2);
  EXPECT_EQ(to_string(payload().envelope.from), "<a@ship.example>");
  hear("<y@far.example>\r\n", {}, {}, kShip, "<a@ship.example> MT-PRIORITY=-2");
  EXPECT_EQ(submissions.at(1).priority, 8);
  end(kFar, Outcome::expired);
  EXPECT_EQ(submissions.at(2).destinations.at(0).node, kShip);
  EXPECT_EQ(submissions.at(2).priority, 2);
}

// A full disk is tried again every few seconds.
TEST_F(MailRelay, nothing_is_told_of_what_is_not_kept) {
  const Received received{
      .name = {kFar, 50},
      .priority = 6,
      .expiry = {kUtc.value + 1000},
      .content = encode_cdt(octets("<a@ship.example>\r\n<y@far.example>\r\n\r\nhi"))};
  store_fails = true;
  told.clear();
  for (int i = 0; i < 3; ++i) {
    core->on_received(now, received);
    drain();
  }
  EXPECT_EQ(count(MailNews::Kind::failed) + count(MailNews::Kind::reported), 0u);
  EXPECT_EQ(core->counters()[MailCounter::reports], 0u);
  store_fails = false;
  for (int i = 0; i < 3; ++i) {
    core->on_received(now, received);
    drain();
  }
  EXPECT_EQ(count(MailNews::Kind::failed), 1u);
  EXPECT_EQ(count(MailNews::Kind::reported), 1u);
  EXPECT_EQ(core->counters()[MailCounter::reports], 1u);
  EXPECT_EQ(submissions.size(), 1u);
}

// PM-057, PM-107: two relays send the message to one station, where it ends.
TEST_F(MailRelay, a_message_that_comes_by_two_ways_is_delivered_once) {
  const std::string id = "Message-ID: <1@a>\r\n";
  const std::string one = "Received: by b with MULE id 1 (MULE 0.0.0.2);\r\n\tdate\r\n";
  const std::string two = "Received: by c with MULE id 9 (MULE 0.0.0.4);\r\n\tdate\r\n" + one;
  hear("<x@shore.example>\r\n", one + id);
  EXPECT_EQ(deliveries.size(), 1u);
  EXPECT_FALSE(was_told(MailNews::Kind::received_again));
  start();
  hear("<x@shore.example>\r\n", two + id, {}, kFar);
  EXPECT_EQ(deliveries.size(), 2u);  // the first again, because of the restart
  EXPECT_TRUE(was_told(MailNews::Kind::received_again));
  hear("<w@shore.example>\r\n", two + id, {}, kFar);
  EXPECT_EQ(deliveries.size(), 3u);
  hear("<x@shore.example>\r\n", two + "Message-ID: <2@a>\r\n", {}, kFar);
  EXPECT_EQ(deliveries.size(), 4u);
  for (int i = 0; i < 2; ++i) hear("<x@shore.example>\r\n", one);
  EXPECT_EQ(deliveries.size(), 6u);  // without an identifier it may be meant twice
  // It comes by a relay of another maker, which does not know the field of the relay before it
  // either.
  const std::string field = "mule-Next-hop: 0.0.0.2; 0.0.0.4 1\r\n 0.0.0.5 1\r\n";
  const auto before = count(MailNews::Kind::received_again);
  hear("<x@shore.example>\r\n", "Received: by other\r\n" + field + one + id, {}, kBoat);
  EXPECT_EQ(deliveries.size(), 6u);
  EXPECT_EQ(count(MailNews::Kind::received_again), before + 1);
}

// PM-107: two relays that send mail to each other must end that with a report, not in silence.
TEST_F(MailRelay, a_message_that_passes_twice_is_passed_on_twice) {
  for (int i = 0; i < 2; ++i) hear("<y@far.example>\r\n", "Message-ID: <1@a>\r\n");
  EXPECT_EQ(submissions.size(), 2u);
}

// PM-107: a hub passes mail on to all of a list except the station that it came from. The sender
// may also have meant another station to relay.
TEST_F(MailRelay, the_station_that_it_came_from_has_it) {
  hear("<y@both.example>\r\n", {}, {config.node}, kBoat);
  ASSERT_EQ(submissions.size(), 1u);
  EXPECT_EQ(submissions[0].destinations, (std::vector<Destination>{{kFar, 1}}));
  hear("<y@far.example>\r\n", {}, {config.node, kShip}, kFar);
  EXPECT_EQ(submissions.size(), 1u);
  EXPECT_EQ(core->counters()[MailCounter::reports], 0u);
  const std::string trace = "Received: by gw with MULE id 1 (MULE 0.0.0.4);\r\n\tdate\r\n";
  hear("<y@far.example>\r\n", trace, {config.node, kShip}, kFar);
  EXPECT_EQ(core->counters()[MailCounter::reports], 0u);
  hear("<y@far.example>\r\n", "MULE-Next-Hop: 0.0.0.4; 0.0.0.2 1 10.1.1.9 1\r\n" + trace,
       {config.node, kShip}, kFar);
  EXPECT_EQ(core->counters()[MailCounter::reports], 1u);
}

// PM-115: a message is neither sent back nor around, and its sender is told.
TEST_F(MailRelay, what_goes_in_circles_ends_here_and_is_reported) {
  hear("<y@far.example>\r\n", {}, {}, kFar);
  ASSERT_EQ(submissions.size(), 1u);
  EXPECT_EQ(payload().envelope.from.address, "");
  EXPECT_EQ(payload().envelope.recipients.at(0).address, "a@ship.example");
  EXPECT_NE(text_of(payload().content).find("Status: 5.4.6"), std::string::npos);

  const std::string own = "Received: by gw with MULE id 1 (MULE 10.1.1.9);\r\n\tdate\r\n";
  const std::string other = "Received: by gw with MULE id 1 (MULE 10.1.1.8);\r\n\tdate\r\n";
  hear("<y@far.example>\r\n", own + other);
  ASSERT_EQ(submissions.size(), 2u);
  EXPECT_EQ(submissions[1].destinations.at(0).node, kFar);
  hear("<y@far.example>\r\n", own + own);
  ASSERT_EQ(submissions.size(), 3u);
  EXPECT_EQ(submissions[2].destinations.at(0).node, kShip);

  std::string many;
  for (int i = 0; i < 100; ++i) many += "Received: x\r\n";
  hear("<y@far.example>\r\n", many);
  ASSERT_EQ(submissions.size(), 4u);
  EXPECT_EQ(submissions[3].destinations.at(0).node, kFar);
  hear("<y@far.example>\r\n", many + "Received: x\r\n");
  ASSERT_EQ(submissions.size(), 5u);
  EXPECT_EQ(submissions[4].destinations.at(0).node, kShip);
}

// PM-115, PM-112: a report that goes in circles ends.
TEST_F(MailRelay, nothing_is_reported_about_a_report_that_goes_in_circles) {
  hear("<y@far.example>\r\n", {}, {}, kFar, "<>");
  EXPECT_TRUE(submissions.empty());
  EXPECT_EQ(core->counters()[MailCounter::reports], 0u);
}

// PM-107: the last station that had a message reports that it could not be passed on in its time.
TEST_F(MailRelay, what_expires_on_the_second_hop_is_reported) {
  hear("<y@far.example>\r\n");
  end(kFar, Outcome::expired);
  ASSERT_EQ(submissions.size(), 2u);
  EXPECT_EQ(submissions[1].destinations.at(0).node, kShip);
  EXPECT_EQ(payload(1).envelope.recipients.at(0).address, "a@ship.example");
}

// PM-107: the copy to pass on is committed together with our own copy, and passed on once.
TEST_F(MailRelay, a_message_that_comes_again_is_passed_on_once) {
  store_fails = true;
  Received received{.name = {kShip, 50},
                    .priority = 6,
                    .expiry = {kUtc.value + 1000},
                    .content = encode_cdt(octets("<a@ship.example>\r\n<y@far.example>\r\n\r\nhi"))};
  core->on_received(now, received);
  drain();
  EXPECT_EQ(confirmed, std::vector<bool>{false});
  EXPECT_TRUE(submissions.empty());
  store_fails = false;
  for (int i = 0; i < 3; ++i) {
    core->on_received(now, received);
    drain();
  }
  EXPECT_EQ(submissions.size(), 1u);
}

}  // namespace
}  // namespace s5066::acp142
