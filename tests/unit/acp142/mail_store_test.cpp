// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <optional>

#include "tests/unit/acp142/mail_store_fixture.h"
#include "tests/unit/gateways/power_vfs.h"

namespace s5066::acp142 {
namespace {

// PM-132
TEST_F(MailStore, who_is_silent_is_known_after_a_restart) {
  EXPECT_TRUE(store->silences()->empty());
  for (const bool silent : {true, false, true}) ASSERT_TRUE(store->set_silence({7}, silent));
  ASSERT_TRUE(store->set_silence({0xFFFFFFFF}, false));
  reopen();
  EXPECT_EQ(*store->silences(),
            (std::map<NodeId, bool>{{NodeId{7}, true}, {NodeId{0xFFFFFFFF}, false}}));
}

TEST_F(MailStore, an_accepted_message_is_there_after_a_restart) {
  const MailId id = keep(mail_to({2, 3}));
  reopen();
  const auto items = take();
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0].id, id);
  EXPECT_EQ(to_string(items[0].from), "<a@b> RET=HDRS");
  EXPECT_EQ(items[0].targets.size(), 2u);
  EXPECT_EQ(items[0].targets[1].station.value, 3u);
  EXPECT_EQ(*items[0].content, Bytes(100, 65));
  EXPECT_EQ(state(id), SpoolState::active);
}

// PM-021, PM-039
TEST_F(MailStore, what_was_active_when_the_power_went_waits_again_as_it_was_submitted) {
  const MailId id = keep(mail_to({2}));
  take();
  ASSERT_TRUE(ask(SaveSubmission{id, 77, 500, {{{2}, 9}}}));
  reopen();
  EXPECT_TRUE(take().empty());
  const auto resumed = std::get<Resumed>(*ask(Resume{kNow}));
  EXPECT_EQ(resumed.last_message_id, 77u);
  ASSERT_EQ(resumed.stations.size(), 1u);
  EXPECT_EQ(resumed.stations[0].sequence, 9u);
  const auto items = take();
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0].message_id, 77u);
  EXPECT_EQ(items[0].block_octets, 500u);
  EXPECT_EQ(items[0].targets[0].sequence, 9u);
}

// PM-021
TEST_F(MailStore, a_running_number_of_an_earlier_submission_is_not_used_again) {
  const MailId id = keep(mail_to({2, 3}));
  ASSERT_EQ(take().size(), 1u);
  ASSERT_TRUE(ask(SaveSubmission{id, 77, 500, {{{2}, 9}, {{3}, 4}}}));
  ASSERT_TRUE(ask(SaveSubmission{id, 77, 400, {{{2}, 9}}}));
  EXPECT_EQ((*store->find(id))->targets.at(1).sequence, 4u);
  ASSERT_TRUE(ask(SaveSubmission{id, 78, 400, {{{2}, 10}}}));
  EXPECT_EQ((*store->find(id))->targets.at(0).sequence, 10u);
  EXPECT_EQ((*store->find(id))->targets.at(1).sequence, 0u);
}

TEST_F(MailStore, the_most_urgent_comes_first_and_then_the_oldest) {
  const MailId routine = keep(mail_to({2}, 8));
  const MailId first = keep(mail_to({2}, 2), {kNow.value - 2});
  const MailId second = keep(mail_to({2}, 2), {kNow.value - 1});
  EXPECT_EQ(take(kNow, 1)[0].id, first);
  const auto rest = take();
  EXPECT_EQ(rest[0].id, second);
  EXPECT_EQ(rest[1].id, routine);
  EXPECT_TRUE(take().empty());
}

TEST_F(MailStore, no_more_octets_are_taken_than_wanted_but_one_message_always_is) {
  for (int i = 0; i < 5; ++i) keep(mail_to({2}));  // 100 octets each
  const auto take_octets = [&](std::uint64_t octets) {
    TakeDue due{Transport::air, kNow, 9};
    due.octets_max = octets;
    return std::get<TakenMail>(*ask(due)).items.size();
  };
  EXPECT_EQ(take_octets(299), 2u);
  EXPECT_EQ(take_octets(1), 1u);
  EXPECT_EQ(take_octets(200), 2u);
}

DeliveryRoom room_for(std::uint32_t items_of_a_station) {
  DeliveryRoom::Limits limits{.items_max = 100,
                              .octets_max = 1'000'000,
                              .station_items_max = items_of_a_station,
                              .station_octets_max = 1'000'000};
  return {limits, {}};
}

