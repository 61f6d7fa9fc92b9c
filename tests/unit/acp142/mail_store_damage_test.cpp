// SPDX-License-Identifier: Apache-2.0
// A mail gateway recovers its spool after a disk has returned other data than was written.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "gateways/common/store_thread.h"
#include "tests/unit/acp142/damaged_spool.h"
#include "tests/unit/gateways/power_vfs.h"

namespace s5066::acp142 {
namespace {

namespace fs = std::filesystem;

/// The contents of a page of the spool.
struct Page {
  bool interior = false;
  std::set<int> mails;  // of which it has a row, a recipient or the content
};

Page look_at(const std::string& page) {
  const auto has = [&](const std::string& text) { return page.find(text) != std::string::npos; };
  Page found;
  found.interior = page[0] == 2 || page[0] == 5;
  for (int i = 0; i <= kMails; ++i) {
    const std::string name(1, static_cast<char>('a' + i));
    bool any = has("label-" + name) || has("content-" + name);
    for (const char* number : {"0", "1", "2", "3", "4"}) {
      any = any || has("to-" + name + "-" + number + "@");
    }
    if (any) found.mails.insert(i);
  }
  return found;
}

TEST_F(DamagedSpool, a_sound_spool_is_left_as_it_is) {
  store.reset();
  const std::string before = octets();
  restart();
  EXPECT_FALSE(report);
  EXPECT_EQ(take(), ids);
  store.reset();
  int files = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder.path())) ++files;
  EXPECT_EQ(files, 2);  // with the list of its tables
}

/// A spool in which something is over, something under way, and something from the air.
class AnyPage : public DamagedSpool {
 protected:
  AnyPage() {
    take();
    EXPECT_TRUE(ask(SaveSubmission{ids[2], 5, 100, {{{7}, 1}}}));
    EXPECT_TRUE(finish(ids[0], SpoolState::delivered));
    EXPECT_TRUE(finish(ids[1], SpoolState::failed));
    NewMail heard = mail(kMails);
    heard.heard = {{9}, 77};
    const auto kept = ask(AcceptMail{{heard}, kNow, MessageName{{9}, 77}, kNow});
    ids.push_back(std::get<MailKept>(*kept).ids.at(0));
    store.reset();
    sound = octets();
    tables = test::read_file(config.path + ".tables");
  }
  void damage_page(std::size_t number) {
    store.reset();
    for (const auto& entry : fs::directory_iterator(folder.path())) fs::remove_all(entry);
    std::ofstream(config.path, std::ios::binary) << sound;
    write(config.path + ".tables", tables);
    damage(number * kPage);
  }
  std::string sound;
  Bytes tables;
};

TEST_F(AnyPage, a_damaged_page_costs_only_what_is_on_it_and_nothing_goes_twice) {
  std::size_t damaged = 0;
  for (std::size_t place = 0; place < sound.size() / kPage; ++place) {
    SCOPED_TRACE(place);
    const Page page = look_at(sound.substr(place * kPage, kPage));
    damage_page(place);
    const std::string before = octets();
    restart();
    if (!report) continue;  // a free page
    ++damaged;
    std::ifstream aside(report->put_aside + "/spool.db", std::ios::binary);
    ASSERT_EQ(std::string(std::istreambuf_iterator<char>(aside), {}), before);
    EXPECT_EQ(number("SELECT count(*) FROM mail WHERE label LIKE '<spool.%'"), 1u);
    const auto taken = take();
    EXPECT_EQ(std::set<MailId>(taken.begin(), taken.end()).size(), taken.size());
    for (int i = 0; i <= kMails; ++i) {
      const MailId id = ids[static_cast<std::size_t>(i)];
      const bool was_over = i < 2;
      const bool goes_on = std::find(taken.begin(), taken.end(), id) != taken.end();
      EXPECT_FALSE(was_over && goes_on) << i;
      if (was_over) continue;
      const auto item = *store->find(id);
      const bool held = item && item->state == SpoolState::held;
      EXPECT_TRUE(goes_on || held || lost(id)) << i;
      if (page.interior || page.mails.contains(i)) continue;
      EXPECT_FALSE(lost(id)) << i;
      EXPECT_TRUE(goes_on || (held && i == 2)) << i;
    }
  }
  EXPECT_GT(damaged, 30u);
}

