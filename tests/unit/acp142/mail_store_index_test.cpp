// SPDX-License-Identifier: Apache-2.0
// The spool makes its indexes anew if they are damaged.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "tests/unit/acp142/damaged_spool.h"

namespace s5066::acp142 {
namespace {

// Goal:   a damaged index costs no message, because the tables hold all that it holds.
// Method: one index after another is damaged in the file. mail_open is damaged so that the spool
//         opens by it only after it has been mended.
TEST_F(DamagedSpool, a_damaged_index_is_made_anew_and_stops_nothing) {
  std::vector<std::string> damaged;
  for (const char* index : {"mail_due", "mail_open", "mail_delay", "mail_expiry"}) {
    SCOPED_TRACE(index);
    take();
    damage(root_of(index));
    damaged.emplace_back(index);
    const auto taken_before = ids.size();
    EXPECT_TRUE(finish(ids[damaged.size()], SpoolState::delivered));
    ids.push_back(keep(static_cast<int>(taken_before)));
    EXPECT_EQ(take(), std::vector<MailId>{ids.back()});
    EXPECT_EQ(mended, damaged);
  }
  const MailId unwanted = keep(kMails + 5);
  damage(root_of("mail_seen_by_age"));
  EXPECT_TRUE(store->change(OperatorVerb::remove, unwanted, kNow));
  ids.push_back(keep(kMails + 5));
  EXPECT_NE(ids.back(), MailId{});  // it is not taken for a repeat
  damage(root_of("mail_seen_by_age"));
  ids.push_back(keep(kMails + 6));
  EXPECT_TRUE(parked.empty());
  EXPECT_TRUE(passed_over.empty());
  EXPECT_EQ(number("SELECT sum(1) FROM mail INDEXED BY mail_due"), ids.size());
  EXPECT_EQ(number("SELECT sum(1) FROM mail INDEXED BY mail_open WHERE state = 'delivered'"), 4u);
  store.reset();
  auto db = gateways::Database::open({.path = config.path});
  for (const char* table : {"mail", "mail_target", "mail_content", "mail_seen"}) {
    const std::string sql = std::string("PRAGMA integrity_check(") + table + ")";
    auto checked = db->prepare(sql);
    ASSERT_TRUE(checked && checked->step());
    EXPECT_EQ(checked->text(0), "ok") << table;
  }
}

/// The index can be read but does not fit its table.
class WrongIndex : public DamagedSpool {
 protected:
  /// Runs `sql` in such a way that the index does not notice the change.
  void without(const std::string& index, const std::string& sql) {
    store.reset();
    const std::string row = "type = 'index' AND name = '" + index + "'";
    for (const std::string& step :
         {"CREATE TABLE kept AS SELECT * FROM sqlite_schema WHERE " + row,
          "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE " + row, sql,
          std::string("PRAGMA writable_schema = ON; INSERT INTO sqlite_schema SELECT * FROM kept"),
          std::string("DROP TABLE kept")}) {
      auto db = gateways::Database::open({.path = config.path});
      const auto done = db->execute(step.c_str());
      ASSERT_TRUE(done) << step << ": " << to_string(done.error());
    }
    reopen();
  }
  /// Changes one octet, so that the entry of message 4 names message 5, which has an entry of its
  /// own.
  void give_an_entry_away() {
    store.reset();
    std::fstream file(config.path, std::ios::in | std::ios::out | std::ios::binary);
    const std::string all{std::istreambuf_iterator<char>(file), {}};
    const std::string entry = std::string("airincoming\6\x0f\x42\x40", 15) + '\4';
    const auto at = all.find(entry);
    ASSERT_NE(at, std::string::npos);
    ASSERT_EQ(all.find(entry, at + 1), std::string::npos);
    file.seekp(static_cast<std::streamoff>(at + entry.size() - 1)).put('\5');
    file.close();
    reopen();
  }
  std::string only(std::size_t i) const { return " WHERE id = " + std::to_string(ids[i].value); }
};

TEST_F(WrongIndex, what_is_not_there_is_not_looked_for_for_ever) {
  without("mail_due",
          "DELETE FROM mail_mark; DELETE FROM mail_target; DELETE FROM mail_content; "
          "DELETE FROM mail" +
              only(3));
  EXPECT_EQ(take().size(), 0u);
  EXPECT_EQ(parked, but_for({ids[3]}));  // their recipients are gone as well
  EXPECT_EQ(mended, std::vector<std::string>{"mail_due"});
}

TEST_F(WrongIndex, nothing_is_taken_twice) {
  give_an_entry_away();
  auto taken = take();
  std::sort(taken.begin(), taken.end());
  EXPECT_EQ(taken, ids);
  EXPECT_EQ(mended, std::vector<std::string>{"mail_due"});
}

TEST_F(WrongIndex, nothing_is_taken_by_another_road) {
  without("mail_due", "UPDATE mail SET road = 'smtp'" + only(3));
  EXPECT_EQ(take(), but_for({ids[3]}));
  EXPECT_EQ(mended, std::vector<std::string>{"mail_due"});
  EXPECT_EQ(std::get<TakenMail>(*ask(TakeDue{Transport::smtp, kNow, 100})).items.size(), 1u);
  EXPECT_TRUE(parked.empty());
}

TEST_F(WrongIndex, what_is_missing_in_it_is_found_at_the_start_and_once_a_day) {
  const auto lose = [&](std::size_t i) {
    without("mail_due", "UPDATE mail SET state = 'deferred'" + only(i));
  };
  lose(2);
  ASSERT_TRUE(ask(Resume{kNow}));
  EXPECT_EQ(mended, std::vector<std::string>{"mail_due"});
  EXPECT_EQ(take().size(), ids.size());
  const UtcSeconds later{kNow.value + 3600};
  ASSERT_TRUE(ask(PurgeMail{later}));
  lose(4);
  ASSERT_TRUE(ask(PurgeMail{later}));  // the first one by this connection
  EXPECT_EQ(mended.size(), 2u);
  EXPECT_EQ(take(later), std::vector<MailId>{ids[4]});
}

// The index may then be the only record of where a message is.
TEST_F(WrongIndex, it_stays_where_the_table_is_what_is_damaged) {
  without("mail_due", "UPDATE mail SET state = 'eeferred'" + only(2));
  ASSERT_TRUE(ask(Resume{kNow}));
  EXPECT_TRUE(mended.empty());
  EXPECT_EQ(take(), but_for({ids[2]}));
  EXPECT_EQ(passed_over, std::vector<MailId>{ids[2]});
  EXPECT_EQ(corrupt(), std::vector<MailId>{ids[2]});  // only a list shows it
}

// Goal:   a wrong entry does not hold up any message.
// Method: the index cannot be mended, because a message is damaged, in its row or with its page.
TEST_F(WrongIndex, what_is_wrong_in_it_costs_itself_only_though_it_cannot_be_mended) {
  for (const bool page : {false, true}) {
    SCOPED_TRACE(page);
    const std::size_t stray = page ? 5 : 3;
    without("mail_due", "UPDATE mail SET state = 'deferred', road = 'smtp'" + only(stray));
    if (page) {
      damage("label-l");
    } else {
      without("mail_due", "UPDATE mail SET state = 'eeferred'" + only(11));
    }
    mended.clear();
    const std::size_t taken = take().size();
    EXPECT_GE(taken, page ? 0u : ids.size() - 2);
    EXPECT_TRUE(mended.empty());
    EXPECT_TRUE(take({kNow.value + 86400}).empty());
    const MailId more = keep(kMails + static_cast<int>(stray));
    EXPECT_EQ(take({kNow.value + 86400}), std::vector<MailId>{more});
    ids.push_back(more);
  }
}

TEST_F(WrongIndex, a_message_with_two_entries_is_taken_by_one_of_them) {
  without("mail_due", "UPDATE mail SET state = 'eeferred'" + only(11));  // it cannot be mended
  give_an_entry_away();
  auto taken = take();
  std::sort(taken.begin(), taken.end());
  EXPECT_EQ(taken, but_for({ids[3], ids[11]}));
  EXPECT_EQ(passed_over, (std::vector<MailId>{ids[4], ids[11]}));  // each was reported once
  const SaveOutcome later{
      .id = ids[4], .changes = {}, .next_try = UtcSeconds{kNow.value + 30}, .now = kNow};
  ASSERT_TRUE(ask(later));
  EXPECT_EQ(take({kNow.value + 30}), std::vector<MailId>{ids[4]});
  EXPECT_TRUE(mended.empty());
}

TEST_F(WrongIndex, a_message_with_two_entries_is_parked_once) {
  give_an_entry_away();
  store.reset();
  ASSERT_TRUE(gateways::Database::open({.path = config.path})
                  ->execute(("UPDATE mail SET reverse_path = 'junk'" + only(4)).c_str()));
  reopen();
  EXPECT_EQ(take().size(), ids.size() - 1);
  EXPECT_EQ(parked, std::vector<MailId>{ids[4]});
}

TEST_F(WrongIndex, nobody_is_told_twice_that_a_message_is_late) {
  const UtcSeconds late{kNow.value + 200};
  for (const bool sound : {true, false}) {
    SCOPED_TRACE(sound);
    const std::size_t told = sound ? 3 : 5;
    without("mail_delay", "UPDATE mail SET delay_utc = 0" + only(told));
    if (!sound) without("mail_due", "UPDATE mail SET state = 'eeferred'" + only(11));
    const auto answer = ask(TakeDelayed{late, 100});
    ASSERT_TRUE(answer);
    for (const MailItem& item : std::get<TakenMail>(*answer).items) {
      EXPECT_NE(item.id, ids[told]);
    }
    EXPECT_GE(std::get<TakenMail>(*answer).items.size(), ids.size() - 3);
    EXPECT_EQ(mended, std::vector<std::string>{"mail_delay"});
  }
}

// A column that must have a value has none. SQLite does not report that for an index.
TEST_F(WrongIndex, what_no_index_explains_is_no_reason_to_make_them_anew_every_day) {
  const std::string column = "attempts INTEGER";
  const std::string must = column + " NOT NULL DEFAULT 0";
  const auto declare = [](const std::string& from, const std::string& to) {
    return "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, '" + from +
           "', '" + to + "') WHERE name = 'mail'";
  };
  store.reset();
  for (const std::string& step :
       {declare(must, column), "UPDATE mail SET attempts = NULL" + only(3),
        declare(column, must)}) {
    auto db = gateways::Database::open({.path = config.path});
    ASSERT_TRUE(db && db->execute(step.c_str())) << step;
  }
  reopen();
  for (int day = 0; day < 6; ++day) {
    ASSERT_TRUE(ask(PurgeMail{{kNow.value + day * 86401}}));
  }
  EXPECT_EQ(mended.size(), 4u);
}

TEST_F(DamagedSpool, an_index_that_is_damaged_again_and_again_is_made_anew_once_an_hour) {
  EXPECT_EQ(take().size(), ids.size());
  const auto damage_open_spool = [&] {
    auto db = gateways::Database::open({.path = config.path});
    // Another connection writes, so that no page is known from before.
    ASSERT_TRUE(db && db->execute("UPDATE mail_counter SET message_id = message_id"));
    const std::uint64_t page = root_of("mail_due");
    ASSERT_TRUE(db->execute("PRAGMA wal_checkpoint(TRUNCATE)"));
    std::fstream(config.path, std::ios::in | std::ios::out | std::ios::binary)
        .seekp(static_cast<std::streamoff>(page))
        .put('\xff');
  };
  damage_open_spool();
  EXPECT_TRUE(finish(ids[0], SpoolState::delivered));
  EXPECT_EQ(mended.size(), 1u);
  damage_open_spool();
  EXPECT_FALSE(finish(ids[1], SpoolState::delivered, {kNow.value + 3599}));
  EXPECT_FALSE(ask(AcceptMail{{mail(kMails)}, {kNow.value + 3599}, {}, {}}));
  EXPECT_EQ(mended.size(), 1u);
  EXPECT_TRUE(finish(ids[1], SpoolState::delivered, {kNow.value + 3600}));
  EXPECT_TRUE(ask(AcceptMail{{mail(kMails)}, {kNow.value + 3600}, {}, {}}));
  EXPECT_EQ(mended, (std::vector<std::string>{"mail_due", "mail_due"}));
  EXPECT_TRUE(parked.empty());
}

}  // namespace
}  // namespace s5066::acp142