TEST_F(MailStore, what_there_is_no_room_for_is_left_and_what_is_behind_it_is_taken) {
  for (int i = 0; i < 5; ++i) keep(mail_to({2}, 2));
  const MailId other = keep(mail_to({3}, 8));
  const MailId both = keep(mail_to({2, 3}, 8));
  keep(mail_to({3}, 8));
  TakeDue due{Transport::air, kNow, 9};
  due.room = room_for(2);
  const auto items = std::get<TakenMail>(*ask(due)).items;
  ASSERT_EQ(items.size(), 4u);
  EXPECT_EQ(items[2].id, other);
  EXPECT_EQ(items[3].id, both);
  EXPECT_EQ(take().size(), 4u);
}

TEST_F(MailStore, a_station_counts_only_while_its_recipients_are_open) {
  const MailId both = keep(mail_to({2, 3}));
  take();
  ASSERT_TRUE(ask(SaveOutcome{
      .id = both, .changes = {{1, SpoolState::delivered, ""}}, .next_try = kNow, .now = kNow}));
  TakeDue due{Transport::air, kNow, 9};
  due.room = room_for(1);
  due.room->add({6, 1, {NodeId{2}}});
  EXPECT_TRUE(std::get<TakenMail>(*ask(due)).items.empty());
}

TEST_F(MailStore, what_is_too_late_is_taken_whatever_there_is_room_for) {
  keep(mail_to({2}));
  TakeDue due{Transport::air, {kNow.value + 1000}, 9, true};
  due.room = room_for(0);
  EXPECT_EQ(std::get<TakenMail>(*ask(due)).items.size(), 1u);
}

TEST_F(MailStore, many_that_there_is_no_room_for_at_the_same_time_hide_nothing) {
  config.open_mails_max = 1000;
  config.open_octets_max = 1'000'000;
  reopen();
  for (int i = 0; i < 300; ++i) keep(mail_to({2}));
  for (int i = 0; i < 5; ++i) keep(mail_to({3}));
  TakeDue due{Transport::air, kNow, 9};
  due.room = room_for(5);
  due.room->add({6, 1, {NodeId{2}}});
  EXPECT_EQ(std::get<TakenMail>(*ask(due)).items.size(), 9u);
}

TEST_F(MailStore, mail_for_a_station_that_is_heard_is_due_at_once) {
  const auto defer = [&](MailId id) {
    ASSERT_TRUE(ask(SaveOutcome{.id = id, .next_try = UtcSeconds{kNow.value + 500}, .now = kNow}));
  };
  const MailId ship = keep(mail_to({2}));
  const MailId boat = keep(mail_to({3}));
  const MailId both = keep(mail_to({2, 3}));
  take();
  for (const MailId id : {ship, boat, both}) defer(id);
  ASSERT_TRUE(ask(WakeMail{{2}, kNow}));
  auto items = take();
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0].id, ship);
  EXPECT_EQ(items[1].id, both);
  ASSERT_TRUE(ask(WakeMail{{}, kNow}));
  EXPECT_EQ(take().at(0).id, boat);
}

TEST_F(MailStore, what_an_operator_holds_is_not_woken) {
  const MailId id = keep(mail_to({2}));
  ASSERT_TRUE(store->change(SpoolChange::hold, id, kNow));
  ASSERT_TRUE(ask(WakeMail{{}, kNow}));
  EXPECT_TRUE(take().empty());
}

TEST_F(MailStore, a_deferred_message_waits_for_its_time_and_at_most_until_it_expires) {
  const MailId id = keep(mail_to({2}));
  take();
  const auto defer = [&](std::int64_t delay_s) {
    SaveOutcome outcome{.id = id, .next_try = UtcSeconds{kNow.value + delay_s}, .now = kNow};
    outcome.counts_as_attempt = true;
    ASSERT_TRUE(ask(outcome));
  };
  defer(50);
  EXPECT_TRUE(take({kNow.value + 49}).empty());
  EXPECT_EQ(take({kNow.value + 50}).at(0).attempts, 1u);
  defer(5000);
  EXPECT_TRUE(take({kNow.value + 999}).empty());
  EXPECT_EQ(take({kNow.value + 1000}).size(), 1u);
}

// PM-130
TEST_F(MailStore, a_message_is_finished_with_its_last_target_and_is_what_the_worst_of_them_is) {
  const auto end_as = [&](SpoolState first, SpoolState second) {
    const MailId id = keep(mail_to({2, 3}));
    take();
    EXPECT_TRUE(ask(SaveOutcome{.id = id, .changes = {{0, first, ""}}, .now = kNow}));
    EXPECT_EQ(state(id), SpoolState::active);
    EXPECT_TRUE(ask(SaveOutcome{.id = id, .changes = {{1, second, "why"}}, .now = kNow}));
    EXPECT_EQ((*store->find(id))->reason, "why");
    return state(id);
  };
  EXPECT_EQ(end_as(SpoolState::delivered, SpoolState::delivered), SpoolState::delivered);
  EXPECT_EQ(end_as(SpoolState::delivered, SpoolState::expired), SpoolState::expired);
  EXPECT_EQ(end_as(SpoolState::failed, SpoolState::expired), SpoolState::failed);
}

