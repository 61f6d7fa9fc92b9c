// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/acp142/mail_core_fixture.h"

namespace s5066::acp142 {
namespace {

TEST_F(MailCoreTest, a_message_for_a_group_goes_out_once_for_all_its_stations) {
  send({"<all@fleet.example>"}, "<op@shore.example> MT-PRIORITY=4 SIZE=5");
  EXPECT_EQ(answers.at(0), CommitOutcome::committed);
  ASSERT_EQ(submissions.size(), 1u);
  EXPECT_EQ(submissions[0].destinations.size(), 2u);
  EXPECT_EQ(submissions[0].priority, 2);
  EXPECT_EQ(submissions[0].expiry.value, kUtc.value + 3600);
  const Mail mail = payload();
  EXPECT_EQ(to_string(mail.envelope.from), "<op@shore.example> MT-PRIORITY=4");
  EXPECT_EQ(mail.envelope.recipients.size(), 1u);
  EXPECT_EQ(text_of(mail.content).rfind("MULE-Next-Hop: ", 0), 0u);
  EXPECT_NE(text_of(mail.content).find("\r\nReceived: from mx by gw.shore.example with ESMTP"),
            std::string::npos);
  end(kShip, Outcome::delivered);
  end(kBoat, Outcome::delivered);
  EXPECT_EQ((*store->list(1))[0].state, SpoolState::delivered);
  EXPECT_EQ(core->active(), 0u);
}

// P_MUL refuses destinations that it cannot reach together, so such messages would wait until they
// expire.
TEST_F(MailCoreTest, stations_without_a_common_group_get_the_message_one_by_one) {
  config.groups.clear();
  start();
  send({"<all@fleet.example>"});
  EXPECT_EQ(answers.at(0), CommitOutcome::committed);
  ASSERT_EQ(submissions.size(), 2u);
  for (const Submission& one : submissions) EXPECT_EQ(one.destinations.size(), 1u);
  EXPECT_NE(submissions[0].destinations[0].node, submissions[1].destinations[0].node);
  EXPECT_NE(submissions[0].message_id, submissions[1].message_id);
}

// PM-132
TEST_F(MailCoreTest, in_emcon_messages_wait_in_the_spool_and_expire_there) {
  send({"<a@ship.example>"});
  core->on_own_silence(now, true);
  drain();
  send({"<a@ship.example>"}, "<op@shore.example> MT-PRIORITY=4");
  send({"<a@ship.example>"}, "<op@shore.example> MT-PRIORITY=-2");
  EXPECT_EQ(answers, std::vector(3, CommitOutcome::committed));
  EXPECT_EQ(submissions.size(), 1u);
  EXPECT_EQ(newest(), SpoolState::incoming);
  wait(hours(1) + minutes(11));
  EXPECT_TRUE(was_told(MailNews::Kind::expired));
  EXPECT_EQ(submissions.size(), 1u);
  core->on_own_silence(now, false);
  drain();
  ASSERT_EQ(submissions.size(), 2u);
  EXPECT_EQ(submissions[1].priority, 8);
}

// PM-132: mail that cannot be sent is not searched for each time that other mail comes.
TEST_F(MailCoreTest, in_emcon_the_spool_is_not_searched_for_each_message_that_comes) {
  core->on_own_silence(now, true);
  drain();
  const auto searches = air_searches;
  for (int i = 0; i < 5; ++i) send({"<a@ship.example>"});
  EXPECT_EQ(air_searches, searches);
  wait(config.spool_poll);
  EXPECT_EQ(air_searches, searches + 1);
}

// PM-132: the allowed number of messages is active. Mail that waits behind them still ends in time.
TEST_F(MailCoreTest, in_emcon_what_waits_behind_others_expires_too) {
  limit_active(1, 1);
  start();
  send({"<a@ship.example>"});
  core->on_own_silence(now, true);
  send({"<a@ship.example>"}, "<op@shore.example> MT-PRIORITY=4");
  EXPECT_EQ(core->active(), 1u);
  wait(hours(1) + minutes(11));
  EXPECT_TRUE(was_told(MailNews::Kind::expired));
  EXPECT_EQ(core->active(), 2u);  // includes the report to its sender
}

// PM-037
TEST_F(MailCoreTest, who_may_not_answer_is_not_taken_for_dead) {
  core->on_silence_of(kShip, true);
  send({"<a@ship.example>"});
  end(kShip, Outcome::expired);
  EXPECT_FALSE(was_told(MailNews::Kind::station_dead));
  send({"<a@ship.example>"});
  EXPECT_EQ(submissions.size(), 2u);
  core->on_own_silence(now, true);
  core->on_silence_of(kShip, false);
  end(kShip, Outcome::expired, 1);
  EXPECT_FALSE(was_told(MailNews::Kind::station_dead));
  core->on_own_silence(now, false);
  drain();
  send({"<a@ship.example>"});
  ASSERT_EQ(submissions.size(), 3u);
  end(kShip, Outcome::expired, 2);
  EXPECT_TRUE(was_told(MailNews::Kind::station_dead));
  send({"<a@ship.example>"});
  EXPECT_EQ(submissions.size(), 3u);
  core->on_silence_of(kShip, true);
  send({"<a@ship.example>"});
  EXPECT_EQ(submissions.size(), 4u);
}

// PM-037
TEST_F(MailCoreTest, mail_for_a_silent_station_is_not_in_the_way_of_others) {
  ASSERT_TRUE(addresses.add({"boat.example", {.own = false, .stations = {kBoat}}}));
  limit_active(2, 2);
  config.silent = {
      .items_max = 3, .octets_max = 1000, .station_items_max = 3, .station_octets_max = 1000};
  start();
  core->on_silence_of(kShip, true);
  for (int i = 0; i < 5; ++i) send({"<a@ship.example>"});
  EXPECT_EQ(submissions.size(), 3u);
  send({"<a@boat.example>"}, "<op@shore.example> MT-PRIORITY=4");
  send({"<all@fleet.example>"});
  send({"<a@boat.example>"});
  ASSERT_EQ(submissions.size(), 5u);
  EXPECT_EQ(submissions[3].destinations.at(0).node, kBoat);
  EXPECT_EQ(submissions[4].destinations.size(), 2u);
  end(kBoat, Outcome::delivered, 4);  // this one also waits for the silent station only
  EXPECT_EQ(submissions.size(), 6u);
  // The mail that was above the limit comes back.
  end(kShip, Outcome::delivered, 0);
  end(kShip, Outcome::delivered, 1);
  EXPECT_EQ(submissions.size(), 7u);
}

TEST_F(MailCoreTest, mail_for_a_silent_station_is_bounded_in_octets_too) {
  config.silent.station_octets_max = 1;
  config.silent.station_octets_reserve = 0;
  start();
  core->on_silence_of(kShip, true);
  for (int i = 0; i < 3; ++i) send({"<a@ship.example>"});
  EXPECT_EQ(submissions.size(), 1u);
}

// PM-070, PM-071
TEST_F(MailCoreTest, where_stations_can_join_a_group_a_message_goes_to_all_at_once) {
  config.groups.clear();
  config.any_group = true;
  start();
  send({"<all@fleet.example>"});
  ASSERT_EQ(submissions.size(), 1u);
  EXPECT_EQ(submissions[0].destinations.size(), 2u);
}

TEST_F(MailCoreTest, the_session_hears_no_before_anything_is_lost) {
  store_fails = true;
  send({"<a@ship.example>"});
  EXPECT_EQ(answers.at(0), CommitOutcome::failed);
  store_fails = false;
  store_config.open_mails_max = 1;
  start();
  send({"<a@ship.example>"});
  send({"<b@ship.example>"});
  EXPECT_EQ(answers.at(2), CommitOutcome::full);
  EXPECT_EQ(submissions.size(), 1u);
}

// PM-021, PM-039
TEST_F(MailCoreTest, after_a_restart_the_same_octets_go_out_under_the_same_number) {
  send({"<all@fleet.example>"});
  end(kShip, Outcome::delivered);
  start();
  ASSERT_EQ(submissions.size(), 2u);
  EXPECT_EQ(submissions[1].message_id, submissions[0].message_id);
  EXPECT_EQ(submissions[1].content, submissions[0].content);
  EXPECT_EQ(submissions[1].block_octets, 1000u);
  ASSERT_EQ(submissions[1].destinations.size(), 1u);
  EXPECT_EQ(submissions[1].destinations[0], submissions[0].destinations[1]);
}

// PM-021
TEST_F(MailCoreTest, numbers_are_used_once_and_count_on_after_a_restart) {
  send({"<a@ship.example>"});
  end(kShip, Outcome::delivered);
  start();
  send({"<a@ship.example>"});
  ASSERT_EQ(submissions.size(), 2u);
  EXPECT_GT(submissions[1].message_id, submissions[0].message_id);
  EXPECT_EQ(submissions[1].destinations[0].sequence, submissions[0].destinations[0].sequence + 1);
}

// PM-021
TEST_F(MailCoreTest, a_station_that_is_asked_later_than_the_others_has_the_next_running_number) {
  ASSERT_TRUE(addresses.add({"boat.example", {.own = false, .stations = {kBoat}}}));
  start();
  send({"<a@boat.example>"}, "<>");
  EXPECT_EQ(submissions.at(0).destinations.at(0), (Destination{kBoat, 1}));
  end(kBoat, Outcome::expired);  // the gateway now leaves the boat alone for a while
  send({"<all@fleet.example>"}, "<>");
  ASSERT_EQ(submissions.at(1).destinations, (std::vector<Destination>{{kShip, 1}}));
  end(kShip, Outcome::expired, 1);
  wait(minutes(10));
  ASSERT_EQ(submissions.size(), 3u);
  EXPECT_EQ(submissions[2].message_id, submissions[1].message_id);
  EXPECT_EQ(submissions[2].destinations, (std::vector<Destination>{{kBoat, 2}}));
  start();  // the number stays with the submission and is not reused
  ASSERT_EQ(submissions.size(), 4u);
  EXPECT_EQ(submissions[3].destinations, submissions[2].destinations);
  end(kBoat, Outcome::delivered, 3);
  send({"<a@boat.example>"}, "<>");
  EXPECT_EQ(submissions.at(4).destinations, (std::vector<Destination>{{kBoat, 3}}));
}

TEST_F(MailCoreTest, a_repeat_of_a_message_is_accepted_and_not_sent_again) {
  send({"<all@fleet.example>"}, "<op@shore.example>", {"mark"});
  EXPECT_EQ(submissions.at(0).destinations.size(), 2u);
  send({"<all@fleet.example>"}, "<op@shore.example>", {"mark"});
  EXPECT_EQ(answers.at(1), CommitOutcome::committed);
  EXPECT_EQ(submissions.size(), 1u);
  EXPECT_TRUE(was_told(MailNews::Kind::repeated));
}

TEST_F(MailCoreTest,
       a_station_that_lets_a_message_expire_costs_a_report_and_is_left_alone_a_while) {
  send({"<a@ship.example> ORCPT=rfc822;A@x"}, "<op@shore.example> ENVID=77 RET=FULL");
  end(kShip, Outcome::expired);
  ASSERT_EQ(deliveries.size(), 1u);
  const Mail& report = *deliveries[0].mail;
  EXPECT_EQ(report.envelope.from.address, "");
  EXPECT_EQ(report.envelope.recipients[0].address, "op@shore.example");
  const std::string text = text_of(report.content);
  for (const char* part :
       {"multipart/report; report-type=delivery-status", "Original-Envelope-Id: 77",
        "Final-Recipient: rfc822;a@ship.example", "Original-Recipient: rfc822;A@x",
        "Action: failed", "Status: 5.4.7", "Content-Type: message/rfc822\r\n", "hello"}) {
    EXPECT_NE(text.find(part), text.npos) << part;
  }
  EXPECT_FALSE(check_lines(report.content).bare);
  finish_delivery(RecipientOutcome::Kind::delivered);

  send({"<b@ship.example>"});
  wait(config.dead_min - seconds(3));  // the gateway looks by itself only later
  core->on_spool_changed(now);
  drain();
  EXPECT_EQ(submissions.size(), 1u);
  wait(minutes(10));
  EXPECT_EQ(submissions.size(), 2u);
}

// PM-112
TEST_F(MailCoreTest, nothing_is_reported_to_the_null_reverse_path_nor_to_who_does_not_want_it) {
  send({"<a@ship.example>"}, "<>");
  end(kShip, Outcome::expired);
  EXPECT_TRUE(deliveries.empty());
  wait(hours(1));
  send({"<a@ship.example> NOTIFY=NEVER"});
  end(kShip, Outcome::expired, 1);
  EXPECT_TRUE(deliveries.empty());
}

// RFC 3461 4.1, 5.2.7; RFC 3464 2.3.3, 2.3.9
TEST_F(MailCoreTest, a_delay_is_reported_once_to_who_asked_for_it) {
  send({"<a@ship.example> NOTIFY=DELAY,FAILURE ORCPT=rfc822;A@x", "<b@ship.example>"},
       "<op@shore.example> ENVID=77 RET=FULL");
  send({"<c@ship.example> NOTIFY=SUCCESS,FAILURE"});
  send({"<d@ship.example> NOTIFY=DELAY"}, "<>");
  wait(config.delay_after - config.delay_poll);
  EXPECT_TRUE(deliveries.empty());
  wait(2 * config.delay_poll);
  ASSERT_EQ(deliveries.size(), 1u);
  const Mail& report = *deliveries[0].mail;
  EXPECT_EQ(to_string(report.envelope.from), "<>");
  EXPECT_EQ(to_string(report.envelope.recipients.at(0)), "<op@shore.example> NOTIFY=NEVER");
  const std::string text = text_of(report.content);
  for (const char* part :
       {"Subject: Mail is delayed", "Original-Envelope-Id: 77", "Original-Recipient: rfc822;A@x",
        "Final-Recipient: rfc822;a@ship.example\r\nAction: delayed\r\nStatus: 4.4.7\r\n",
        "Will-Retry-Until: Fri, 15 Jan 2027 20:00:00 +0000\r\n", "text/rfc822-headers"}) {
    EXPECT_NE(text.find(part), text.npos) << part << text;
  }
  EXPECT_EQ(text.find("b@ship.example"), text.npos);
  EXPECT_EQ(text.find("hello"), text.npos);  // RET=FULL applies to failures
  finish_delivery(RecipientOutcome::Kind::delivered);
  wait(config.delay_after);
  start();
  wait(hours(1));
  EXPECT_EQ(deliveries.size(), 1u);
  EXPECT_EQ(core->active(), 3u);  // the attempts go on
}

TEST_F(MailCoreTest, a_delay_names_a_recipient_behind_two_stations_once) {
  send({"<all@fleet.example> NOTIFY=DELAY"});
  wait(config.delay_after + config.delay_poll);
  ASSERT_EQ(deliveries.size(), 1u);
  const std::string text = text_of(deliveries[0].mail->content);
  const std::string_view field = "Final-Recipient: rfc822;all@fleet.example";
  EXPECT_NE(text.find(field), text.npos);
  EXPECT_EQ(text.find(field), text.rfind(field));
}

TEST_F(MailCoreTest, many_that_are_late_are_reported_at_once) {
  for (int i = 0; i < 20; ++i) send({"<a@ship.example> NOTIFY=DELAY"});
  wait(config.delay_after + config.delay_poll);
  EXPECT_EQ(core->counters()[MailCounter::reports], 20u);
}

TEST_F(MailCoreTest, a_delay_is_reported_although_the_gateway_was_restarted_or_its_disk_was_full) {
  send({"<a@ship.example> NOTIFY=DELAY"});
  start();
  wait(config.delay_after - config.delay_poll);
  store_fails = true;
  wait(3 * config.delay_poll);
  EXPECT_TRUE(deliveries.empty());
  store_fails = false;
  wait(3 * config.delay_poll);
  EXPECT_EQ(deliveries.size(), 1u);
}

TEST_F(MailCoreTest, a_delay_that_could_not_be_saved_as_told_is_told_once_later) {
  send({"<a@ship.example> NOTIFY=DELAY"});
  telling_fails = true;
  wait(config.delay_after + config.delay_poll);
  EXPECT_TRUE(was_told(MailNews::Kind::store_failed));
  EXPECT_TRUE(deliveries.empty());
  telling_fails = false;
  wait(config.store_retry);
  EXPECT_EQ(deliveries.size(), 1u);
  wait(3 * config.delay_poll);
  EXPECT_EQ(deliveries.size(), 1u);
}

TEST_F(MailCoreTest, what_is_delivered_or_deleted_in_time_is_not_late) {
  send({"<a@ship.example> NOTIFY=DELAY,SUCCESS"});
  end(kShip, Outcome::delivered);
  send({"<a@ship.example> NOTIFY=DELAY"});
  ASSERT_TRUE(operate(SpoolChange::cancel));
  end(kShip, Outcome::cancelled, 1);
  wait(config.delay_after + hours(1));
  EXPECT_TRUE(deliveries.empty());
}

// RFC 8494 6.2
TEST_F(MailCoreTest, everything_about_reports_goes_over_the_air_and_on_to_the_mail_server) {
  const std::string from = "<op@shore.example> RET=HDRS ENVID=a+2Bb";
  const std::string to = "<a@ship.example> NOTIFY=SUCCESS,FAILURE,DELAY ORCPT=rfc822;A+2Bb@x";
  send({to}, from);
  EXPECT_EQ(to_string(payload().envelope.from), from);
  EXPECT_EQ(to_string(payload().envelope.recipients.at(0)), to);
  receive(
      "<a@ship.example> RET=FULL ENVID=1\r\n<x@shore.example> NOTIFY=DELAY ORCPT=rfc822;y@z\r\n"
      "\r\nhi\r\n");
  EXPECT_EQ(to_string(deliveries.at(0).mail->envelope.from), "<a@ship.example> RET=FULL ENVID=1");
  EXPECT_EQ(to_string(deliveries.at(0).mail->envelope.recipients.at(0)),
            "<x@shore.example> NOTIFY=DELAY ORCPT=rfc822;y@z");
}

// PM-107, PM-108
TEST_F(MailCoreTest, a_message_from_the_air_is_acknowledged_after_the_commit_and_delivered) {
  receive("<a@ship.example>\r\n<x@shore.example>\r\n<y@ship.example>\r\n\r\nS: 1\r\n\r\nhi\r\n");
  EXPECT_EQ(confirmed, std::vector<bool>{true});
  ASSERT_EQ(deliveries.size(), 1u);
  const Mail& mail = *deliveries[0].mail;
  ASSERT_EQ(mail.envelope.recipients.size(), 1u);
  EXPECT_EQ(mail.envelope.recipients[0].address, "x@shore.example");
  EXPECT_EQ(text_of(mail.content).rfind("Received: by gw.shore.example with MULE", 0), 0u);
  finish_delivery(RecipientOutcome::Kind::delivered);
  EXPECT_EQ((*store->list(1))[0].state, SpoolState::delivered);
}

// PM-057
TEST_F(MailCoreTest, the_same_message_from_the_air_is_delivered_once_even_after_a_restart) {
  const std::string payload = "<a@ship.example>\r\n<x@shore.example>\r\n\r\nhi\r\n";
  receive(payload);
  receive(payload);
  finish_delivery(RecipientOutcome::Kind::delivered);
  start();
  ASSERT_EQ(known.size(), 1u);
  EXPECT_EQ(known[0].message_id, 7u);
  receive(payload);
  EXPECT_EQ(confirmed, (std::vector<bool>{true, true, true}));
  EXPECT_EQ(deliveries.size(), 1u);
  EXPECT_EQ(count(MailNews::Kind::received), 1u);
  EXPECT_EQ(count(MailNews::Kind::received_again), 2u);
  EXPECT_EQ(core->counters()[MailCounter::received_again], 1u);  // counts since the restart
}

// PM-020
TEST_F(MailCoreTest, a_number_that_its_source_uses_anew_loses_no_message) {
  const auto arrives = [&](const std::string& text, std::int64_t expiry_s) {
    const std::string mail = "<a@ship.example>\r\n<x@shore.example>\r\n\r\n" + text + "\r\n";
    core->on_received(now, {{kShip, 7}, 6, {kUtc.value + expiry_s}, encode_cdt(octets(mail))});
    drain();
  };
  arrives("first", 1000);
  wait(seconds(1001));
  arrives("first", 3000);
  arrives("second", 4000);  // the number is still in use
  EXPECT_EQ(deliveries.size(), 1u);
  wait(seconds(3000));
  arrives("second", 5000);
  ASSERT_EQ(deliveries.size(), 2u);
  EXPECT_NE(text_of(deliveries[1].mail->content).find("second"), std::string::npos);
  EXPECT_EQ(confirmed, std::vector<bool>(4, true));
  EXPECT_EQ(core->counters()[MailCounter::received], 2u);
  EXPECT_EQ(core->counters()[MailCounter::received_again], 2u);
}

TEST_F(MailCoreTest, what_could_not_be_committed_is_not_acknowledged) {
  store_fails = true;
  receive("<a@ship.example>\r\n<x@shore.example>\r\n\r\nhi\r\n");
  EXPECT_EQ(confirmed, std::vector<bool>{false});
  EXPECT_FALSE(was_told(MailNews::Kind::received));
  EXPECT_EQ(core->counters()[MailCounter::received], 0u);
  store_fails = false;
  receive("<a@ship.example>\r\n<x@shore.example>\r\n\r\nhi\r\n");
  EXPECT_EQ(confirmed, (std::vector<bool>{false, true}));
  EXPECT_EQ(deliveries.size(), 1u);
}

// PM-107
TEST_F(MailCoreTest, mail_for_others_and_what_is_no_mail_are_acknowledged_and_dropped) {
  receive("<a@b>\r\n<y@ship.example>\r\n\r\nhi\r\n", 1);
  receive("nonsense", 2);
  core->on_received(now, {{kShip, 3}, 6, {kUtc.value + 9}, Bytes(100, 1)});
  drain();
  EXPECT_EQ(confirmed, (std::vector<bool>{true, true, true}));
  EXPECT_TRUE(deliveries.empty());
  EXPECT_EQ(core->counters()[MailCounter::unreadable], 2u);
}

// A read receipt (RFC 8098) and a request for one are ordinary mail. The gateway makes neither of
// them itself.
TEST_F(MailCoreTest, read_receipts_and_requests_for_them_pass_both_ways_as_they_are) {
  const std::string request =
      "From: <op@shore.example>\r\nMessage-ID: <1@shore>\r\n"
      "Disposition-Notification-To: <op@shore.example>\r\n"
      "Disposition-Notification-Options: x=required,y\r\n\r\nread this\r\n";
  const std::string receipt =
      "Message-ID: <2@ship>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/report;\r\n"
      "\treport-type=disposition-notification; boundary=\"b\"\r\n\r\n--b\r\n\r\nIt was read.\r\n"
      "--b\r\nContent-Type: message/disposition-notification\r\n\r\n"
      "Final-Recipient: rfc822;a@ship.example\r\nOriginal-Message-ID: <1@shore>\r\n"
      "Disposition: manual-action/MDN-sent-manually; displayed\r\n\r\n--b--\r\n";
  std::uint32_t number = 7;
  const auto passes = [&](const std::string& from, const std::string& content) {
    SmtpServerCore::Commit commit;
    commit.mail.envelope.from = *parse_path(from, PathUse::reverse);
    commit.mail.envelope.recipients = {*parse_path("<a@ship.example>", PathUse::forward)};
    commit.mail.content = octets(content);
    core->on_mail(now, {1}, std::move(commit), {});
    drain();
    const Mail sent = payload(submissions.size() - 1);
    EXPECT_EQ(to_string(sent.envelope.from), from);
    EXPECT_TRUE(text_of(sent.content).ends_with("\r\n" + content));
    receive(from + "\r\n<x@shore.example>\r\n\r\n" + content, number++);
    const Mail arrived = *deliveries.back().mail;
    EXPECT_EQ(to_string(arrived.envelope.from), from);
    EXPECT_TRUE(text_of(arrived.content).ends_with("\r\n" + content));
    finish_delivery(RecipientOutcome::Kind::delivered, false);
  };
  passes("<op@ship.example>", request);
  passes("<>", receipt);
  EXPECT_EQ(submissions.size(), 2u);  // the gateway made up nothing for either
  EXPECT_EQ(deliveries.size(), 2u);
}

// PM-112, PM-113
TEST_F(MailCoreTest, a_refusal_by_the_mail_server_is_reported_over_the_air) {
  receive("<a@ship.example> MT-PRIORITY=2\r\n<x@shore.example>\r\n\r\nS: 1\r\n\r\nhi\r\n");
  finish_delivery(RecipientOutcome::Kind::failed);
  ASSERT_EQ(submissions.size(), 1u);
  const Mail report = payload();
  EXPECT_EQ(to_string(report.envelope.from), "<> MT-PRIORITY=2");
  EXPECT_EQ(report.envelope.recipients[0].address, "a@ship.example");
  EXPECT_NE(text_of(report.content).find("Status: 5.1.1"), std::string::npos);
  EXPECT_EQ(submissions[0].priority, 4);
}

TEST_F(MailCoreTest, success_is_reported_only_where_it_was_asked_and_the_server_does_not) {
  receive("<a@ship.example>\r\n<x@shore.example> NOTIFY=SUCCESS\r\n\r\nhi\r\n", 1);
  finish_delivery(RecipientOutcome::Kind::delivered, true);
  receive("<a@ship.example>\r\n<x@shore.example>\r\n\r\nho\r\n", 2);
  finish_delivery(RecipientOutcome::Kind::delivered, false);
  EXPECT_TRUE(submissions.empty());
  receive("<a@ship.example>\r\n<x@shore.example> NOTIFY=SUCCESS\r\n\r\nha\r\n", 3);
  finish_delivery(RecipientOutcome::Kind::delivered, false);
  ASSERT_EQ(submissions.size(), 1u);
  EXPECT_NE(text_of(payload().content).find("Action: relayed"), std::string::npos);
}

TEST_F(MailCoreTest, a_mail_server_that_says_later_is_asked_ever_less_often_until_it_expires) {
  receive("<a@ship.example>\r\n<x@shore.example>\r\n\r\nhi\r\n");
  std::size_t asked = 0;
  while (!was_told(MailNews::Kind::expired) && now < Instant(hours(100))) {
    if (deliveries.size() > asked) {
      asked = deliveries.size();
      finish_delivery(RecipientOutcome::Kind::deferred);
    }
    wait(seconds(30));
  }
  EXPECT_GT(asked, 48u);
  EXPECT_LT(asked, 60u);
  EXPECT_EQ(submissions.size(), 1u);  // this is the report
}

TEST_F(MailCoreTest, a_read_receipt_is_carried_like_any_other_mail) {
  const std::string receipt =
      "Content-Type: multipart/report; report-type=disposition-notification; boundary=b\r\n\r\n"
      "--b\r\nContent-Type: message/disposition-notification\r\n\r\nDisposition: "
      "automatic-action/MDN-sent-automatically; displayed\r\n--b--\r\n";
  receive("<>\r\n<x@shore.example>\r\n\r\n" + receipt);
  const std::string came = text_of(deliveries.at(0).mail->content);
  EXPECT_EQ(came.substr(came.size() - receipt.size()), receipt);
}

TEST_F(MailCoreTest, what_the_spool_parks_is_logged_and_counted_and_holds_no_place) {
  limit_active(1, 1);
  start();
  core->on_own_silence(now, true);
  for (int i = 0; i < 3; ++i) send({"<a@ship.example>"});
  ASSERT_TRUE(gateways::Database::open({.path = store_config.path})
                  ->execute("UPDATE mail_content SET content = x'00' WHERE id = 1"));
  submissions_taken = 0;
  core->on_own_silence(now, false);
  drain();
  EXPECT_EQ(count(MailNews::Kind::parked), 1u);
  EXPECT_EQ(core->counters()[MailCounter::parked], 1u);
  EXPECT_TRUE(submissions.empty());
  EXPECT_EQ(core->active(), 0u);
}

TEST_F(MailCoreTest, what_is_parked_while_it_is_on_the_air_ends_there_and_is_kept_no_further) {
  submissions_taken = 1;
  send({"<a@ship.example>"});
  EXPECT_EQ(asked<SaveSubmission>(), 2);  // includes the form in which it was cut
  wait(minutes(1));
  EXPECT_EQ(asked<SaveSubmission>(), 2);
  end(kShip, Outcome::delivered);
  EXPECT_TRUE(was_told(MailNews::Kind::delivered));
  EXPECT_EQ(core->active(), 0u);
}

TEST_F(MailCoreTest, what_cannot_be_purged_is_not_asked_for_before_its_time_comes_again) {
  store_fails = true;
  wait(hours(1));
  const int once = asked<PurgeMail>();
  EXPECT_EQ(once, 3);  // each part separately
  wait(minutes(59));
  EXPECT_EQ(asked<PurgeMail>(), once);
  wait(minutes(1));
  EXPECT_EQ(asked<PurgeMail>(), 2 * once);
}

TEST_F(MailCoreTest, what_is_purged_in_parts_is_purged_to_the_end) {
  ASSERT_TRUE(gateways::Database::open({.path = store_config.path})->execute(kTenThousandOld));
  wait(hours(1));
  EXPECT_EQ(asked<PurgeMail>(), 3 + 2);
  EXPECT_TRUE(store->list(1)->empty());
}

// The station's state gets worse in the meantime, and the spool gets the newer state.
TEST_F(MailCoreTest, what_cannot_be_saved_of_a_station_is_saved_as_it_is_an_hour_later) {
  send({"<a@ship.example>"});
  send({"<b@ship.example>"});
  store_fails = true;
  end(kShip, Outcome::expired);
  EXPECT_EQ(asked<SaveStation>(), 1);
  wait(minutes(5));
  end(kShip, Outcome::expired, 1);
  EXPECT_EQ(asked<SaveStation>(), 2);
  wait(minutes(54));
  EXPECT_EQ(asked<SaveStation>(), 2);
  store_fails = false;
  wait(hours(3));
  EXPECT_EQ(asked<SaveStation>(), 3);
  EXPECT_EQ((*store->stations()).at(0).failures, 2u);
}

TEST_F(MailCoreTest, memory_holds_a_bounded_number_of_messages) {
  for (int i = 0; i < 100; ++i) send({"<a@ship.example>"}, kRoutine);
  EXPECT_EQ(core->active(), config.air.station_items_max);
  EXPECT_EQ(submissions.size(), config.air.station_items_max);
  for (std::size_t i = 0; i < submissions.size(); ++i) end(kShip, Outcome::delivered, i);
  EXPECT_EQ(submissions.size(), 100u);
  EXPECT_EQ(core->active(), 0u);
}

TEST_F(MailCoreTest, memory_holds_a_bounded_number_of_octets_and_a_message_besides) {
  send({"<a@ship.example>"});
  const auto size = (*store->list(1)).at(0).size;
  config.air.octets_max = 2 * size + 1;
  config.air.octets_reserve = 0;
  start();
  for (int i = 0; i < 5; ++i) send({"<a@ship.example>"});
  EXPECT_EQ(core->active(), 3u);
  end(kShip, Outcome::delivered, 1);
  EXPECT_EQ(core->active(), 3u);
  EXPECT_EQ(submissions.size(), 5u);
}

TEST_F(MailCoreTest, stations_that_need_other_tags_get_a_transmission_of_their_own) {
  config.explicit_tags = {kBoat};
  start();
  send({"<all@fleet.example>"});
  ASSERT_EQ(submissions.size(), 2u);
  EXPECT_EQ(submissions[0].destinations.at(0).node, kShip);
  EXPECT_EQ(submissions[0].content[2 + (submissions[0].content[1] & 0x80 ? 1 : 0)], 0x80);
  EXPECT_EQ(submissions[1].destinations.at(0).node, kBoat);
  EXPECT_EQ(submissions[1].content[2 + (submissions[1].content[1] & 0x80 ? 1 : 0)], 0xA0);
}

// The octets under one number are always the same.
TEST_F(MailCoreTest, what_is_sent_with_other_tags_than_before_gets_a_number_of_its_own) {
  send({"<a@ship.example>"});
  start();
  ASSERT_EQ(submissions.size(), 2u);
  EXPECT_EQ(submissions[1].message_id, submissions[0].message_id);
  config.explicit_tags = {kShip};
  start();
  ASSERT_EQ(submissions.size(), 3u);
  EXPECT_NE(submissions[2].message_id, submissions[1].message_id);
  EXPECT_NE(submissions[2].destinations[0].sequence, submissions[1].destinations[0].sequence);
  start();
  ASSERT_EQ(submissions.size(), 4u);
  EXPECT_EQ(submissions[3].message_id, submissions[2].message_id);
  EXPECT_EQ(submissions[3].content, submissions[2].content);
}

TEST_F(MailCoreTest, fields_of_user_programs_give_a_precedence_where_that_is_configured) {
  config.priority_fields = {{"X-Priority", "1", 4}, {"Importance", "high", 2}};
  start();
  const auto priority = [&](const std::string& fields, int most = 9,
                            const char* from = "<op@shore.example>") {
    SmtpServerCore::Commit commit;
    commit.mail.envelope.from = *parse_path(from, PathUse::reverse);
    commit.mail.envelope.recipients.push_back(*parse_path("<a@ship.example>", PathUse::forward));
    commit.mail.content = octets(fields + "\r\nhello\r\n");
    commit.mt_priority_max = most;
    core->on_mail(now, {1}, std::move(commit), {});
    drain();
    end(kShip, Outcome::delivered, submissions.size() - 1);
    return int{submissions.back().priority};
  };
  EXPECT_EQ(priority(""), 6);
  EXPECT_EQ(priority("X-Priority: 1 (Highest)\r\n"), 2);
  EXPECT_EQ(priority("X-Priority: 10\r\n"), 6);
  EXPECT_EQ(priority("Importance: High\r\n"), 4);
  EXPECT_EQ(priority("Importance: high\r\nMT-Priority: -2\r\n"), 8);
  EXPECT_EQ(priority("Importance: high\r\n", 9, "<op@shore.example> MT-PRIORITY=5"), 1);
  // A sender cannot use a header field to get a precedence that he may not use.
  EXPECT_EQ(priority("X-Priority: 1\r\n", 1), 5);
  EXPECT_EQ(priority("MT-Priority: 6\r\n", 0), 6);
  EXPECT_EQ(priority("", -2), 8);
}

TEST_F(MailCoreTest, a_delay_is_reported_when_its_time_has_come_and_not_at_the_next_look) {
  send({"<a@ship.example> NOTIFY=DELAY"});
  wait(minutes(3));
  send({"<b@ship.example> NOTIFY=DELAY"});
  wait(config.delay_after - minutes(3) - seconds(1));
  EXPECT_EQ(core->counters()[MailCounter::reports], 0u);
  wait(seconds(2));
  EXPECT_EQ(core->counters()[MailCounter::reports], 1u);
  wait(minutes(3) - seconds(2));
  EXPECT_EQ(core->counters()[MailCounter::reports], 1u);
  wait(seconds(2));
  EXPECT_EQ(core->counters()[MailCounter::reports], 2u);
}

// RFC 3464 2.3.6
TEST_F(MailCoreTest, a_report_says_who_said_what_of_which_message_in_words) {
  receive("<b@ship.example>\r\n<x@shore.example>\r\n\r\nhi\r\n");
  SmtpClientCore::Done done;
  done.outcomes = {{RecipientOutcome::Kind::failed, "5.1.1", "5.1.1 no such user", 550}};
  core->on_delivered(now, deliveries.back().id, done);
  drain();
  const std::string theirs = text_of(payload(0).content);
  for (const char* part :
       {"Subject: Mail could not be delivered\r\n",
        "The message was not delivered: the mail server of the recipient answered: 5.1.1 no such "
        "user\r\n    Check the address.",
        "Remote-MTA: dns; [127.0.0.1]\r\nDiagnostic-Code: smtp; 550 5.1.1 no such user\r\n"}) {
    EXPECT_NE(theirs.find(part), theirs.npos) << part << theirs;
  }
  send({"<a@ship.example>"}, "<op@shore.example>", {},
       "Message-ID: <1@x>\r\nSubject: Position report\r\n\r\nhello\r\n");
  end(kShip, Outcome::expired, 1);
  ASSERT_EQ(deliveries.size(), 2u);
  const std::string ours = text_of(deliveries[1].mail->content);
  for (const char* part :
       {"Subject: Mail could not be delivered:\r\n Position report\r\n",
        "    Subject: Position report\r\n    Message-ID: <1@x>\r\n",
        "<a@ship.example>:\r\n    The message was not delivered: why\r\n    The gateway has "
        "stopped "
        "trying. Send the message again",
        "Diagnostic-Code: X-ACP142; why\r\n", "Remote-MTA: X-ACP142; 0.0.0.2\r\n"}) {
    EXPECT_NE(ours.find(part), ours.npos) << part << ours;
  }
}

TEST_F(MailCoreTest, the_client_and_the_log_get_one_number_for_all_ways_of_a_message) {
  config.groups.clear();
  start();
  send({"<all@fleet.example>"});
  ASSERT_EQ(submissions.size(), 2u);
  ASSERT_EQ(news.size(), 4u);
  EXPECT_EQ(news[0].kind, MailNews::Kind::accepted);
  EXPECT_EQ(news[0].mail.value, 1);
  EXPECT_EQ(news[0].label, "<1@x>");
  EXPECT_EQ(news[0].recipients, std::vector<std::string>{"all@fleet.example"});
  EXPECT_EQ(news[1].kind, MailNews::Kind::queued);
  EXPECT_EQ(news[1].mail.value, 2);
  EXPECT_EQ(news[1].first.value, 1);
  EXPECT_EQ(news[2].kind, MailNews::Kind::submitted);
  EXPECT_EQ(news[2].name, (MessageName{config.node, submissions[0].message_id}));
  ASSERT_EQ(sessions.size(), 1u);
  EXPECT_EQ(sessions[0].mail.value, 1);
  EXPECT_FALSE(sessions[0].repeated);
  EXPECT_EQ(core->under_way_as(submissions[1].message_id).value, 2);
  EXPECT_EQ(core->under_way_as(1).value, 0);
  end(kBoat, Outcome::delivered, 1);
  EXPECT_EQ(news.back().kind, MailNews::Kind::delivered);
  EXPECT_EQ(news.back().mail.value, 2);
  EXPECT_EQ(news.back().name.message_id, submissions[1].message_id);
}

TEST_F(MailCoreTest, what_comes_by_air_is_named_with_its_number_there) {
  receive("<a@ship.example>\r\n<x@shore.example>\r\n\r\nMessage-ID: <5@y>\r\n\r\nhi\r\n", 77);
  ASSERT_FALSE(news.empty());
  EXPECT_EQ(news[0].kind, MailNews::Kind::received);
  EXPECT_EQ(news[0].mail.value, 1);
  EXPECT_EQ(news[0].name, (MessageName{kShip, 77}));
  EXPECT_EQ(news[0].label, "<5@y>");
  EXPECT_EQ(news[0].recipients, std::vector<std::string>{"x@shore.example"});
  EXPECT_EQ(store->course({1})->heard, (MessageName{kShip, 77}));
}

}  // namespace
}  // namespace s5066::acp142
