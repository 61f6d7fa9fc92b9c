// SPDX-License-Identifier: Apache-2.0
// One station does not answer. No other station waits for it, and no sender gets a wrong report.
#include "tests/unit/acp142/mail_core_fixture.h"

namespace s5066::acp142 {
namespace {

constexpr NodeId kFar{4};

class MailAbsent : public MailCoreTest {
 protected:
  MailAbsent() {
    EXPECT_TRUE(addresses.add({"boat.example", {.own = false, .stations = {kBoat}}}));
    EXPECT_TRUE(addresses.add({"far.example", {.own = false, .stations = {kFar}}}));
    config.spool_poll = seconds(2);
    start();
  }
  std::size_t for_station(NodeId node) const {
    return static_cast<std::size_t>(
        std::count_if(submissions.begin(), submissions.end(), [&](const Submission& one) {
          return std::any_of(one.destinations.begin(), one.destinations.end(),
                             [&](const Destination& to) { return to.node == node; });
        }));
  }
  /// Reports that no answer to this submission came from `node`.
  void leave_unanswered(NodeId node, std::size_t submission) {
    core->on_unanswered({submissions.at(submission).key, node});
  }
  void finish_suspensions() {
    for (const MessageKey key : std::exchange(suspended, {})) {
      for (const Submission& one : submissions) {
        if (one.key != key) continue;
        for (const Destination& to : one.destinations) {
          core->on_destination_ended(now, {key, to.node, Outcome::suspended});
        }
        break;
      }
    }
    drain();
  }
};

TEST_F(MailAbsent, flash_to_a_live_station_does_not_wait_for_an_absent_one) {
  for (int i = 0; i < 200; ++i) send({"<a@ship.example>"}, kRoutine);
  EXPECT_EQ(submissions.size(), config.air.station_items_max);
  send({"<a@boat.example>"}, kFlash);
  EXPECT_EQ(for_station(kBoat), 1u);
  send({"<a@boat.example>"}, kRoutine);
  EXPECT_EQ(for_station(kBoat), 2u);
}

TEST_F(MailAbsent, flash_to_the_absent_station_itself_does_not_wait_for_routine_mail) {
  for (int i = 0; i < 20; ++i) send({"<a@ship.example>"}, kRoutine);
  const std::size_t routine = submissions.size();
  send({"<a@ship.example>"}, kFlash);
  EXPECT_EQ(submissions.size(), routine + 1);
}

TEST_F(MailAbsent, mail_of_every_precedence_to_an_absent_station_leaves_room_for_every_other) {
  for (int priority = -9; priority <= 9; ++priority) {
    for (int i = 0; i < 20; ++i) {
      send({"<a@ship.example>"}, "<op@shore.example> MT-PRIORITY=" + std::to_string(priority));
    }
  }
  for (int priority = -9; priority <= 9; ++priority) {
    const std::size_t before = for_station(kBoat);
    send({"<a@boat.example>"}, "<op@shore.example> MT-PRIORITY=" + std::to_string(priority));
    ASSERT_EQ(for_station(kBoat), before + 1) << priority;
    end(kBoat, Outcome::delivered, submissions.size() - 1);
  }
}

TEST_F(MailAbsent, a_group_with_an_absent_member_reaches_the_others) {
  for (int i = 0; i < 20; ++i) send({"<a@ship.example>"}, kRoutine);
  for (int i = 0; i < 100; ++i) {
    send({"<all@fleet.example>"}, kRoutine);
    ASSERT_EQ(for_station(kBoat), static_cast<std::size_t>(i) + 1);
    end(kBoat, Outcome::delivered, submissions.size() - 1);
    leave_unanswered(kShip, submissions.size() - 1);
    finish_suspensions();
  }
  const auto& air = config.air;
  EXPECT_LE(core->active(), air.items_max + 3 * air.items_reserve);
}

TEST_F(MailAbsent, many_absent_stations_give_way_to_one_that_answers) {
  limit_active(4, 2);
  start();
  for (int i = 0; i < 2; ++i) send({"<a@ship.example>"}, kRoutine);
  for (int i = 0; i < 2; ++i) send({"<a@far.example>"}, kRoutine);
  send({"<a@boat.example>"}, kRoutine);
  EXPECT_EQ(for_station(kBoat), 0u);  // the others may still answer
  for (std::size_t i = 0; i < 4; ++i) leave_unanswered(i < 2 ? kShip : kFar, i);
  wait(config.spool_poll);
  ASSERT_EQ(for_station(kBoat), 1u);
  ASSERT_EQ(suspended.size(), 1u);
  finish_suspensions();
  EXPECT_EQ(core->active(), 4u);
  EXPECT_FALSE(was_told(MailNews::Kind::failed) || was_told(MailNews::Kind::expired));
  // The message that gave way goes on under its number when its station is heard.
  end(kBoat, Outcome::delivered, 4);
  core->on_heard(now, kShip);
  drain();
  ASSERT_EQ(submissions.size(), 6u);
  EXPECT_EQ(submissions[5].message_id, submissions[0].message_id);
  EXPECT_EQ(submissions[5].block_octets, 1000u);
}

TEST_F(MailAbsent, what_gave_way_is_tried_again_after_a_while_when_there_is_room) {
  limit_active(1, 1);
  start();
  send({"<a@ship.example>"}, kRoutine);
  leave_unanswered(kShip, 0);
  send({"<a@boat.example>"}, kRoutine);
  finish_suspensions();
  end(kBoat, Outcome::delivered, 1);
  wait(config.suspended_for - seconds(4));
  EXPECT_EQ(submissions.size(), 2u);
  wait(seconds(8));
  EXPECT_EQ(submissions.size(), 3u);
}

TEST_F(MailAbsent, a_station_in_emcon_with_much_mail_does_not_hold_up_another_in_emcon) {
  core->on_silence_of(kShip, true);
  core->on_silence_of(kBoat, true);
  for (int i = 0; i < 200; ++i) send({"<a@ship.example>"}, kRoutine);
  EXPECT_EQ(submissions.size(), config.silent.station_items_max);
  send({"<a@boat.example>"}, kRoutine);
  EXPECT_EQ(for_station(kBoat), 1u);
  send({"<a@far.example>"}, kRoutine);
  EXPECT_EQ(for_station(kFar), 1u);
}

TEST_F(MailAbsent, all_mail_for_a_station_in_emcon_is_sent_and_waits_for_its_end) {
  core->on_silence_of(kShip, true);
  for (int i = 0; i < 100; ++i) send({"<a@ship.example>"}, kRoutine);
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    leave_unanswered(kShip, i);  // it has been sent as often as configured
    core->on_spool_changed(now);
    drain();
    finish_suspensions();
  }
  EXPECT_EQ(submissions.size(), 100u);
  wait(config.suspended_for + minutes(1));
  EXPECT_EQ(submissions.size(), 100u);  // the gateway does not send all of it again
  core->on_silence_of(kShip, false);
  core->on_heard(now, kShip);
  for (std::size_t i = 0; i < 100; ++i) end(kShip, Outcome::delivered, i);
  EXPECT_GT(submissions.size(), 100u);
}

TEST_F(MailAbsent, what_never_got_on_the_air_expires_and_is_reported_in_time) {
  limit_active(1, 1);
  start();
  send({"<a@ship.example>"}, kRoutine);
  send({"<b@ship.example>"}, kFlash);
  EXPECT_EQ(submissions.size(), 1u);
  wait(hours(1) - seconds(4));
  EXPECT_TRUE(deliveries.empty());
  wait(seconds(8));
  ASSERT_EQ(deliveries.size(), 1u);
  const std::string text = text_of(deliveries[0].mail->content);
  EXPECT_NE(text.find("b@ship.example"), text.npos);
  EXPECT_EQ(text.find("did not answer"), text.npos);
  EXPECT_FALSE(was_told(MailNews::Kind::station_dead));
  EXPECT_EQ(submissions.size(), 1u);
}

TEST_F(MailAbsent, a_station_that_nothing_was_sent_to_is_not_taken_for_dead) {
  send({"<a@ship.example>"});
  core->on_destination_ended(now, {submissions.at(0).key, kShip, Outcome::expired, "too late"});
  drain();
  EXPECT_FALSE(was_told(MailNews::Kind::station_dead));
  send({"<a@ship.example>"});
  EXPECT_EQ(submissions.size(), 2u);
}

TEST_F(MailAbsent, a_station_that_was_heard_since_is_not_taken_for_dead) {
  send({"<a@ship.example>"});
  wait(minutes(1));
  core->on_heard(now, kShip);
  end(kShip, Outcome::expired);
  EXPECT_FALSE(was_told(MailNews::Kind::station_dead));
}

TEST_F(MailAbsent, the_time_at_which_a_station_was_heard_survives_a_restart) {
  EXPECT_EQ(core->heard(kShip).value, 0);
  wait(minutes(1));
  core->on_heard(now, kShip);  // nothing has been sent to it
  drain();
  const UtcSeconds first{kUtc.value + 60};
  EXPECT_EQ(core->heard(kShip), first);
  const int saved = asked<SaveStation>();
  wait(minutes(9));
  core->on_heard(now, kShip);
  drain();
  EXPECT_EQ(asked<SaveStation>(), saved);
  EXPECT_EQ(core->heard(kShip).value, kUtc.value + 600);
  wait(minutes(1));
  core->on_heard(now, kShip);
  core->on_answering(now, kBoat);  // the operator says so
  drain();
  core->on_clock(now, {kUtc.value + 660 - 7200});
  drain();
  EXPECT_EQ(core->heard(kShip).value, kUtc.value + 660 - 7200);
  start();
  EXPECT_EQ(core->heard(kShip).value, kUtc.value + 660 - 7200);
  EXPECT_EQ(core->heard(kBoat).value, 0);
}

TEST_F(MailAbsent, a_dead_station_that_is_heard_gets_its_mail_at_once) {
  send({"<a@ship.example>"});
  end(kShip, Outcome::expired);
  ASSERT_TRUE(was_told(MailNews::Kind::station_dead));
  send({"<b@ship.example>"});
  EXPECT_EQ(submissions.size(), 1u);
  core->on_heard(now, kShip);
  drain();
  EXPECT_TRUE(was_told(MailNews::Kind::station_heard));
  EXPECT_EQ(submissions.size(), 2u);
  EXPECT_EQ((*store->stations()).at(0).dead_until.value, 0);
}

TEST_F(MailAbsent, a_station_that_is_heard_wakes_no_mail_for_another_dead_one) {
  for (const char* to : {"<a@ship.example>", "<a@boat.example>"}) send({to});
  end(kShip, Outcome::expired, 0);
  end(kBoat, Outcome::expired, 1);
  for (const char* to : {"<b@ship.example>", "<b@boat.example>"}) send({to});
  core->on_heard(now, kShip);
  drain();
  ASSERT_EQ(submissions.size(), 3u);
  EXPECT_EQ(submissions[2].destinations.at(0).node, kShip);
}

TEST_F(MailAbsent, a_restart_ends_the_wait_for_a_dead_station) {
  send({"<a@ship.example>"});
  end(kShip, Outcome::expired);
  send({"<b@ship.example>"});
  EXPECT_EQ(submissions.size(), 1u);
  start();
  EXPECT_EQ(submissions.size(), 2u);
  EXPECT_EQ((*store->stations()).at(0).failures, 1u);  // the next failure makes it wait longer
}

TEST_F(MailAbsent, flash_does_not_wait_until_a_dead_station_is_asked_again) {
  send({"<a@ship.example>"});
  end(kShip, Outcome::expired);
  send({"<a@ship.example>"}, kRoutine);
  EXPECT_EQ(submissions.size(), 1u);
  send({"<a@ship.example>"}, kFlash);
  EXPECT_EQ(submissions.size(), 2u);
}

TEST_F(MailAbsent, what_would_expire_before_a_dead_station_is_asked_again_is_sent) {
  send({"<a@ship.example>"});
  end(kShip, Outcome::expired);
  send({"<a@ship.example>"}, "<op@shore.example> BY=400;R");
  EXPECT_EQ(submissions.size(), 2u);
}

TEST_F(MailAbsent, a_mail_server_that_hangs_does_not_hold_up_flash_from_the_air) {
  const auto come = [&](std::uint32_t number, const std::string& parameters) {
    receive("<a@ship.example>" + parameters + "\r\n<x@shore.example>\r\n\r\nhi\r\n", number);
  };
  for (std::uint32_t i = 1; i <= 20; ++i) come(i, " MT-PRIORITY=-2");
  EXPECT_EQ(deliveries.size(), config.smtp.items_max);
  come(21, " MT-PRIORITY=4");
  EXPECT_EQ(deliveries.size(), config.smtp.items_max + 1);
}

TEST_F(MailAbsent, what_waits_for_a_mail_server_that_hangs_expires_and_is_reported_in_time) {
  config.smtp.items_max = config.smtp.station_items_max = 1;
  config.smtp.items_reserve = config.smtp.station_items_reserve = 0;
  start();
  receive("<a@ship.example>\r\n<x@shore.example>\r\n\r\nhi\r\n", 1);
  receive("<a@ship.example>\r\n<y@shore.example>\r\n\r\nhi\r\n", 2);
  EXPECT_EQ(deliveries.size(), 1u);
  wait(hours(48) + seconds(4));
  ASSERT_EQ(submissions.size(), 1u);  // the report goes by air
  EXPECT_NE(text_of(payload().content).find("y@shore.example"), std::string::npos);
}

TEST_F(MailAbsent, the_report_for_a_sender_without_a_route_goes_to_the_mail_server) {
  send({"<a@ship.example>"}, "<op@elsewhere.example>");
  end(kShip, Outcome::expired);
  ASSERT_EQ(deliveries.size(), 1u);
  EXPECT_EQ(deliveries[0].mail->envelope.recipients.at(0).address, "op@elsewhere.example");
  EXPECT_TRUE(was_told(MailNews::Kind::reported));
  EXPECT_FALSE(was_told(MailNews::Kind::report_lost));
  // The report has the lifetime that a mail server gives, however urgent the message was.
  send({"<b@far.example>"}, "<op@elsewhere.example> MT-PRIORITY=4");
  end(kFar, Outcome::expired, 1);
  EXPECT_EQ((*store->list(1)).at(0).expiry.value - (*store->list(1)).at(0).created.value,
            kMailServerLifetimeS);
}

TEST_F(MailAbsent, a_report_that_the_mail_server_refuses_is_logged_as_lost) {
  send({"<a@ship.example>"}, "<op@elsewhere.example>");
  end(kShip, Outcome::expired);
  finish_delivery(RecipientOutcome::Kind::failed);
  EXPECT_EQ(count(MailNews::Kind::report_lost), 1u);
}

}  // namespace
}  // namespace s5066::acp142