TEST_F(MailStore, a_report_is_kept_in_the_same_commit_as_the_failure) {
  const MailId id = keep(mail_to({2}));
  take();
  NewMail report = mail_to({0});
  report.transport = Transport::smtp;
  ASSERT_TRUE(ask(SaveOutcome{
      .id = id, .changes = {{0, SpoolState::failed, "no"}}, .now = kNow, .reports = {report}}));
  EXPECT_EQ(std::get<TakenMail>(*ask(TakeDue{Transport::smtp, kNow, 9})).items.size(), 1u);
}

TEST_F(MailStore, a_repeat_is_known_by_its_mark_for_the_configured_time) {
  config.duplicate_window_s = 100;
  reopen();
  EXPECT_NE(keep(mail_to({2}, 6, 100, "mark")).value, 0);
  EXPECT_EQ(keep(mail_to({2}, 6, 100, "mark"), {kNow.value + 99}).value, 0);
  EXPECT_NE(keep(mail_to({2}, 6, 100, "mark"), {kNow.value + 100}).value, 0);
  EXPECT_EQ(keep(mail_to({2}, 6, 100, "mark"), {kNow.value + 150}).value, 0);
  EXPECT_NE(keep(mail_to({2}, 6, 100, ""), kNow).value, 0);
  EXPECT_NE(keep(mail_to({2}, 6, 100, ""), kNow).value, 0);
}

TEST_F(MailStore, a_message_from_the_air_is_kept_once_and_remembered_for_its_acknowledgement) {
  const MessageName name{{5}, 6};
  const AcceptMail received{{mail_to({0})}, kNow, name, {kNow.value + 10}};
  EXPECT_NE(std::get<MailKept>(*ask(received)).ids[0].value, 0);
  EXPECT_EQ(std::get<MailKept>(*ask(received)).ids[0].value, 0);
  const auto resumed = std::get<Resumed>(*ask(Resume{kNow}));
  ASSERT_EQ(resumed.received.size(), 1u);
  EXPECT_EQ(resumed.received[0].first, name);
  EXPECT_TRUE(std::get<Resumed>(*ask(Resume{{kNow.value + 10}})).received.empty());
}

// PM-020, PM-057
TEST_F(MailStore, other_content_under_a_number_whose_message_is_over_is_another_message) {
  using Repeat = MailKept::Repeat;
  const MessageName name{{5}, 6};
  const auto arrives = [&](std::uint8_t content, std::int64_t at, std::int64_t expiry) {
    const auto answer = ask(AcceptMail{
        {mail_to({0})}, {kNow.value + at}, name, {kNow.value + expiry}, Bytes(32, content)});
    EXPECT_TRUE(answer);
    const auto& kept = std::get<MailKept>(*answer);
    EXPECT_EQ(kept.ids.at(0).value != 0, kept.repeat == Repeat::none);
    return kept.repeat;
  };
  EXPECT_EQ(arrives(1, 0, 10), Repeat::none);
  EXPECT_EQ(arrives(1, 5, 10), Repeat::same);
  EXPECT_EQ(arrives(2, 10, 100), Repeat::other);  // it ends at this time from now on
  EXPECT_EQ(arrives(2, 100, 200), Repeat::other);
  EXPECT_EQ(arrives(1, 300, 400), Repeat::same);
  EXPECT_EQ(arrives(2, 401, 500), Repeat::none);
  reopen();
  EXPECT_EQ(arrives(2, 501, 600), Repeat::same);
  EXPECT_EQ(arrives(1, 600, 700), Repeat::other);
  EXPECT_EQ(arrives(1, 701, 800), Repeat::none);
  EXPECT_EQ(take({kNow.value + 801}).size(), 3u);
}

TEST_F(MailStore, of_what_came_before_contents_were_known_the_number_alone_decides) {
  const MessageName name{{5}, 6};
  ASSERT_TRUE(sql("INSERT INTO mail_received (source, message_id, expiry_utc) VALUES (5, 6, 7)"));
  for (const int content : {1, 2}) {
    const AcceptMail one{
        {mail_to({0})}, kNow, name, {8}, Bytes(32, static_cast<std::uint8_t>(content))};
    EXPECT_EQ(std::get<MailKept>(*ask(one)).repeat, MailKept::Repeat::same);
  }
}