TEST_F(DamagedSpool, rows_between_two_damaged_pages_are_found) {
  const std::uint64_t first = page_of("label-c");
  const std::uint64_t second = page_of("label-k");
  ASSERT_NE(page_of("label-f"), first);
  ASSERT_NE(page_of("label-f"), second);
  damage(first);
  damage(second);
  restart();
  const auto taken = take();
  EXPECT_NE(std::find(taken.begin(), taken.end(), ids[5]), taken.end());
  EXPECT_GE(report->lost.size(), 2u);
  for (const MailId id : but_for(taken)) EXPECT_TRUE(lost(id)) << id.value;
}

// The operator's mailbox gets the report by the same way as other mail.
TEST_F(DamagedSpool, the_operator_gets_a_report_of_what_could_not_be_saved) {
  damage("label-d");
  restart();
  const auto answer = ask(TakeDue{Transport::smtp, kNow, 100});
  ASSERT_TRUE(answer);
  const auto& items = std::get<TakenMail>(*answer).items;
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0].targets.at(0).recipient.address, "op@ship.example");
  const std::string text(items[0].content->begin(), items[0].content->end());
  EXPECT_NE(text.find("message 4 to <to-d-0@"), std::string::npos) << text;
  EXPECT_NE(text.find(report->put_aside), std::string::npos);
}

TEST_F(DamagedSpool, content_that_is_not_what_was_accepted_is_parked_and_another_copy_is_taken) {
  ASSERT_TRUE(gateways::Database::open({.path = config.path})
                  ->execute("UPDATE mail_content SET content = x'00' WHERE id = 3"));
  damage("label-k");
  restart();
  EXPECT_EQ(state(ids[2]), SpoolState::corrupt);
  EXPECT_TRUE(lost(ids[2]));
  EXPECT_NE(keep(2), MailId{});
  EXPECT_EQ(keep(3), MailId{});
}

// --- Marks ---------------------------------------------------------------------------------------

TEST_F(DamagedSpool, repeats_are_known_though_the_marks_are_damaged) {
  damage(root_of("mail_seen"));
  restart();
  for (int i = 0; i < kMails; ++i) EXPECT_EQ(keep(i), MailId{}) << i;
  EXPECT_EQ(take(), ids);
}

TEST_F(DamagedSpool, a_repeat_from_the_air_is_known_though_the_numbers_received_are_damaged) {
  NewMail heard = mail(kMails);
  heard.heard = {{9}, 77};
  const AcceptMail accept{{heard}, kNow, MessageName{{9}, 77}, kNow};
  ASSERT_TRUE(ask(accept));
  damage(root_of("mail_received"));
  restart();
  const auto again = ask(accept);
  ASSERT_TRUE(again);
  EXPECT_EQ(std::get<MailKept>(*again).repeat, MailKept::Repeat::same);
}

TEST_F(DamagedSpool, what_the_mail_server_may_have_is_held) {
  NewMail own = mail(kMails);
  own.transport = Transport::smtp;
  const MailId id = std::get<MailKept>(*ask(AcceptMail{{own}, kNow, {}, {}})).ids.at(0);
  ASSERT_TRUE(ask(TakeDue{Transport::smtp, kNow, 1}));
  damage("label-d");
  restart();
  EXPECT_EQ(state(id), SpoolState::held);
  EXPECT_TRUE(says(report->held, "message 13 "));
  EXPECT_TRUE(store->change(SpoolChange::release, id, kNow));
}

