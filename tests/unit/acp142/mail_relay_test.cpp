// Mail from the air that is for somebody behind another station.
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

// PM-107, PM-108, PM-109: for us to our mail server, for others on to the next hop, each with the
// recipients that are for it and no others; as urgent as it was, and with no more time.
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

// PM-107: ship.example is behind a station, and nothing says that we relay for it.
TEST_F(MailRelay, where_we_do_not_relay_it_is_dropped_without_a_word) {
  hear("<y@ship.example>\r\n<z@nowhere.example>\r\n", {}, {}, kBoat);
  EXPECT_TRUE(deliveries.empty());
  EXPECT_TRUE(submissions.empty());
  EXPECT_TRUE(was_told(MailNews::Kind::not_for_us));
  EXPECT_EQ(core->stats().reports, 0u);
}

// PM-107: who is in the same transmission.
TEST_F(MailRelay, who_has_it_already_does_not_get_it_again) {
  hear("<y@far.example>\r\n", {}, {kFar, {9}});
  EXPECT_TRUE(submissions.empty());
  EXPECT_TRUE(was_told(MailNews::Kind::not_for_us));
  hear("<y@both.example>\r\n", {}, {kFar});
  ASSERT_EQ(submissions.size(), 1u);
  EXPECT_EQ(submissions[0].destinations, (std::vector<Destination>{{kBoat, 1}}));
}

// PM-107: a hub passes on to all of a list but the one that it came from; and the sender may have
// meant somebody else to relay.
TEST_F(MailRelay, the_station_that_it_came_from_has_it) {
  hear("<y@both.example>\r\n", {}, {config.node}, kBoat);
  ASSERT_EQ(submissions.size(), 1u);
  EXPECT_EQ(submissions[0].destinations, (std::vector<Destination>{{kFar, 1}}));
  hear("<y@far.example>\r\n", {}, {config.node, kShip}, kFar);
  EXPECT_EQ(submissions.size(), 1u);
  EXPECT_EQ(core->stats().reports, 0u);
}

// PM-115: a message is neither sent back nor round, and its sender is told.
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

// PM-115, PM-112: a report that goes in circles is over.
TEST_F(MailRelay, nothing_is_reported_about_a_report_that_goes_in_circles) {
  hear("<y@far.example>\r\n", {}, {}, kFar, "<>");
  EXPECT_TRUE(submissions.empty());
  EXPECT_EQ(core->stats().reports, 0u);
}

// PM-107: what could not be passed on in its time is reported by who had it last.
TEST_F(MailRelay, what_expires_on_the_second_hop_is_reported) {
  hear("<y@far.example>\r\n");
  end(kFar, Outcome::expired);
  ASSERT_EQ(submissions.size(), 2u);
  EXPECT_EQ(submissions[1].destinations.at(0).node, kShip);
  EXPECT_EQ(payload(1).envelope.recipients.at(0).address, "a@ship.example");
}

// PM-107: it is committed with what is for us, and passed on once.
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