TEST_F(MailStore, a_number_is_known_as_long_as_a_message_can_come_under_it) {
  constexpr std::int64_t kDay = 86400;
  const MessageName name{{5}, 6};
  const auto arrives = [&](std::int64_t day, std::int64_t expiry_day) {
    const UtcSeconds now{kNow.value + day * kDay};
    EXPECT_TRUE(ask(PurgeMail{now, PurgeMail::Part::received}));
    const AcceptMail one{{mail_to({0})}, now, name, {kNow.value + expiry_day * kDay}};
    return std::get<MailKept>(*ask(one)).ids[0].value != 0;
  };
  EXPECT_TRUE(arrives(0, 2));
  EXPECT_FALSE(arrives(30, 31));
  EXPECT_FALSE(arrives(31 + 31, 32));  // its last expiry counts
  EXPECT_TRUE(arrives(32 + 32, 65));
}

TEST_F(MailStore, a_message_that_is_requeued_has_its_lifetime_again_and_no_more) {
  const MailId id = keep(mail_to({2}));
  for (const std::int64_t at : {600, 1200, 1800}) {
    ASSERT_TRUE(store->change(SpoolChange::hold, id, kNow));
    ASSERT_TRUE(store->change(SpoolChange::retry, id, {kNow.value + at}));
    EXPECT_EQ((*store->find(id))->expiry.value, kNow.value + at + 1000);
  }
  ASSERT_EQ(take({kNow.value + 1800}).size(), 1u);
  ASSERT_TRUE(store->change(SpoolChange::retry, id, {kNow.value + 2000}, true));
  EXPECT_EQ((*store->find(id))->expiry.value, kNow.value + 3000);
}

// No station is asked for a message under a number that is older than its receivers' memory.
TEST_F(MailStore, what_was_sent_under_a_number_long_ago_is_not_requeued) {
  constexpr std::int64_t kMonth = 30 * 86400;
  const MailId sent = keep(mail_to({2}));
  const MailId never = keep(mail_to({3}));
  take(kNow, 1);
  ASSERT_TRUE(ask(SaveSubmission{sent, 77, 500, {{{2}, 1}}}));
  ASSERT_TRUE(ask(SaveOutcome{.id = sent, .changes = {}, .next_try = kNow, .now = kNow}));
  for (const MailId id : {sent, never}) ASSERT_TRUE(store->change(SpoolChange::hold, id, kNow));
  ASSERT_TRUE(store->change(SpoolChange::retry, sent, {kNow.value + kMonth - 10}));
  EXPECT_EQ((*store->find(sent))->expiry.value, kNow.value + kMonth);
  ASSERT_TRUE(store->change(SpoolChange::hold, sent, kNow));
  const auto refused = store->change(SpoolChange::retry, sent, {kNow.value + kMonth});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::refused);
  EXPECT_EQ(state(sent), SpoolState::held);
  ASSERT_TRUE(store->change(SpoolChange::retry, never, {kNow.value + 2 * kMonth}));
  EXPECT_EQ((*store->find(never))->expiry.value, kNow.value + 2 * kMonth + 1000);
}

TEST_F(MailStore, takes_its_limits_and_no_more_until_something_is_finished) {
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(accept(mail_to({2}, 6, 1)));
  EXPECT_EQ(accept(mail_to({2}, 6, 1)).error().code, ErrorCode::queue_full);
  const MailId id = take(kNow, 1)[0].id;
  ASSERT_TRUE(ask(SaveOutcome{.id = id, .changes = {{0, SpoolState::delivered, ""}}, .now = kNow}));
  EXPECT_TRUE(accept(mail_to({2}, 6, 1)));
  EXPECT_FALSE(accept(mail_to({2}, 6, 1)));
  reopen();
  EXPECT_FALSE(accept(mail_to({2}, 6, 1)));
}

TEST_F(MailStore, a_spool_that_routine_mail_has_filled_takes_more_urgent_mail) {
  config.reserve_percent = 10;
  reopen();
  for (const auto& [priority, more] : {std::pair{8, 14}, {6, 2}, {4, 2}, {2, 2}}) {
    const auto one = mail_to({2}, static_cast<std::uint8_t>(priority), 1);
    for (int i = 0; i < more; ++i) EXPECT_TRUE(accept(one)) << priority;
    EXPECT_EQ(accept(one).error().code, ErrorCode::queue_full) << priority;
  }
}

TEST_F(MailStore, takes_as_many_octets_as_it_may_and_knows_what_an_operator_removed) {
  const MailId id = keep(mail_to({2}, 6, 9999));
  EXPECT_TRUE(accept(mail_to({2}, 6, 1)));
  EXPECT_FALSE(accept(mail_to({2}, 6, 1)));
  auto other = SqliteMailStore::open(config);
  ASSERT_TRUE(other->change(SpoolChange::cancel, id, kNow));
  EXPECT_TRUE(accept(mail_to({2}, 6, 9999)));
}