TEST_F(DamagedSpool, what_was_begun_by_air_is_held_where_its_form_is_lost) {
  EXPECT_EQ(take().size(), ids.size());
  ASSERT_TRUE(ask(SaveSubmission{ids[3], 77, 500, {{{7}, 9}}}));
  damage(root_of("mail_submitted"));
  restart();
  EXPECT_EQ(state(ids[3]), SpoolState::held);
  EXPECT_EQ(take(), but_for({ids[3]}));
}

TEST_F(DamagedSpool, what_was_begun_by_air_goes_on_under_its_number) {
  EXPECT_EQ(take().size(), ids.size());
  ASSERT_TRUE(ask(SaveSubmission{ids[3], 77, 500, {{{7}, 9}}}));
  damage("label-k");
  restart();
  const auto answer = ask(TakeDue{Transport::air, kNow, 100});
  for (const MailItem& item : std::get<TakenMail>(*answer).items) {
    EXPECT_EQ(item.message_id, item.id == ids[3] ? 77u : 0u);
  }
}

TEST_F(DamagedSpool, a_station_that_may_be_in_emcon_is_silent) {
  ASSERT_TRUE(store->set_silence({7}, true));
  damage(root_of("mail_emcon"));
  restart();
  EXPECT_EQ(store->silences()->at({0}), true);
  EXPECT_TRUE(says(report->held, "EMCON"));
}

TEST_F(DamagedSpool, numbers_are_not_given_twice) {
  ASSERT_TRUE(store->change(SpoolChange::cancel, ids[11], kNow));
  ASSERT_TRUE(ask(SaveSubmission{ids[0], 2'000'000, 100, {}}));
  for (const char* table : {"sqlite_sequence", "mail_counter"}) damage(root_of(table));
  restart();
  EXPECT_GT(keep(kMails), ids[11]);
  const auto resumed = ask(Resume{kNow});
  EXPECT_GE(std::get<Resumed>(*resumed).last_message_id, 2'000'000u);
}

// --- The file ------------------------------------------------------------------------------------

