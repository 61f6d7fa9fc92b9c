// SPDX-License-Identifier: Apache-2.0
// The spool is on a disk that returns other data than was written to it, or none.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "tests/unit/acp142/damaged_spool.h"
#include "tests/unit/gateways/power_vfs.h"

namespace s5066::acp142 {
namespace {

TEST_F(DamagedSpool, a_damaged_page_of_recipients_or_contents_costs_the_messages_on_it_only) {
  for (const char* text : {"to-d-0@", "content-h"}) {
    SCOPED_TRACE(text);
    damage(text);
    parked.clear();
    const auto before = corrupt();
    const auto results =
        execute({AcceptMail{{mail(kMails + static_cast<int>(ids.size()))}, kNow, {}, {}},
                 TakeDue{Transport::air, kNow, 100}});
    ASSERT_TRUE(results[0].answer);  // although the first transaction had no effect
    ids.push_back(std::get<MailKept>(*results[0].answer).ids.at(0));
    ASSERT_TRUE(results[1].answer);
    EXPECT_GE(parked.size(), 1u);
    EXPECT_LT(parked.size(), 6u);
    EXPECT_EQ(std::get<TakenMail>(*results[1].answer).items.size(),
              ids.size() - before.size() - parked.size());
    EXPECT_EQ(corrupt().size(), before.size() + parked.size());
    EXPECT_TRUE(take().empty());
    ASSERT_TRUE(ask(Resume{kNow}));
  }
}

// The damaged page also holds the states, so the spool cannot even record that the messages are
// parked.
TEST_F(DamagedSpool, a_damaged_page_of_messages_costs_those_on_it_only) {
  damage("label-d");
  const auto damaged = corrupt();
  EXPECT_GE(damaged.size(), 2u);
  EXPECT_LT(damaged.size(), 6u);
  EXPECT_EQ(take(), but_for(damaged));
  EXPECT_EQ(parked, damaged);
  EXPECT_TRUE(take().empty());
  EXPECT_EQ(parked, damaged);  // each only once
  reopen();
  parked.clear();
  ASSERT_TRUE(ask(Resume{kNow}));
  EXPECT_EQ(take(), but_for(damaged));
  EXPECT_EQ(parked, damaged);
}

TEST_F(DamagedSpool, after_a_start_what_was_under_way_goes_on_but_for_what_is_damaged) {
  EXPECT_EQ(take().size(), ids.size());
  damage("label-d");
  ASSERT_TRUE(ask(Resume{kNow}));
  EXPECT_GE(parked.size(), 2u);
  EXPECT_EQ(take(), but_for(parked));
}

// The state of such a message is on the page that the disk does not read, so it cannot be parked
// either.
TEST_F(DamagedSpool, after_a_start_what_the_disk_cannot_read_costs_no_time_and_is_not_left_behind) {
  EXPECT_EQ(take().size(), ids.size());
  const std::uint64_t page = page_of("label-d");
  test::PowerVfs vfs(test::PowerVfs::Unsynced::kept);
  config.vfs = vfs.name();
  reopen();
  vfs.set_bad(page, kPage);
  const auto bad = corrupt();
  ASSERT_GE(bad.size(), 2u);
  ASSERT_TRUE(ask(Resume{kNow}));  // the answer comes at once
  EXPECT_EQ(passed_over, bad);
  EXPECT_EQ(take(), but_for(bad));
  for (std::int64_t waited = 0; waited < 3 * 3600; waited += 10) {
    EXPECT_TRUE(take({kNow.value + waited}).empty());
  }
  EXPECT_TRUE(parked.empty());
  EXPECT_GE(passed_over.size(), 8 * bad.size());
  EXPECT_LT(passed_over.size(), 30 * bad.size());
  vfs.set_bad(0, 0);
  const UtcSeconds well{kNow.value + 3 * 3600 + 600};
  EXPECT_EQ(take(well), bad);
  EXPECT_TRUE(take({well.value + 3600}).empty());  // the gateway that took it has it
  store.reset();
}

// The message is not at fault, so nothing says when it can be parked.
TEST_F(DamagedSpool, after_a_start_what_only_an_index_keeps_back_goes_on_when_that_is_well) {
  EXPECT_EQ(take().size(), ids.size());
  const std::uint64_t index = root_of("mail_due");
  store.reset();
  test::PowerVfs vfs(test::PowerVfs::Unsynced::kept);
  config.vfs = vfs.name();
  reopen();
  vfs.set_bad(index, kPage);
  for (std::int64_t waited = 0; waited < 3 * 3600; waited += 600) {
    EXPECT_TRUE(ask(Resume{{kNow.value + waited}}));
  }
  EXPECT_TRUE(parked.empty());
  EXPECT_EQ(passed_over.size(), 18 * ids.size());
  vfs.set_bad(0, 0);
  EXPECT_EQ(take({kNow.value + 3 * 3600 + 600}), ids);
  store.reset();
}

// An older gateway has left the spool without the index by expiry.
TEST_F(DamagedSpool, a_damaged_page_keeps_no_gateway_from_a_spool_that_wants_an_index) {
  const std::uint64_t page = page_of("label-d");
  for (const char* sql :
       {"DROP INDEX mail_expiry", "DROP TABLE mail_mark", "DROP TABLE mail_submitted",
        "ALTER TABLE mail_received DROP COLUMN sha256", "PRAGMA user_version = 5"}) {
    ASSERT_TRUE(gateways::Database::open({.path = config.path})->execute(sql)) << sql;
  }
  damage(page);
  EXPECT_FALSE(store->missing_index().empty());
  EXPECT_TRUE(passed_over.empty());
  const UtcSeconds late{kNow.value + 100'000};
  EXPECT_TRUE(std::get<TakenMail>(*ask(TakeDue{Transport::air, {late.value - 1}, 100, true}))
                  .items.empty());
  EXPECT_GE(parked.size(), 2u);
  const auto answer = ask(TakeDue{Transport::air, late, 100, true});
  ASSERT_TRUE(answer);
  EXPECT_EQ(std::get<TakenMail>(*answer).items.size(), but_for(parked).size());
}

TEST_F(DamagedSpool, an_index_that_is_missing_is_made_where_it_can_be) {
  store.reset();
  ASSERT_TRUE(gateways::Database::open({.path = config.path})->execute("DROP INDEX mail_expiry"));
  reopen();
  EXPECT_EQ(store->missing_index(), "");
  EXPECT_EQ(number("SELECT count(*) FROM sqlite_schema WHERE name = 'mail_expiry'"), 1u);
}

TEST_F(DamagedSpool, a_spool_that_cannot_be_opened_says_what_to_do) {
  const std::uint64_t page = root_of("mail_open");
  damage("label-k");
  store.reset();
  std::fstream(config.path, std::ios::in | std::ios::out | std::ios::binary)
      .seekp(static_cast<std::streamoff>(page))
      .put('\xff');
  const auto opened = SqliteMailStore::open(config);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().detail.find(config.path), std::string::npos);
  EXPECT_NE(opened.error().detail.find("docs/operate/maintenance.md"), std::string::npos);
}

// PM-132
TEST_F(DamagedSpool, in_emcon_what_is_too_late_is_found_behind_what_is_damaged) {
  damage("label-a");
  const auto answer = ask(TakeDue{Transport::air, {kNow.value + 100'000}, 100, true});
  ASSERT_TRUE(answer);
  EXPECT_EQ(std::get<TakenMail>(*answer).items.size(), but_for(parked).size());
  EXPECT_GE(parked.size(), 2u);
}

TEST_F(DamagedSpool, who_is_told_that_his_message_is_late_is_told_behind_what_is_damaged) {
  damage("to-a-0@");
  const auto answer = ask(TakeDelayed{kNow, 100});
  ASSERT_TRUE(answer);
  EXPECT_GE(passed_over.size(), 1u);
  EXPECT_EQ(std::get<TakenMail>(*answer).items.size(), but_for(passed_over).size());
  EXPECT_TRUE(corrupt().empty());  // only taking it parks it
}

// The sender gets the report all the same.
TEST_F(DamagedSpool, an_end_that_cannot_be_saved_parks_the_message_and_is_not_asked_for_ever) {
  EXPECT_EQ(take().size(), ids.size());
  damage("to-d-0@");
  NewMail report = mail(kMails);
  report.transport = Transport::smtp;
  const auto results = execute({SaveOutcome{.id = ids[3],
                                            .changes = {{0, SpoolState::expired, "late"}},
                                            .next_try = kNow,
                                            .now = kNow,
                                            .reports = {report}},
                                SaveStation{{{7}, 0, 1, kNow, "late"}}});
  for (const auto& result : results) EXPECT_TRUE(result.answer);
  EXPECT_EQ(parked, std::vector<MailId>{ids[3]});
  ids.push_back({kMails + 1});
  EXPECT_EQ(corrupt(), std::vector<MailId>{ids[3]});
  EXPECT_EQ(store->stations()->size(), 1u);
  EXPECT_EQ(std::get<TakenMail>(*ask(TakeDue{Transport::smtp, kNow, 9})).items.size(), 1u);
  const auto submission = ask(SaveSubmission{ids[3], 5, 100, {}});
  ASSERT_FALSE(submission);
  EXPECT_EQ(submission.error().code, ErrorCode::refused);
}

// If the messages were parked, they would wait one by one for an operator, who would requeue
// delivered ones.
TEST_F(DamagedSpool, a_damaged_page_of_all_messages_parks_none_and_lets_nothing_more_begin) {
  EXPECT_EQ(take().size(), ids.size());
  const std::uint64_t index = root_of("mail_due");
  damage("label-k");  // keeps the index from being made anew
  const auto unreadable = corrupt();
  damage(index);
  for (int i = 0; i < 3; ++i) {
    const auto saved = finish(ids[3], SpoolState::delivered);
    ASSERT_FALSE(saved);
    EXPECT_EQ(saved.error().code, ErrorCode::bad_checksum);
  }
  EXPECT_TRUE(parked.empty());
  EXPECT_TRUE(mended.empty());
  EXPECT_EQ(corrupt(), unreadable);
  EXPECT_FALSE(ask(TakeDue{Transport::air, kNow, 100}));
  const auto refused = ask(AcceptMail{{mail(kMails)}, kNow, {}, {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::io);  // refused before anything is tried
  EXPECT_FALSE(store->change(OperatorVerb::requeue, ids[3], kNow));
}

TEST_F(DamagedSpool, a_damaged_counter_keeps_mail_from_the_air_and_no_other) {
  NewMail for_us = mail(kMails);
  for_us.transport = Transport::smtp;
  const MailId own = std::get<MailKept>(*ask(AcceptMail{{for_us}, kNow, {}, {}})).ids.at(0);
  EXPECT_EQ(take().size(), ids.size());
  damage(root_of("mail_counter"));
  for (const MailId id : ids) EXPECT_FALSE(ask(SaveSubmission{id, 5, 100, {}}));
  EXPECT_TRUE(parked.empty());
  EXPECT_FALSE(ask(TakeDue{Transport::air, kNow, 100}));
  EXPECT_FALSE(ask(AcceptMail{{mail(kMails + 1)}, kNow, {}, {}}));
  const auto taken = ask(TakeDue{Transport::smtp, kNow, 100});
  ASSERT_TRUE(taken);
  EXPECT_EQ(std::get<TakenMail>(*taken).items.size(), 1u);
  EXPECT_TRUE(finish(own, SpoolState::delivered));
}

TEST_F(DamagedSpool, a_gateway_starts_whatever_is_damaged_beside_the_messages) {
  for (const char* table : {"mail_received", "mail_station", "mail_counter"}) {
    damage(root_of(table));
    int tries = 1;
    while (!ask(Resume{kNow}) && tries <= 3) ++tries;  // each try leaves out one table more
    EXPECT_TRUE(ask(Resume{kNow})) << table;
    EXPECT_EQ(take().size(), ids.size()) << table;
  }
}

// A message can be taken, sent and kept without any of this data.
TEST_F(DamagedSpool, what_is_damaged_beside_the_messages_stops_none) {
  for (const char* table : {"mail_station", "mail_submitted", "mail_mark"}) {
    SCOPED_TRACE(table);
    NewMail one = mail(0);
    for (std::uint32_t i = 0; i < 5; ++i) {
      one.targets[i].station = {i + 1};
      one.targets[i].mark += table;
    }
    const MailId id = std::get<MailKept>(*ask(AcceptMail{{one}, kNow, {}, {}})).ids.at(0);
    EXPECT_FALSE(take().empty());
    for (NewTarget& target : one.targets) target.mark += "again";
    const auto unwanted = ask(AcceptMail{{one}, kNow, {}, {}});
    ASSERT_TRUE(ask(SaveSubmission{id, 77, 500, {{{1}, 9}, {{2}, 9}}}));
    ASSERT_TRUE(ask(SaveOutcome{.id = id, .changes = {}, .next_try = kNow, .now = kNow}));
    damage(root_of(table));
    EXPECT_TRUE(store->change(OperatorVerb::remove, std::get<MailKept>(*unwanted).ids[0], kNow));
    EXPECT_EQ(take(), std::vector<MailId>{id});
    const auto counted = (*store->find(id))->message_id;
    EXPECT_TRUE(ask(SaveSubmission{id, counted + 1, 500, {{{1}, 10}, {{3}, 10}}}));
    EXPECT_TRUE(ask(SaveStation{{{1}, 0, 3, kNow, "why"}}));
    for (NewTarget& target : one.targets) target.mark += "and again";
    EXPECT_TRUE(ask(AcceptMail{{one}, kNow, {}, {}}));
    take();
    EXPECT_TRUE(finish(id, SpoolState::failed));
    EXPECT_TRUE(ask(PurgeMail{kMuchLater}));
    EXPECT_TRUE(ask(PurgeMail{kMuchLater}));
    EXPECT_FALSE(*store->find(id));
  }
  EXPECT_TRUE(parked.empty());
  EXPECT_TRUE(passed_over.empty());
}

TEST_F(DamagedSpool, what_is_over_goes_though_what_is_known_beside_it_is_damaged) {
  EXPECT_EQ(take().size(), ids.size());
  for (const MailId id : ids) {
    ASSERT_TRUE(ask(SaveSubmission{id, 77, 500, {}}));
    ASSERT_TRUE(finish(id, SpoolState::failed));
  }
  damage(root_of("mail_submitted"));
  ASSERT_TRUE(ask(PurgeMail{kMuchLater}));
  EXPECT_TRUE(passed_over.empty());
  EXPECT_TRUE(store->list(100)->empty());
}

// A station that has blocks of one form under a number must not get blocks of another form.
TEST_F(DamagedSpool, a_form_that_cannot_be_read_is_taken_for_another) {
  NewMail one = mail(kMails);
  for (std::uint32_t i = 0; i < 5; ++i) one.targets[i].station = {i + 1};
  const MailId id = std::get<MailKept>(*ask(AcceptMail{{one}, kNow, {}, {}})).ids.at(0);
  take();
  ASSERT_TRUE(ask(SaveSubmission{id, 77, 500, {{{1}, 9}}}));
  for (const bool damaged : {false, true}) {
    ASSERT_TRUE(ask(SaveOutcome{.id = id, .changes = {}, .next_try = kNow, .now = kNow}));
    if (damaged) damage(root_of("mail_submitted"));
    const auto answer = ask(TakeDue{Transport::air, kNow, 100});
    ASSERT_TRUE(answer);
    const auto& items = std::get<TakenMail>(*answer).items;
    ASSERT_EQ(items.size(), 1u);
    EXPECT_EQ(items[0].message_id, damaged ? 0u : 77u);
    EXPECT_EQ(items[0].targets[0].sequence, damaged ? 0u : 9u);
  }
}

// Goal:   a delivered message is not parked, because an operator would send it again.
// Method: the page of the content is damaged after the message has been sent.
TEST_F(DamagedSpool, what_was_delivered_is_so_though_its_content_is_damaged) {
  NewMail large = mail(kMails);
  large.content = std::make_shared<const Bytes>(20'000, std::uint8_t{7});
  const MailId id = std::get<MailKept>(*ask(AcceptMail{{large}, kNow, {}, {}})).ids.at(0);
  EXPECT_EQ(take().size(), ids.size() + 1);
  damage(std::string(500, '\7'));
  EXPECT_TRUE(finish(id, SpoolState::delivered));
  EXPECT_TRUE(parked.empty());
  const auto found = store->find(id);
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->state, SpoolState::delivered);
}

TEST_F(DamagedSpool, what_was_delivered_is_so_though_nothing_can_be_deleted) {
  NewMail large = mail(kMails);
  large.content = std::make_shared<const Bytes>(20'000, std::uint8_t{7});
  for (int i = 0; i < 2; ++i) {
    for (NewTarget& target : large.targets) target.mark += "x";
    ids.push_back(std::get<MailKept>(*ask(AcceptMail{{large}, kNow, {}, {}})).ids.at(0));
  }
  EXPECT_EQ(take().size(), ids.size());
  ASSERT_TRUE(finish(ids[kMails], SpoolState::delivered));
  store.reset();
  ASSERT_GT(number("PRAGMA freelist_count"), 0u);
  std::ifstream file(config.path, std::ios::binary);
  file.seekg(34);
  std::uint64_t trunk = static_cast<unsigned>(file.get()) << 8;
  trunk += static_cast<unsigned>(file.get());
  damage((trunk - 1) * kPage + 4);  // the number of free pages that it knows
  const MailId last = ids[kMails + 1];
  EXPECT_TRUE(finish(last, SpoolState::delivered));
  EXPECT_TRUE(parked.empty());
  EXPECT_EQ((*store->find(last))->state, SpoolState::delivered);
  EXPECT_FALSE(store->change(OperatorVerb::requeue, last, kNow));
  EXPECT_FALSE(ask(AcceptMail{{large}, kMuchLater, {}, {}}));
}

TEST_F(DamagedSpool, a_disk_that_takes_the_end_of_an_attempt_at_last_gets_new_mail_again) {
  EXPECT_EQ(take().size(), ids.size());
  const std::uint64_t index = root_of("mail_due");
  store.reset();
  test::PowerVfs vfs(test::PowerVfs::Unsynced::kept);
  config.vfs = vfs.name();
  reopen();
  vfs.set_bad(index, kPage);
  EXPECT_FALSE(finish(ids[0], SpoolState::delivered));
  EXPECT_FALSE(ask(AcceptMail{{mail(kMails)}, kNow, {}, {}}));
  vfs.set_bad(0, 0);
  const auto refused = ask(AcceptMail{{mail(kMails)}, kNow, {}, {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::io);
  EXPECT_TRUE(finish(ids[0], SpoolState::delivered));
  EXPECT_TRUE(ask(AcceptMail{{mail(kMails)}, kNow, {}, {}}));
  EXPECT_TRUE(parked.empty());
  store.reset();
}

TEST_F(DamagedSpool, what_is_tried_several_times_is_counted_once) {
  config.open_mails_max = kMails + 1;
  EXPECT_EQ(take().size(), ids.size());
  damage("to-d-0@");
  SaveOutcome over{.id = ids[0], .changes = {}, .now = kNow};
  for (std::uint32_t i = 0; i < 5; ++i) over.changes.push_back({i, SpoolState::failed, ""});
  for (const auto& result : execute({over, TakeDelayed{kNow, 100}})) EXPECT_TRUE(result.answer);
  EXPECT_GE(passed_over.size(), 2u);
  EXPECT_TRUE(ask(over));  // it has ended already
  EXPECT_EQ(room(), 2);
}

TEST_F(DamagedSpool, what_an_operator_has_queued_anew_takes_its_room) {
  config.open_mails_max = kMails + 1;
  reopen();
  EXPECT_EQ(take().size(), ids.size());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(finish(ids[static_cast<std::size_t>(i)], SpoolState::failed));
  }
  ASSERT_TRUE(ask(AcceptMail{{mail(kMails)}, kNow, {}, {}}));
  auto of_operators = SqliteMailStore::open(config);
  ASSERT_TRUE(of_operators);
  for (int i = 0; i < 2; ++i) {
    const MailId id = ids[static_cast<std::size_t>(i)];
    ASSERT_TRUE(of_operators->change(OperatorVerb::requeue, id, kNow));
  }
  EXPECT_EQ(room(), 1);
}

TEST_F(DamagedSpool, a_request_that_cannot_be_done_does_not_take_others_with_it) {
  damage(root_of("mail_received"));
  const auto results = execute({AcceptMail{{mail(kMails)}, kNow, MessageName{{7}, 1}, kNow},
                                SaveStation{{{7}, 0, 1, kNow, "late"}},
                                PurgeMail{kMuchLater, PurgeMail::Part::marks},
                                PurgeMail{kMuchLater, PurgeMail::Part::received}});
  EXPECT_FALSE(results[0].answer);
  EXPECT_TRUE(results[1].answer);
  EXPECT_TRUE(results[2].answer);
  EXPECT_FALSE(results[3].answer);
  EXPECT_EQ(store->stations()->size(), 1u);
  EXPECT_TRUE(parked.empty());
}

TEST_F(DamagedSpool, what_is_over_for_long_is_forgotten_but_for_what_cannot_be_deleted) {
  for (int i = kMails; i < 26; ++i) ids.push_back(keep(i));
  EXPECT_EQ(take().size(), ids.size());
  for (const MailId id : ids) ASSERT_TRUE(finish(id, SpoolState::failed));
  damage("label-d");
  damage("to-t-0@");
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(ask(PurgeMail{kMuchLater}));
  EXPECT_GE(passed_over.size(), 3u);
  EXPECT_LT(passed_over.size(), 16u);  // includes neighbours of the damaged ones
  EXPECT_TRUE(parked.empty());
  const auto left = store->list(100);
  ASSERT_TRUE(left);
  EXPECT_EQ(left->size(), passed_over.size());  // each was reported once
}

TEST_F(DamagedSpool, what_is_over_for_long_is_forgotten_behind_hundreds_that_cannot_be_deleted) {
  constexpr int kMany = 300;
  for (int i = 0; i < kMany; ++i) {
    NewMail one = mail(0);
    one.targets.resize(1);
    one.targets[0].mark.clear();
    one.label = "number-" + std::to_string(i) + "-" + std::string(1000, ' ');
    ids.push_back(std::get<MailKept>(*ask(AcceptMail{{one}, kNow, {}, {}})).ids.at(0));
  }
  while (!take().empty()) continue;
  for (const MailId id : ids) ASSERT_TRUE(finish(id, SpoolState::failed));
  std::set<std::uint64_t> pages;
  for (int i = 0; i < 200; ++i) pages.insert(page_of("number-" + std::to_string(i) + "-"));
  for (const std::uint64_t page : pages) damage(page);
  ASSERT_TRUE(ask(PurgeMail{kMuchLater}));
  EXPECT_GE(passed_over.size(), 200u);
  EXPECT_LT(passed_over.size(), 212u);
  const auto left = store->list(1000);
  ASSERT_TRUE(left);
  EXPECT_EQ(left->size(), passed_over.size());
}

TEST_F(DamagedSpool, what_the_disk_did_not_give_back_is_deleted_an_hour_later_without_a_start) {
  EXPECT_EQ(take().size(), ids.size());
  for (const MailId id : ids) ASSERT_TRUE(finish(id, SpoolState::failed));
  const std::uint64_t page = page_of("label-d");
  test::PowerVfs vfs(test::PowerVfs::Unsynced::kept);
  config.vfs = vfs.name();
  reopen();
  vfs.set_bad(page, kPage);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(ask(PurgeMail{kMuchLater}));
  EXPECT_GE(passed_over.size(), 2u);
  EXPECT_LT(passed_over.size(), ids.size());
  const auto left = store->list(100);
  EXPECT_FALSE(left && left->size() > passed_over.size());  // each was reported once
  vfs.set_bad(0, 0);
  ASSERT_TRUE(ask(PurgeMail{kMuchLater}));
  EXPECT_TRUE(store->list(100)->empty());
  store.reset();
}

// The trigger plays an operator between two commits of the purge.
TEST_F(DamagedSpool, what_is_queued_again_while_old_messages_are_purged_stays) {
  EXPECT_EQ(take().size(), ids.size());
  for (const MailId id : ids) ASSERT_TRUE(finish(id, SpoolState::failed));
  const std::string requeue =
      "CREATE TRIGGER requeue AFTER DELETE ON mail WHEN old.id = " + std::to_string(ids[0].value) +
      " BEGIN UPDATE mail SET state = 'deferred', finished_utc = 0 WHERE "
      "id = " +
      std::to_string(ids[1].value) + "; END";
  ASSERT_TRUE(gateways::Database::open({.path = config.path})->execute(requeue.c_str()));
  reopen();
  ASSERT_TRUE(ask(PurgeMail{kMuchLater}));
  EXPECT_EQ(take(), std::vector<MailId>{ids[1]});
}

TEST_F(DamagedSpool, a_damaged_index_is_no_reason_to_keep_what_is_over) {
  EXPECT_EQ(take().size(), ids.size());
  for (const MailId id : ids) ASSERT_TRUE(finish(id, SpoolState::failed));
  damage(root_of("mail_due"));
  ASSERT_TRUE(ask(PurgeMail{kMuchLater}));
  EXPECT_TRUE(passed_over.empty());
  EXPECT_EQ(mended, std::vector<std::string>{"mail_due"});
  EXPECT_TRUE(store->list(100)->empty());
}

TEST_F(DamagedSpool, what_the_disk_cannot_read_for_long_is_parked_and_in_nobodys_way_before) {
  const std::uint64_t page = page_of("to-d-0@");
  test::PowerVfs vfs(test::PowerVfs::Unsynced::kept);
  config.vfs = vfs.name();
  reopen();
  vfs.set_bad(page, kPage);
  const auto taken = take();
  const std::vector<MailId> bad = passed_over;
  EXPECT_EQ(taken, but_for(bad));
  ASSERT_FALSE(bad.empty());
  std::int64_t waited = 0;
  for (; parked.empty() && waited < 100'000; waited += 10) {
    EXPECT_TRUE(take({kNow.value + waited}).empty());
    EXPECT_EQ(corrupt(), parked);
  }
  EXPECT_GE(waited, 3600);
  EXPECT_LT(waited, 2 * 3600);
  EXPECT_GE(passed_over.size(), 7 * bad.size());
  EXPECT_LT(passed_over.size(), 12 * bad.size());
  EXPECT_EQ(parked, bad);
  vfs.set_bad(0, 0);
  ASSERT_TRUE(store->change(OperatorVerb::requeue, bad[0], kNow));
  EXPECT_EQ(take(), std::vector<MailId>{bad[0]});
  store.reset();
}

TEST_F(DamagedSpool, a_disk_that_is_well_again_in_time_has_cost_no_message) {
  const std::uint64_t page = page_of("label-d");
  test::PowerVfs vfs(test::PowerVfs::Unsynced::kept);
  config.vfs = vfs.name();
  reopen();
  vfs.set_bad(page, kPage);
  const auto bad = corrupt();  // only in the list
  EXPECT_EQ(take(), but_for(bad));
  for (std::int64_t waited = 0; waited < 3600; waited += 10) take({kNow.value + waited});
  EXPECT_TRUE(parked.empty());
  vfs.set_bad(0, 0);
  EXPECT_TRUE(corrupt().empty());
  EXPECT_EQ(take({kNow.value + 3600 + 600}), bad);
  store.reset();
}

// A message is at fault, and not the disk, only if other messages can be read at the same time.
TEST_F(DamagedSpool, what_cannot_be_read_while_nothing_can_be_written_is_no_worse_than_the_rest) {
  const std::uint64_t page = page_of("to-d-0@");
  test::PowerVfs vfs(test::PowerVfs::Unsynced::kept);
  config.vfs = vfs.name();
  reopen();
  vfs.set_bad(page, kPage);
  vfs.set_full(true);
  UtcSeconds now = kNow;
  for (int i = 0; i < 1000; ++i, now.value += 30) {
    EXPECT_FALSE(ask(TakeDue{Transport::air, now, 100}));
  }
  vfs.set_bad(0, 0);
  vfs.set_full(false);
  EXPECT_EQ(take(now), ids);
  EXPECT_TRUE(parked.empty());
  EXPECT_TRUE(passed_over.empty());
  store.reset();
}

TEST_F(DamagedSpool, a_disk_that_reads_nothing_for_hours_costs_no_message) {
  test::PowerVfs vfs(test::PowerVfs::Unsynced::kept);
  config.vfs = vfs.name();
  reopen();
  vfs.set_bad(kPage, UINT64_MAX / 2);  // all except the first page, which is already known
  UtcSeconds now = kNow;
  for (int i = 0; i < 1000; ++i, now.value += 30) {
    static_cast<void>(ask(TakeDue{Transport::air, now, 100}));
  }
  EXPECT_TRUE(parked.empty());
  vfs.set_bad(0, 0);
  EXPECT_EQ(take({now.value + 600}), ids);
  store.reset();
}

}  // namespace
}  // namespace s5066::acp142