TEST_F(MailStore, one_request_that_fails_does_not_spoil_the_others_of_its_commit) {
  const auto results = store->execute(
      {{StoreTicket{1}, AcceptMail{{mail_to({2})}, kNow, {}, {}}},
       {StoreTicket{2}, AcceptMail{{mail_to({2}, 6, 1), mail_to({2}, 6, 99999)}, kNow, {}, {}}},
       {StoreTicket{3}, AcceptMail{{mail_to({2})}, kNow, {}, {}}}});
  EXPECT_TRUE(results[0].answer);
  EXPECT_FALSE(results[1].answer);
  EXPECT_TRUE(results[2].answer);
  EXPECT_EQ(take().size(), 2u);
}

TEST_F(MailStore, an_operator_holds_releases_requeues_and_removes_what_is_not_under_way) {
  const MailId id = keep(mail_to({2, 3}));
  EXPECT_FALSE(store->change(SpoolChange::release, id, kNow));
  ASSERT_TRUE(store->change(SpoolChange::hold, id, kNow));
  EXPECT_EQ(state(id), SpoolState::held);
  EXPECT_TRUE(take().empty());
  ASSERT_TRUE(store->change(SpoolChange::release, id, kNow));
  EXPECT_EQ(take().size(), 1u);
  for (const SpoolChange verb :
       {SpoolChange::hold, SpoolChange::release, SpoolChange::retry, SpoolChange::cancel}) {
    EXPECT_EQ(store->change(verb, id, kNow).error().code, ErrorCode::refused);
  }
  ASSERT_TRUE(
      ask(SaveOutcome{.id = id,
                      .changes = {{0, SpoolState::delivered, ""}, {1, SpoolState::expired, ""}},
                      .now = kNow}));
  EXPECT_EQ(state(id), SpoolState::expired);
  ASSERT_TRUE(store->change(SpoolChange::retry, id, {kNow.value + 5000}));
  const auto items = take({kNow.value + 5000});
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0].targets[0].state, SpoolState::delivered);
  EXPECT_EQ(items[0].targets[1].state, SpoolState::deferred);
  EXPECT_GT(items[0].expiry.value, kNow.value + 5000);
  ASSERT_TRUE(ask(SaveOutcome{.id = id, .changes = {{1, SpoolState::failed, ""}}, .now = kNow}));
  ASSERT_TRUE(store->change(SpoolChange::cancel, id, kNow));
  EXPECT_FALSE(*store->find(id));
}

TEST_F(MailStore,
       an_operator_changes_what_is_under_way_and_it_is_not_taken_before_its_end_is_saved) {
  const MailId id = keep(mail_to({2, 3}));
  ASSERT_EQ(take().size(), 1u);
  ASSERT_TRUE(ask(SaveSubmission{id, 77, 500, {{{2}, 1}, {{3}, 1}}}));
  ASSERT_TRUE(store->change(SpoolChange::hold, id, kNow, true));
  EXPECT_FALSE(store->change(SpoolChange::hold, id, kNow, true));
  EXPECT_EQ(state(id), SpoolState::held);
  ASSERT_TRUE(store->change(SpoolChange::release, id, kNow, true));
  EXPECT_EQ(state(id), SpoolState::active);
  EXPECT_TRUE(take().empty());
  ASSERT_TRUE(store->change(SpoolChange::retry, id, {kNow.value + 600}, true));
  EXPECT_EQ(state(id), SpoolState::active);
  EXPECT_EQ((*store->find(id))->expiry.value, kNow.value + 1600);
  const SaveOutcome end{
      .id = id, .changes = {{0, SpoolState::delivered, ""}}, .next_try = kNow, .now = kNow};
  ASSERT_TRUE(store->change(SpoolChange::hold, id, kNow, true));
  ASSERT_TRUE(ask(end));
  EXPECT_EQ(state(id), SpoolState::held);
  EXPECT_TRUE(take().empty());
  ASSERT_TRUE(store->change(SpoolChange::retry, id, kNow));
  const auto again = take();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].message_id, 77u);  // no station gets it twice
  EXPECT_EQ(again[0].targets[0].state, SpoolState::delivered);
  ASSERT_TRUE(store->change(SpoolChange::cancel, id, kNow, true));
  EXPECT_TRUE(ask(end));
  EXPECT_FALSE(*store->find(id));
}

TEST_F(MailStore, what_was_held_while_its_last_recipient_got_it_is_delivered) {
  const MailId id = keep(mail_to({2}));
  ASSERT_EQ(take().size(), 1u);
  ASSERT_TRUE(store->change(SpoolChange::hold, id, kNow, true));
  ASSERT_TRUE(ask(SaveOutcome{.id = id, .changes = {{0, SpoolState::delivered, ""}}, .now = kNow}));
  EXPECT_EQ(state(id), SpoolState::delivered);
}