TEST_F(DamagedSpool, what_is_no_database_at_all_is_put_aside_for_an_empty_one) {
  store.reset();
  std::ofstream(config.path, std::ios::binary) << std::string(10'000, 'x');
  restart();
  ASSERT_TRUE(report);
  EXPECT_EQ(fs::file_size(report->put_aside + "/spool.db"), 10'000u);
  EXPECT_TRUE(take().empty());
  EXPECT_TRUE(store->list(9)->size() == 1);  // the report
}

TEST_F(DamagedSpool, without_its_first_page_a_spool_is_read_by_the_list_of_its_tables) {
  wipe_first_page();
  restart();
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->lost.empty());
  EXPECT_EQ(take(), ids);
}

TEST_F(DamagedSpool, without_its_first_page_a_spool_is_read_with_its_wal) {
  cut_power_after_another();
  wipe_first_page();
  restart();
  EXPECT_TRUE(lost(ids[3]));
  const auto taken = take();
  EXPECT_NE(std::find(taken.begin(), taken.end(), ids.back()), taken.end());
}

// --- Copies of the spool -------------------------------------------------------------------------

TEST_F(DamagedSpool, content_comes_from_the_last_copy_of_the_spool_if_its_hash_is_right) {
  back_up();
  ASSERT_TRUE(gateways::Database::open({.path = config.path})
                  ->execute("UPDATE mail_content SET content = x'00' WHERE id = 3"));
  ASSERT_TRUE(gateways::Database::open(
                  {.path = gateways::newest_sound_copy(backups, gateways::newest_schema())})
                  ->execute("UPDATE mail_content SET content = x'00' WHERE id = 5"));
  ASSERT_TRUE(gateways::Database::open({.path = config.path})
                  ->execute("UPDATE mail_content SET content = x'01' WHERE id = 5"));
  damage(root_of("mail_seen"));
  restart();
  EXPECT_FALSE(report->backup.empty());
  EXPECT_FALSE(lost(ids[2]));
  EXPECT_TRUE(lost(ids[4]));
  EXPECT_EQ(take(), but_for({ids[4]}));
}

TEST_F(DamagedSpool, a_lost_message_is_held_as_it_was_in_the_last_copy_of_the_spool) {
  ASSERT_EQ(take().size(), ids.size());
  EXPECT_TRUE(finish(ids[0], SpoolState::delivered));
  back_up();
  EXPECT_TRUE(finish(ids[3], SpoolState::delivered));
  ASSERT_TRUE(store->change(SpoolChange::hold, ids[5], kNow, true));
  ASSERT_TRUE(store->change(SpoolChange::cancel, ids[5], kNow));
  for (const char* table : {"mail", "mail_target"}) damage(root_of(table));
  restart();
  EXPECT_TRUE(take().empty());
  for (std::size_t i = 1; i < ids.size(); ++i) {
    const auto item = *store->find(ids[i]);
    ASSERT_TRUE(item) << i;
    EXPECT_EQ(item->state, SpoolState::held) << i;
    EXPECT_TRUE(says(report->held, "message " + std::to_string(ids[i].value) + " ")) << i;
  }
  EXPECT_FALSE(*store->find(ids[0]));
  EXPECT_TRUE(store->change(SpoolChange::release, ids[7], kNow));
  EXPECT_EQ(take(), std::vector<MailId>{ids[7]});
}

TEST_F(DamagedSpool, a_message_that_was_deleted_does_not_come_back_from_a_copy_of_the_spool) {
  back_up();
  ASSERT_TRUE(store->change(SpoolChange::cancel, ids[5], kNow));
  damage(root_of("mail_seen"));
  restart();
  EXPECT_FALSE(*store->find(ids[5]));
  EXPECT_EQ(take(), but_for({ids[5]}));
}

TEST_F(DamagedSpool, a_damaged_copy_of_the_spool_is_not_used) {
  back_up();
  const std::string copy = gateways::newest_sound_copy(backups, gateways::newest_schema());
  std::fstream(copy, std::ios::in | std::ios::out | std::ios::binary) << std::string(kPage, 'x');
  damage("label-d");
  restart();
  EXPECT_TRUE(report->backup.empty());
  EXPECT_TRUE(lost(ids[3]));
}

// --- More of the file ----------------------------------------------------------------------------

TEST_F(DamagedSpool, a_second_damage_is_another_spool_that_is_put_aside) {
  damage("label-d");
  restart();
  const std::string first = report->put_aside;
  damage("label-k");
  restart();
  EXPECT_NE(report->put_aside, first);
  EXPECT_TRUE(fs::exists(first + "/spool.db"));
  EXPECT_TRUE(fs::exists(report->put_aside + "/report.txt"));
}

TEST_F(DamagedSpool, what_is_only_in_the_wal_is_saved) {
  cut_power_after_another();
  restart();
  EXPECT_TRUE(lost(ids[3]));
  const auto taken = take();
  EXPECT_NE(std::find(taken.begin(), taken.end(), ids.back()), taken.end());
}

TEST_F(DamagedSpool, a_spool_of_an_older_gateway_is_recovered) {
  store.reset();
  for (const char* sql :
       {"DROP TABLE outgoing_priority", "DROP TABLE outgoing_try", "PRAGMA user_version = 11"}) {
    ASSERT_TRUE(gateways::Database::open({.path = config.path})->execute(sql)) << sql;
  }
  damage("label-d");
  restart();
  EXPECT_EQ(take().size() + report->lost.size(), ids.size());
}

TEST_F(DamagedSpool, a_spool_of_a_newer_gateway_is_left_alone) {
  store.reset();
  ASSERT_TRUE(
      gateways::Database::open({.path = config.path})->execute("PRAGMA user_version = 10000"));
  damage("label-d");
  const auto refused = recover();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
}

TEST_F(DamagedSpool, who_has_the_old_spool_open_cannot_write_into_it) {
  damage("label-d");
  auto other = SqliteMailStore::open(config);
  ASSERT_TRUE(other);
  restart();
  std::vector<MailRequest> one{{{1}, AcceptMail{{mail(kMails)}, kNow, {}, {}}}};
  EXPECT_FALSE(other->execute(one)[0].answer);
  EXPECT_FALSE(other->damage());
}

// --- At run time ---------------------------------------------------------------------------------

TEST_F(DamagedSpool, damage_at_run_time_ends_the_use_of_the_spool) {
  damage("label-d");
  reopen();
  EXPECT_FALSE(store->damage());
  std::vector<MailResult> posted;
  std::vector<Error> damages;
  {
    gateways::StoreThread<SqliteMailStore> thread(
        *std::move(store), 10,
        [&](std::vector<MailResult> results) { posted = std::move(results); },
        [&](const Error& damage) { damages.push_back(damage); });
    MailRequest request{{1}, TakeDue{Transport::air, kNow, 100}};
    ASSERT_TRUE(thread.request(request));
  }
  EXPECT_TRUE(posted.empty());
  ASSERT_EQ(damages.size(), 1u);
  EXPECT_EQ(damages[0].code, ErrorCode::bad_checksum);
  restart();
  for (const MailId id : but_for(take())) EXPECT_TRUE(lost(id)) << id.value;
}

TEST_F(DamagedSpool, a_disk_that_is_well_again_has_cost_no_message) {
  const std::uint64_t page = page_of("label-d");
  test::PowerVfs vfs(test::PowerVfs::Unsynced::kept);
  config.vfs = vfs.name();
  reopen();
  vfs.set_bad(page, kPage);
  EXPECT_FALSE(ask(TakeDue{Transport::air, kNow, 100}));
  EXPECT_FALSE(store->damage());
  vfs.set_bad(0, 0);
  EXPECT_EQ(take(), ids);
  store.reset();
}

// The service manager starts the gateway again and again meanwhile.
TEST_F(DamagedSpool, a_disk_that_does_not_read_is_waited_for_and_then_costs_what_is_there) {
  const std::uint64_t page = page_of("label-d");
  test::PowerVfs vfs(test::PowerVfs::Unsynced::kept);
  config.vfs = vfs.name();
  vfs.set_bad(page, kPage);
  EXPECT_EQ(recover().error().code, ErrorCode::io);
  clock.value += 599;
  EXPECT_EQ(recover().error().code, ErrorCode::io);
  clock.value += 1;
  fs::remove(config.path + ".tables");  // its reading does not go by way of this disk
  vfs.set_bad(kPage, UINT64_MAX / 2);
  EXPECT_EQ(recover().error().code, ErrorCode::io);  // it gives nothing back at all
  vfs.set_bad(page, kPage);
  auto found = recover();
  ASSERT_TRUE(found && *found);
  report = *std::move(found);
  vfs.set_bad(0, 0);
  reopen();
  const auto taken = take();
  EXPECT_FALSE(taken.empty());
  for (const MailId id : but_for(taken)) EXPECT_TRUE(lost(id)) << id.value;
  store.reset();
}

TEST(SpoolHealth, what_makes_no_sense_is_damage_and_what_is_not_read_only_if_that_lasts) {
  using std::chrono::minutes;
  using std::chrono::seconds;
  const gateways::SpoolHealth::Time start{};
  gateways::SpoolHealth damaged(minutes(10));
  damaged.note(SQLITE_BUSY, "busy", start);
  EXPECT_FALSE(damaged.damage());
  damaged.note(SQLITE_CORRUPT, "page", start);
  EXPECT_TRUE(damaged.damage());
  gateways::SpoolHealth unread(minutes(10));
  const auto fail = [&](seconds at) { unread.note(SQLITE_IOERR_READ, "read", start + at); };
  fail(seconds(0));
  fail(minutes(5));
  fail(seconds(599));
  EXPECT_FALSE(unread.damage());
  fail(minutes(15));  // the first again, after more than five minutes
  fail(minutes(20));
  EXPECT_FALSE(unread.damage());
  fail(minutes(25));
  EXPECT_TRUE(unread.damage());
}

// --- Operators meanwhile -------------------------------------------------------------------------

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
    ASSERT_TRUE(of_operators->change(SpoolChange::retry, id, kNow));
  }
  EXPECT_EQ(std::get<MailKept>(*ask(AcceptMail{{mail(1)}, kMuchLater, {}, {}})).ids.size(), 1u);
  EXPECT_FALSE(ask(AcceptMail{{mail(2)}, kMuchLater, {}, {}}));
}

