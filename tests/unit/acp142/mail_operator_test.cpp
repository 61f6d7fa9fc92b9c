// SPDX-License-Identifier: Apache-2.0
// An operator acts on messages that are in progress.
#include "tests/unit/acp142/mail_core_fixture.h"

namespace s5066::acp142 {
namespace {

TEST_F(MailCoreTest, what_is_on_the_air_is_held_and_goes_on_later_for_those_who_lack_it) {
  send({"<all@fleet.example>"});
  end(kShip, Outcome::delivered);
  ASSERT_TRUE(operate(SpoolChange::hold));
  ASSERT_EQ(cancelled, std::vector<MessageKey>{submissions[0].key});
  end(kBoat, Outcome::cancelled);
  EXPECT_EQ(newest(), SpoolState::held);
  EXPECT_EQ(core->active(), 0u);
  wait(hours(1));
  EXPECT_EQ(submissions.size(), 1u);
  EXPECT_FALSE(was_told(MailNews::Kind::station_dead));
  ASSERT_TRUE(operate(SpoolChange::release));
  ASSERT_EQ(submissions.size(), 2u);
  // The message keeps the number and the octets that the boat may know already.
  EXPECT_EQ(submissions[1].message_id, submissions[0].message_id);
  EXPECT_EQ(submissions[1].content, submissions[0].content);
  EXPECT_EQ(submissions[1].block_octets, 1000u);
  ASSERT_EQ(submissions[1].destinations.size(), 1u);
  EXPECT_EQ(submissions[1].destinations[0], submissions[0].destinations[1]);
  end(kBoat, Outcome::delivered, 1);
  EXPECT_EQ(newest(), SpoolState::delivered);
}

TEST_F(MailCoreTest, what_is_held_stays_so_when_the_gateway_dies_before_p_mul_has_let_go_of_it) {
  send({"<a@ship.example>"});
  ASSERT_TRUE(operate(SpoolChange::hold));
  start();
  EXPECT_EQ(newest(), SpoolState::held);
  EXPECT_EQ(submissions.size(), 1u);
}

TEST_F(MailCoreTest, what_ends_before_it_can_be_held_is_over) {
  send({"<a@ship.example>"});
  ASSERT_TRUE(operate(SpoolChange::hold));
  end(kShip, Outcome::delivered);
  EXPECT_EQ(newest(), SpoolState::delivered);
  EXPECT_EQ(core->active(), 0u);
}

TEST_F(MailCoreTest, what_is_held_and_released_before_p_mul_knows_goes_on) {
  send({"<a@ship.example>"});
  ASSERT_TRUE(operate(SpoolChange::hold));
  ASSERT_TRUE(operate(SpoolChange::release));
  EXPECT_EQ(submissions.size(), 1u);  // the first attempt has not ended yet
  end(kShip, Outcome::cancelled);
  ASSERT_EQ(submissions.size(), 2u);
  EXPECT_EQ(submissions[1].message_id, submissions[0].message_id);
}

TEST_F(MailCoreTest, what_is_deleted_while_it_is_sent_ends_without_a_report) {
  send({"<all@fleet.example>"});
  ASSERT_TRUE(operate(SpoolChange::cancel));
  EXPECT_EQ(cancelled.size(), 1u);
  end(kShip, Outcome::expired);  // it was reported before
  end(kBoat, Outcome::cancelled);
  EXPECT_TRUE(store->list(1)->empty());
  EXPECT_TRUE(deliveries.empty());
  EXPECT_EQ(core->active(), 0u);
  wait(hours(1));
  EXPECT_EQ(submissions.size(), 1u);
}

TEST_F(MailCoreTest, what_is_requeued_while_it_is_sent_begins_anew_with_its_whole_lifetime) {
  send({"<a@ship.example>"}, "<op@shore.example> BY=1000;R");
  wait(seconds(600));
  ASSERT_TRUE(operate(SpoolChange::retry));
  EXPECT_EQ(submissions.size(), 1u);
  end(kShip, Outcome::cancelled);
  ASSERT_EQ(submissions.size(), 2u);
  EXPECT_EQ(submissions[1].message_id, submissions[0].message_id);
  EXPECT_GE(submissions[1].expiry.value, kUtc.value + 1600);
}

// A destination that has ended is open again in the spool, but the attempt that ends does not know
// that.
TEST_F(MailCoreTest, what_is_requeued_is_tried_again_for_those_who_had_ended_before) {
  send({"<all@fleet.example>"}, "<>");
  end(kShip, Outcome::expired);
  ASSERT_TRUE(operate(SpoolChange::retry));
  end(kBoat, Outcome::delivered);  // it was reported before
  ASSERT_EQ(submissions.size(), 2u);
  ASSERT_EQ(submissions[1].destinations.size(), 1u);
  EXPECT_EQ(submissions[1].destinations[0].node, kShip);

  using Kind = RecipientOutcome::Kind;
  receive("<>\r\n<a@shore.example>\r\n<b@shore.example>\r\n\r\nhi\r\n");
  const MailId id = deliveries.at(0).id;
  core->on_delivered(now, id, {{{Kind::failed, "5.1.1", "no"}, {Kind::deferred, "4.2.1", "no"}}});
  drain();
  wait(config.retry_min + config.spool_poll);
  ASSERT_EQ(deliveries.size(), 2u);
  EXPECT_EQ(deliveries[1].mail->envelope.recipients.at(0).address, "b@shore.example");
  ASSERT_TRUE(operate(SpoolChange::retry));
  ASSERT_TRUE(operate(SpoolChange::hold));
  ASSERT_TRUE(operate(SpoolChange::release));
  finish_delivery(Kind::delivered);
  ASSERT_EQ(deliveries.size(), 3u);
  EXPECT_EQ(deliveries[2].mail->envelope.recipients.at(0).address, "a@shore.example");
  finish_delivery(Kind::delivered);
  EXPECT_EQ(newest(), SpoolState::delivered);
}

// A message may come again days after its expiry, if its sender's operator wants that.
TEST_F(MailCoreTest, what_comes_again_days_after_its_first_expiry_is_not_delivered_twice) {
  config.spool_poll = config.delay_poll = hours(24);
  start();
  const std::string payload = "<a@ship.example>\r\n<x@shore.example>\r\n\r\nhi\r\n";
  receive(payload);
  finish_delivery(RecipientOutcome::Kind::delivered);
  wait(hours(5 * 24));
  receive(payload);
  EXPECT_EQ(confirmed, std::vector<bool>({true, true}));
  EXPECT_EQ(deliveries.size(), 1u);
}

// The station whose time was over may have the message. The other station was not asked.
TEST_F(MailCoreTest, what_expired_keeps_its_number_also_when_it_is_still_open_for_others) {
  send({"<a@ship.example>"}, "<>");
  end(kShip, Outcome::expired);
  send({"<all@fleet.example>"}, "<>");
  ASSERT_EQ(submissions.size(), 2u);
  ASSERT_EQ(submissions[1].destinations.size(), 1u);
  wait(config.retry_min);
  end(kBoat, Outcome::expired, 1);
  ASSERT_TRUE(operate(SpoolChange::retry));
  ASSERT_EQ(submissions.size(), 3u);
  EXPECT_EQ(submissions[2].message_id, submissions[1].message_id);
  EXPECT_EQ(submissions[2].destinations.size(), 2u);
}

// The sender was told of the failure, and has to be told again.
TEST_F(MailCoreTest, what_is_requeued_after_it_failed_is_late_again_after_the_same_time) {
  config.delay_poll = minutes(1);
  start();
  send({"<a@ship.example> NOTIFY=DELAY,FAILURE"}, "<op@nowhere.example> BY=20000;R");
  end(kShip, Outcome::expired);
  wait(config.delay_after + minutes(2));
  ASSERT_EQ(count(MailNews::Kind::reported), 1u);  // this reports the failure
  finish_delivery(RecipientOutcome::Kind::delivered);
  ASSERT_TRUE(operate(SpoolChange::retry, MailId{1}));
  wait(config.delay_after - minutes(2));
  EXPECT_EQ(count(MailNews::Kind::reported), 1u);
  wait(minutes(4));
  EXPECT_EQ(count(MailNews::Kind::reported), 2u);  // this reports the delay
}

TEST_F(MailCoreTest, what_is_held_before_its_number_is_saved_is_not_submitted) {
  submissions_fail = true;
  send({"<a@ship.example>"});
  ASSERT_TRUE(operate(SpoolChange::hold));
  submissions_fail = false;
  wait(config.store_retry);
  EXPECT_TRUE(submissions.empty());
  EXPECT_TRUE(cancelled.empty());
  EXPECT_EQ(core->active(), 0u);
  EXPECT_EQ(newest(), SpoolState::held);
  ASSERT_TRUE(operate(SpoolChange::release));
  EXPECT_EQ(submissions.size(), 1u);
}

// A message that the mail server may have taken is not given to it again.
TEST_F(MailCoreTest, a_delivery_to_the_mail_server_is_held_when_its_attempt_has_ended) {
  const std::string payload = "<a@ship.example>\r\n<x@shore.example>\r\n\r\nhi\r\n";
  receive(payload);
  ASSERT_TRUE(operate(SpoolChange::hold));
  EXPECT_EQ(core->active(), 1u);
  finish_delivery(RecipientOutcome::Kind::deferred);
  EXPECT_EQ(newest(), SpoolState::held);
  wait(hours(1));
  EXPECT_EQ(deliveries.size(), 1u);
  ASSERT_TRUE(operate(SpoolChange::release));
  EXPECT_EQ(deliveries.size(), 2u);
  ASSERT_TRUE(operate(SpoolChange::hold));
  ASSERT_TRUE(operate(SpoolChange::release));
  EXPECT_EQ(deliveries.size(), 2u);
  ASSERT_TRUE(operate(SpoolChange::hold));
  finish_delivery(RecipientOutcome::Kind::delivered);
  EXPECT_EQ(newest(), SpoolState::delivered);
}

TEST_F(MailCoreTest, a_delivery_that_is_deleted_costs_no_report_whatever_the_mail_server_says) {
  receive("<a@ship.example>\r\n<x@shore.example>\r\n\r\nhi\r\n");
  ASSERT_TRUE(operate(SpoolChange::cancel));
  finish_delivery(RecipientOutcome::Kind::failed);
  EXPECT_TRUE(submissions.empty());
  EXPECT_TRUE(store->list(1)->empty());
}

TEST_F(MailCoreTest, nothing_is_changed_between_the_end_of_an_attempt_and_its_commit) {
  send({"<a@ship.example>"});
  const MailId id = store->list(1)->at(0).id;
  EXPECT_EQ(core->in_hand(id), MailCore::InHand::under_way);
  store_fails = true;
  end(kShip, Outcome::delivered);
  EXPECT_EQ(core->in_hand(id), MailCore::InHand::ending);
  store_fails = false;
  wait(config.store_retry);
  EXPECT_EQ(core->in_hand(id), MailCore::InHand::no);
}

TEST_F(MailCoreTest, an_outcome_that_could_not_be_saved_is_saved_later) {
  send({"<a@ship.example>"});
  store_fails = true;
  end(kShip, Outcome::delivered);
  EXPECT_EQ((*store->list(1))[0].state, SpoolState::active);
  store_fails = false;
  wait(config.store_retry);
  EXPECT_EQ((*store->list(1))[0].state, SpoolState::delivered);
}

}  // namespace
}  // namespace s5066::acp142