TEST_F(MailStore, rows_and_contents_that_cannot_be_read_are_parked_and_the_rest_goes_on) {
  const MailId damaged = keep(mail_to({2}));
  const MailId edited = keep(mail_to({2}));
  const MailId whole = keep(mail_to({2}));
  ASSERT_TRUE(sql("UPDATE mail_content SET content = x'00' WHERE id = 1"));
  ASSERT_TRUE(sql("UPDATE mail SET reverse_path = 'nonsense' WHERE id = 2"));
  const auto items = take();
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0].id, whole);
  EXPECT_EQ(state(damaged), SpoolState::corrupt);
  const auto listed = *store->list(10);
  EXPECT_EQ(listed[1].id, edited);
  EXPECT_EQ(listed[1].state, SpoolState::corrupt);
}

// Data that cannot be read now may still be undamaged.
TEST_F(MailStore, a_read_that_fails_once_costs_a_request_and_no_message) {
  test::PowerVfs vfs(test::PowerVfs::Unsynced::kept);
  config.vfs = vfs.name();
  reopen();
  NewMail late = mail_to({2}, 6, 9000);
  late.delay = kNow;
  const MailId id = keep(late);
  for (const MailOperation& operation :
       {MailOperation(TakeDelayed{kNow, 4}), MailOperation(TakeDue{Transport::air, kNow, 4})}) {
    std::size_t failures = 0;
    for (std::uint64_t read = 1;; ++read) {
      SCOPED_TRACE(read);
      reopen();
      vfs.fail_read(read);
      auto answer = ask(operation);
      const bool failed = vfs.read_failed();
      vfs.fail_read(UINT64_MAX);
      if (failed && !answer) {
        ++failures;
        ASSERT_NE(state(id), SpoolState::active);
        ASSERT_FALSE(store->damage());
        answer = ask(operation);
      }
      ASSERT_TRUE(answer);
      ASSERT_EQ(std::get<TakenMail>(*answer).items.size(), 1u);
      if (!failed) break;
      ASSERT_TRUE(ask(Resume{kNow}));
    }
    EXPECT_GT(failures, 3u);
  }
  store.reset();
}

TEST_F(MailStore, nobody_is_told_that_a_message_is_late_when_it_is_over) {
  NewMail late = mail_to({2});
  late.delay = {kNow.value + 10};
  const UtcSeconds then{kNow.value + 10};
  const MailId id = keep(late);
  ASSERT_EQ(take().size(), 1u);
  ASSERT_EQ(std::get<TakenMail>(*ask(TakeDelayed{then, 4})).items.size(), 1u);
  ASSERT_TRUE(ask(SaveOutcome{.id = id, .changes = {{0, SpoolState::delivered, ""}}, .now = then}));
  ASSERT_TRUE(ask(SaveDelayed{id, then, {mail_to({3})}}));
  EXPECT_TRUE(take(then).empty());
}

TEST_F(MailStore, what_is_over_for_long_is_forgotten) {
  const MailId old = keep(mail_to({2}));
  keep(mail_to({2}));
  take(kNow, 1);
  ASSERT_TRUE(ask(SaveOutcome{.id = old, .changes = {{0, SpoolState::failed, ""}}, .now = kNow}));
  ASSERT_TRUE(ask(PurgeMail{{kNow.value + config.keep_finished_s}}));
  EXPECT_EQ(store->list(10)->size(), 2u);
  ASSERT_TRUE(ask(PurgeMail{{kNow.value + config.keep_finished_s + 1}}));
  EXPECT_EQ(store->list(10)->size(), 1u);
}

TEST_F(MailStore, another_copy_of_what_was_deleted_is_taken) {
  const NewMail one = mail_to({2}, 6, 100, "m");
  const auto repeated = [&] { return keep(one) == MailId{}; };
  const MailId first = keep(one);
  EXPECT_TRUE(repeated());
  ASSERT_TRUE(store->change(SpoolChange::cancel, first, kNow));
  const MailId second = keep(one);
  ASSERT_NE(second, MailId{});
  take();
  EXPECT_FALSE(store->change(SpoolChange::cancel, second, kNow));
  ASSERT_TRUE(store->change(SpoolChange::cancel, second, kNow, true));
  EXPECT_TRUE(repeated());  // it may have arrived
}