// The trigger is the operator, between two commits of the purge.
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

// --- A power cut meanwhile -----------------------------------------------------------------------

class RecoveryPowerCut : public DamagedSpool,
                         public testing::WithParamInterface<test::PowerVfs::Unsynced> {};

TEST_P(RecoveryPowerCut, at_no_change_to_any_file_loses_or_repeats_a_message) {
  EXPECT_TRUE(finish(ids[5], SpoolState::delivered));
  cut_power_after_another();
  const Bytes damaged = test::read_file(config.path);
  const auto lay_out = [&] {
    store.reset();
    for (const auto& entry : fs::directory_iterator(folder.path())) fs::remove_all(entry);
    write(config.path, damaged);
    write(config.path + "-wal", wal);
  };
  std::vector<MailId> expected;
  std::uint64_t cuts = 0;
  for (std::uint64_t change = 0;; ++change) {
    SCOPED_TRACE(change);
    lay_out();
    if (change > 0) {
      test::PowerVfs vfs(GetParam());
      vfs.cut_at(change);
      config.vfs = vfs.name();
      hook = [&](gateways::SpoolRecovery::Step step, const std::string& from,
                 const std::string& to) {
        if (vfs.spend()) return false;
        if (step == gateways::SpoolRecovery::Step::move) vfs.rename(from, to);
        return true;
      };
      const auto cut = recover();
      hook = {};
      config.vfs = nullptr;
      if (!vfs.dead()) {
        EXPECT_TRUE(cut);
        break;
      }
      vfs.restore();
      ++cuts;
    }
    restart();
    const auto taken = take();
    if (change == 0) expected = taken;
    ASSERT_EQ(taken, expected);
    std::size_t aside = 0;
    for (const auto& entry : fs::directory_iterator(folder.path())) {
      const std::string name = entry.path().filename().string();
      for (const char* part : {".recover", ".report", ".reading"}) {
        EXPECT_EQ(name.find(part), std::string::npos) << name;
      }
      if (name.find(".damaged-") == std::string::npos) continue;
      ++aside;
      EXPECT_EQ(test::read_file(entry.path() / "spool.db"), damaged);
      EXPECT_GT(fs::file_size(entry.path() / "report.txt"), 0u);
      EXPECT_EQ(test::read_file(entry.path() / "spool.db-wal"), wal);
    }
    ASSERT_EQ(aside, 1u);
    const auto reports = ask(TakeDue{Transport::smtp, kNow, 100});
    ASSERT_EQ(std::get<TakenMail>(*reports).items.size(), 1u);
  }
  EXPECT_GE(expected.size(), 8u);
  EXPECT_GT(cuts, 30u);
}

INSTANTIATE_TEST_SUITE_P(Disks, RecoveryPowerCut,
                         testing::Values(test::PowerVfs::Unsynced::lost,
                                         test::PowerVfs::Unsynced::kept,
                                         test::PowerVfs::Unsynced::torn));

}  // namespace
}  // namespace s5066::acp142