TEST_F(MailStore, another_copy_of_what_was_delivered_is_not_taken_though_that_was_deleted) {
  NewMail one = mail_to({2, 3}, 6, 100, "m2");
  one.targets[1].mark = "m3";
  const MailId first = keep(one);
  take();
  ASSERT_TRUE(ask(SaveOutcome{
      .id = first, .changes = {{0, SpoolState::delivered, ""}}, .next_try = kNow, .now = kNow}));
  ASSERT_TRUE(store->change(SpoolChange::cancel, first, kNow));
  const MailId second = keep(one);
  ASSERT_NE(second, MailId{});
  ASSERT_EQ((*store->find(second))->targets.size(), 1u);
  EXPECT_EQ((*store->find(second))->targets[0].station.value, 3u);
}

TEST_F(MailStore, another_copy_of_what_is_not_what_was_accepted_is_taken) {
  const NewMail one = mail_to({2}, 6, 100, "m");
  const MailId first = keep(one);
  ASSERT_TRUE(sql("UPDATE mail SET sha256 = x'00'"));
  EXPECT_TRUE(take().empty());
  const UtcSeconds later{kNow.value + 1};
  const MailId second = keep(one, later);
  EXPECT_NE(second, MailId{});
  ASSERT_TRUE(store->change(SpoolChange::retry, first, kNow));
  ASSERT_TRUE(store->change(SpoolChange::cancel, first, kNow));
  EXPECT_EQ(keep(one, later), MailId{});  // the mark belongs to the second
}

// An operator may have repaired the content by hand.
TEST_F(MailStore, another_copy_of_what_was_parked_and_goes_on_is_not_taken) {
  const NewMail one = mail_to({2}, 6, 100, "m");
  const MailId first = keep(one);
  ASSERT_TRUE(sql("UPDATE mail SET sha256 = x'00'"));
  EXPECT_TRUE(take().empty());
  ASSERT_EQ(state(first), SpoolState::corrupt);
  ASSERT_TRUE(store->change(SpoolChange::retry, first, kNow));
  EXPECT_EQ(keep(one), MailId{});
}

// The sender has been told of the failure and hands the same message over once more.
TEST_F(MailStore, another_copy_of_what_failed_or_expired_is_taken) {
  const NewMail one = mail_to({2}, 6, 100, "m");
  for (const SpoolState end : {SpoolState::failed, SpoolState::expired}) {
    const MailId id = keep(one);
    ASSERT_NE(id, MailId{});
    EXPECT_EQ(keep(one), MailId{});
    take();
    ASSERT_TRUE(ask(SaveOutcome{.id = id, .changes = {{0, end, ""}}, .now = kNow}));
  }
  const MailId last = keep(one);
  take();
  ASSERT_TRUE(
      ask(SaveOutcome{.id = last, .changes = {{0, SpoolState::delivered, ""}}, .now = kNow}));
  EXPECT_EQ(keep(one), MailId{});
}

TEST_F(MailStore, a_full_disk_takes_nothing_new_and_lets_go_what_is_there) {
  test::PowerVfs vfs(test::PowerVfs::Unsynced::kept);
  config.vfs = vfs.name();
  config.reserve_octets = 64 << 10;
  reopen();
  ASSERT_TRUE(store->has_reserve());
  const std::vector<MailId> ids = {keep(mail_to({2})), keep(mail_to({2})), keep(mail_to({2}))};
  take();
  const auto full = [&] {
    const auto answer = accept(mail_to({3}));
    return !answer && answer.error().code == ErrorCode::queue_full;
  };
  const auto end = [&](MailId id) {
    return MailRequest{
        {7}, SaveOutcome{.id = id, .changes = {{0, SpoolState::delivered, ""}}, .now = kNow}};
  };
  vfs.set_full_beside(config.path + ".reserve");
  EXPECT_TRUE(full());
  EXPECT_TRUE(store->has_reserve());  // new mail does not get the reserve
  const auto results =
      store->execute({{{6}, AcceptMail{{mail_to({3})}, kNow, {}, {}}}, end(ids[0])});
  EXPECT_EQ(results.at(0).answer.error().code, ErrorCode::queue_full);
  EXPECT_TRUE(results.at(0).reserve_used || results.at(1).reserve_used);
  EXPECT_TRUE(results.at(1).answer);
  EXPECT_EQ(results.at(1).ticket.value, 7u);
  EXPECT_EQ(state(ids[0]), SpoolState::delivered);
  EXPECT_FALSE(store->has_reserve());
  EXPECT_TRUE(full());  // the reserve is filled first, so the disk is still full
  EXPECT_TRUE(store->change(SpoolChange::cancel, ids[1], kNow, true));
  EXPECT_TRUE(full());
  EXPECT_TRUE(store->execute({end(ids[2])}).at(0).answer);
  EXPECT_TRUE(full());
  EXPECT_TRUE(ask(PurgeMail{{kNow.value + config.keep_finished_s + 1}}));
  EXPECT_TRUE(store->list(10)->empty());
  vfs.set_full_beside("");
  EXPECT_FALSE(full());
  EXPECT_TRUE(store->has_reserve());
  store.reset();
}

TEST_F(MailStore, a_disk_without_room_for_the_reserve_takes_nothing_new) {
  config.reserve_octets = std::uint64_t{1} << 60;
  reopen();
  EXPECT_FALSE(store->has_reserve());
  EXPECT_EQ(accept(mail_to({2})).error().code, ErrorCode::queue_full);
  EXPECT_TRUE(take().empty());
}

TEST_F(MailStore, the_operator_sees_what_waits_and_what_is_over_only_when_asked_for) {
  const MailId waits = keep(mail_to({2, 3}));
  const MailId over = keep(mail_to({3}));
  take(kNow, 2);
  ASSERT_TRUE(
      ask(SaveOutcome{.id = over, .changes = {{0, SpoolState::delivered, ""}}, .now = kNow}));
  const auto listed = [&](const MailFilter& filter) {
    std::vector<MailId> ids;
    const auto items = store->list(filter, 10);
    for (const MailItem& item : *items) ids.push_back(item.id);
    return ids;
  };
  using Ids = std::vector<MailId>;
  EXPECT_EQ(listed({}), Ids{waits});
  EXPECT_EQ(listed({.finished = true}), (Ids{over, waits}));
  EXPECT_EQ(listed({.state = SpoolState::delivered}), Ids{over});
  EXPECT_EQ(listed({.station = NodeId{2}}), Ids{waits});
  EXPECT_EQ(listed({.station = NodeId{3}}), Ids{waits});
  EXPECT_EQ(listed({.finished = true, .station = NodeId{3}}), (Ids{over, waits}));
  EXPECT_EQ(listed({.finished = true, .from = "A@B"}), (Ids{over, waits}));
  EXPECT_EQ(listed({.finished = true, .from = "a@bc"}), Ids{});
  ASSERT_TRUE(ask(SaveOutcome{.id = waits,
                              .changes = {{0, SpoolState::delivered, ""}},
                              .next_try = UtcSeconds{kNow.value + 60},
                              .now = kNow}));
  EXPECT_EQ(listed({.station = NodeId{2}}), Ids{});
  const auto waiting = *store->waiting();
  ASSERT_EQ(waiting.size(), 1u);
  EXPECT_EQ(waiting.at({3}).mails, 1u);
  EXPECT_EQ(waiting.at({3}).octets, 100u);
  EXPECT_EQ(waiting.at({3}).next_try.value, kNow.value + 60);
}

TEST_F(MailStore, what_was_made_of_one_message_and_the_reports_on_it_belong_together) {
  NewMail one = mail_to({2}, 6, 100, "m");
  one.came = "mx [127.0.0.1]";
  NewMail other = mail_to({3}, 6, 100, "n");
  const auto both = std::get<MailKept>(*ask(AcceptMail{{one, other}, kNow, {}, {}})).ids;
  const MailId alone = keep(mail_to({2}));
  take();
  NewMail report = mail_to({0});
  report.transport = Transport::smtp;
  report.about = both[1];
  report.heard = {{5}, 9};
  ASSERT_TRUE(ask(SaveOutcome{
      .id = both[1], .changes = {{0, SpoolState::expired, ""}}, .now = kNow, .reports = {report}}));
  const MailId about{alone.value + 1};
  const std::vector<MailId> family = {both[0], both[1], about};
  EXPECT_EQ(*store->relatives(both[0]), family);
  EXPECT_EQ(*store->relatives(both[1]), family);
  EXPECT_EQ(*store->relatives(alone), std::vector<MailId>{alone});
  EXPECT_EQ(store->course(both[0])->came, "mx [127.0.0.1]");
  EXPECT_EQ(store->course(both[1])->first, both[0]);
  EXPECT_EQ(store->course(about)->about, both[1]);
  EXPECT_EQ(store->course(about)->heard, (MessageName{{5}, 9}));
  using Ids = std::vector<MailId>;
  EXPECT_EQ(store->trace("<1@b>", 2)->size(), 2u);
  EXPECT_EQ(store->trace("1@b", 9)->size(), 4u);
  EXPECT_EQ(*store->trace("R3@x", 9), Ids{both[1]});
  EXPECT_EQ(*store->trace("r3@", 9), Ids{});
  const auto again = std::get<MailKept>(*ask(AcceptMail{{one}, kNow, {}, {}}));
  EXPECT_EQ(again.ids, Ids{MailId{}});
  EXPECT_EQ(again.repeat_of, both[0]);
}

}  // namespace
}  // namespace s5066::acp142
