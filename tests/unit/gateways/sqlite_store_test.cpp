// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/sqlite_store.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>

#include "gateways/common/file_name.h"
#include "gateways/common/sha256.h"
#include "gateways/common/store_thread.h"
#include "tests/unit/gateways/power_vfs.h"
#include "tests/unit/gateways/temporary_folder.h"

namespace s5066::gateways {
namespace {

constexpr Address kPeer{0x01020304};
constexpr Address kOther{0x01020305};
constexpr UtcSeconds kNow{1'000'000};
const Bytes kHello{'h', 'e', 'l', 'l', 'o'};

class SqliteStoreTest : public testing::Test {
 protected:
  SqliteStoreTest() {
    config.path = (folder.path() / "spool.db").string();
    config.inbox = folder.make("inbox");
    config.file_octets_max = 1000;
    config.open_items_max = 300;
    reopen();
  }
  void reopen() {
    store.reset();
    auto opened = SqliteStore::open(config);
    ASSERT_TRUE(opened) << to_string(opened.error());
    store.emplace(std::move(opened).value());
  }

  Result<StoreAnswer> ask(StoreOperation operation) {
    return store->execute({StoreTicket{1}, std::move(operation)}).answer;
  }
  /// Starts the first attempt and returns its U_PDU_ID.
  Result<std::uint8_t> begin(SpoolId id, UtcSeconds now = kNow) {
    const auto saved = ask(SaveItem{id, SpoolState::active, 1, now, now, ""});
    if (!saved) return saved.error();
    return std::get<Saved>(*saved).updu_id;
  }
  std::vector<SpoolItem> open_items(SpoolId after = {}) {
    return std::get<OpenItems>(*ask(ListOpen{after, 1000})).items;
  }
  Result<StoreAnswer> receive(const std::string& name, const Bytes& content,
                              std::uint8_t updu_id = 5, UtcSeconds now = kNow,
                              Address source = kPeer) {
    return ask(
        StoreFile{source, SapId{6}, updu_id, name, std::make_shared<const Bytes>(content), now});
  }
  /// Files of which the content is in the spool.
  int contents() {
    auto db = Database::open({.path = config.path});
    auto count = db->prepare("SELECT count(*) FROM outgoing_content");
    EXPECT_TRUE(count->step());
    return static_cast<int>(count->integer(0));
  }
  Result<void> sql(const char* text) {
    auto db = Database::open({.path = config.path});
    return db ? db->execute(text) : db.error();
  }

  test::TemporaryFolder folder;
  SqliteStore::Config config;
  std::optional<SqliteStore> store;
};

TEST_F(SqliteStoreTest, an_accepted_file_is_there_after_a_restart) {
  const auto id = store->enqueue({kPeer, "a.txt", kHello, kNow});
  ASSERT_TRUE(id);
  reopen();
  const auto items = open_items();
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0].id, *id);
  EXPECT_EQ(items[0].destination, kPeer);
  EXPECT_EQ(items[0].name, "a.txt");
  EXPECT_EQ(items[0].size, 5u);
  EXPECT_EQ(items[0].state, SpoolState::incoming);
  EXPECT_EQ(items[0].created, kNow);
  EXPECT_EQ(std::get<Content>(*ask(ReadContent{*id})).octets, kHello);
}

TEST_F(SqliteStoreTest, a_file_at_the_limit_is_taken_and_one_octet_more_is_not) {
  EXPECT_TRUE(store->enqueue({kPeer, "a", Bytes(1000), kNow}));
  const auto refused = store->enqueue({kPeer, "a", Bytes(1001), kNow});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::too_large);
  EXPECT_TRUE(store->enqueue({kPeer, std::string(255, 'n'), {}, kNow}));
  EXPECT_FALSE(store->enqueue({kPeer, std::string(256, 'n'), {}, kNow}));
  EXPECT_FALSE(store->enqueue({kPeer, "", {}, kNow}));
  EXPECT_FALSE(store->enqueue({Address{1, true}, "a", {}, kNow}));
}

TEST_F(SqliteStoreTest, files_under_way_to_one_station_have_ids_of_their_own) {
  std::vector<bool> used(256);
  std::vector<SpoolId> ids;
  for (int i = 0; i < 257; ++i)
    ids.push_back(*store->enqueue({kPeer, "f" + std::to_string(i), {}, kNow}));
  for (int i = 0; i < 256; ++i) {
    const auto updu_id = begin(ids[static_cast<std::size_t>(i)]);
    ASSERT_TRUE(updu_id) << i;
    EXPECT_FALSE(used[*updu_id]);
    used[*updu_id] = true;
  }
  const auto none = begin(ids[256]);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::refused);
  EXPECT_EQ((*store->find(ids[256]))->state, SpoolState::incoming);
  EXPECT_TRUE(begin(*store->enqueue({kOther, "elsewhere", {}, kNow})));
  const std::uint8_t freed = (*store->find(ids[7]))->updu_id;
  ASSERT_TRUE(ask(SaveItem{.id = ids[7], .state = SpoolState::delivered, .now = kNow}));
  EXPECT_EQ(*begin(ids[256]), freed);
}

TEST_F(SqliteStoreTest, more_files_may_wait_for_a_station_than_there_are_ids) {
  config.open_items_max = 1500;
  config.station_items_max = 1000;
  reopen();
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(store->enqueue({kPeer, "f", kHello, kNow})) << i;
  const auto refused = store->enqueue({kPeer, "f", kHello, kNow});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().detail, "1000 files for 1.2.3.4 wait to be sent, which is the limit");
  EXPECT_TRUE(store->enqueue({kOther, "f", kHello, kNow}));
}

TEST_F(SqliteStoreTest, a_file_keeps_the_priority_that_it_was_given) {
  const auto without = store->enqueue({kPeer, "a", kHello, kNow});
  const auto with = store->enqueue({kPeer, "b", kHello, kNow, 15});
  EXPECT_FALSE(store->enqueue({kPeer, "c", kHello, kNow, 16}));
  EXPECT_EQ((*store->find(*without))->priority, std::nullopt);
  EXPECT_EQ((*store->find(*with))->priority, 15);
  EXPECT_EQ(open_items()[1].priority, 15);
}

TEST_F(SqliteStoreTest, content_comes_in_pieces_that_are_checked_as_a_whole) {
  const auto id = store->enqueue({kPeer, "a", kHello, kNow});
  const auto piece = [&](std::uint64_t offset, std::size_t most) {
    return std::get<Content>(*ask(ReadContent{*id, offset, most})).octets;
  };
  EXPECT_EQ(piece(0, 2), (Bytes{'h', 'e'}));
  EXPECT_EQ(piece(2, 2), (Bytes{'l', 'l'}));
  EXPECT_EQ(piece(4, 2), (Bytes{'o'}));
  EXPECT_EQ(piece(5, 2), Bytes{});
  EXPECT_EQ(piece(6, 2), Bytes{});
  ASSERT_TRUE(sql("UPDATE outgoing_content SET content = x'68656c6c00'"));
  EXPECT_FALSE(ask(ReadContent{*id, 0, 2}));
}

TEST_F(SqliteStoreTest, the_spool_takes_its_limit_and_no_more) {
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(store->enqueue({i % 2 ? kPeer : kOther, "f", {}, kNow})) << i;
  }
  EXPECT_EQ(store->enqueue({Address{7}, "f", {}, kNow}).error().code, ErrorCode::queue_full);
}

// In both of its places the index entry of a finished file has the number of a waiting one.
TEST_F(SqliteStoreTest, what_waits_is_not_purged_because_of_a_wrong_index) {
  std::optional<SpoolId> last;
  for (int i = 0; i < 5; ++i)
    last = *store->enqueue({kPeer, "f" + std::to_string(i), kHello, kNow});
  ASSERT_EQ(last->value, 5);
  ASSERT_TRUE(ask(SaveItem{.id = {4}, .state = SpoolState::failed, .now = kNow}));
  store.reset();
  std::fstream file(config.path, std::ios::in | std::ios::out | std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  const auto at = all.find("failed\4\4");
  ASSERT_NE(at, std::string::npos);
  ASSERT_EQ(all.find("failed\4", at + 1), std::string::npos);
  file.seekp(static_cast<std::streamoff>(at + 6)).write("\5\5", 2);
  file.close();
  reopen();
  static_cast<void>(ask(Purge{{kNow.value + 10 * config.keep_finished_s}}));
  const auto waits = store->find(*last);
  ASSERT_TRUE(waits && *waits);
  EXPECT_EQ((*waits)->state, SpoolState::incoming);
}

TEST_F(SqliteStoreTest, the_same_file_gets_another_id_while_the_receiver_remembers_the_first) {
  const auto try_once = [&](UtcSeconds now, SpoolState end) -> Result<std::uint8_t> {
    const auto id = store->enqueue({kPeer, "same", kHello, now});
    EXPECT_TRUE(id);
    const auto updu_id = begin(*id, now);
    const SpoolState state = updu_id ? end : SpoolState::failed;
    EXPECT_TRUE(ask(SaveItem{.id = *id, .state = state, .attempts = 1, .now = now}));
    return updu_id;
  };
  std::vector<bool> used(256);
  for (int i = 0; i < 256; ++i) {
    const auto id = try_once(kNow, SpoolState::failed);
    ASSERT_TRUE(id && !used[*id]) << i;
    used[*id] = true;
  }
  // Any of them may be at the receiver, although none was acknowledged.
  EXPECT_EQ(try_once(kNow, SpoolState::failed).error().code, ErrorCode::refused);
  EXPECT_TRUE(begin(*store->enqueue({kPeer, "other", kHello, kNow})));
  EXPECT_TRUE(try_once({kNow.value + config.duplicate_window_s}, SpoolState::failed));
}

// Goal:   identical files are told from repeats at any number of them.
// Method: a thousand files, each repeated now and then before the next. Sender and receiver share a
//         spool.
TEST_F(SqliteStoreTest, identical_files_have_no_limit_and_repeats_are_still_known) {
  for (int i = 0; i < 1000; ++i) {
    const auto id = store->enqueue({kPeer, "same", kHello, kNow});
    ASSERT_TRUE(id) << i;
    const auto updu_id = begin(*id);
    ASSERT_TRUE(updu_id) << i;
    const auto stored = receive("same", kHello, *updu_id);
    ASSERT_TRUE(stored);
    ASSERT_FALSE(std::get<FileStored>(*stored).repeated) << i;
    if (i % 5 == 0) {
      ASSERT_TRUE(std::get<FileStored>(*receive("same", kHello, *updu_id)).repeated) << i;
    }
    ASSERT_TRUE(
        ask(SaveItem{.id = *id, .state = SpoolState::delivered, .attempts = 1, .now = kNow}));
  }
  EXPECT_EQ(test::visible_files(config.inbox).size(), 1000u);
}

TEST_F(SqliteStoreTest, an_id_is_of_a_new_file_after_128_others_from_the_station_and_not_before) {
  ASSERT_TRUE(receive("same", kHello, 5));
  for (int i = 0; i < 127; ++i) ASSERT_TRUE(receive("f" + std::to_string(i), kHello, 6));
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(receive("g", kHello, 6, kNow, kOther));
  EXPECT_TRUE(std::get<FileStored>(*receive("same", kHello, 5)).repeated);
  ASSERT_TRUE(receive("one more", kHello, 6));
  EXPECT_FALSE(std::get<FileStored>(*receive("same", kHello, 5)).repeated);
  EXPECT_TRUE(std::get<FileStored>(*receive("same", kHello, 5)).repeated);
}

TEST_F(SqliteStoreTest, a_row_passes_through_its_states_and_gives_up_its_content_when_delivered) {
  const auto id = store->enqueue({kPeer, "a", kHello, kNow});
  ASSERT_TRUE(ask(SaveItem{*id, SpoolState::active, 1, kNow, kNow, ""}));
  EXPECT_EQ(open_items()[0].state, SpoolState::active);
  EXPECT_EQ(open_items()[0].attempts, 1u);
  ASSERT_TRUE(ask(SaveItem{*id, SpoolState::deferred, 1, {kNow.value + 60}, kNow, "no answer"}));
  EXPECT_EQ(open_items()[0].next_try.value, kNow.value + 60);
  EXPECT_EQ(open_items()[0].reason, "no answer");
  EXPECT_TRUE(open_items(*id).empty());
  ASSERT_TRUE(ask(SaveItem{*id, SpoolState::delivered, 2, kNow, kNow, ""}));
  EXPECT_TRUE(open_items().empty());
  EXPECT_EQ((*store->find(*id))->state, SpoolState::delivered);
  EXPECT_FALSE(ask(ReadContent{*id}));
}

TEST_F(SqliteStoreTest, a_file_that_is_over_gives_up_its_content_at_once_and_keeps_its_row) {
  for (const SpoolState state : {SpoolState::delivered, SpoolState::failed, SpoolState::expired}) {
    SCOPED_TRACE(to_string(state));
    const auto id = store->enqueue({kPeer, "a", kHello, kNow});
    EXPECT_EQ(contents(), 1);
    ASSERT_TRUE(ask(SaveItem{*id, SpoolState::deferred, 1, kNow, kNow, "no answer"}));
    EXPECT_EQ(contents(), 1);
    ASSERT_TRUE(ask(SaveItem{*id, state, 1, kNow, kNow, "reason"}));
    EXPECT_EQ(contents(), 0);
    EXPECT_EQ((*store->find(*id))->reason, "reason");
  }
}

// Goal:   each change is taken in the states that it is for, and leaves the file in the right one.
TEST_F(SqliteStoreTest, an_operator_may_change_what_is_not_over) {
  struct Row {
    SpoolState from;
    const char* after_each_change[4];  // hold, release, retry, cancel; "" if refused
  };
  const Row rows[] = {{SpoolState::active, {"held", "", "deferred", "failed"}},
                      {SpoolState::deferred, {"held", "", "deferred", "failed"}},
                      {SpoolState::held, {"", "deferred", "deferred", "failed"}},
                      {SpoolState::corrupt, {"", "", "deferred", "failed"}},
                      {SpoolState::delivered, {"", "", "", ""}},
                      {SpoolState::failed, {"", "", "", ""}},
                      {SpoolState::expired, {"", "", "", ""}}};
  for (const Row& row : rows) {
    for (int i = 0; i < 4; ++i) {
      const auto change = static_cast<SpoolChange>(i);
      SCOPED_TRACE(testing::Message() << to_string(row.from) << " " << to_string(change));
      const auto id = *store->enqueue({kPeer, "a", kHello, kNow});
      ASSERT_TRUE(ask(SaveItem{id, row.from, 2, {kNow.value + 60}, kNow, "reason"}));
      const int before = contents();
      const auto changed = store->change(change, id, {kNow.value + 50});
      const std::string expected = row.after_each_change[i];
      EXPECT_EQ(changed.ok(), !expected.empty());
      const SpoolItem item = **store->find(id);
      EXPECT_EQ(to_string(item.state), expected.empty() ? to_string(row.from) : expected);
      EXPECT_EQ(contents(), before - (expected == "failed" ? 1 : 0));
      EXPECT_EQ(item.attempts, 2u);
      const bool goes = expected == "deferred";
      EXPECT_EQ(item.created.value, kNow.value + (goes ? 50 : 0));
      EXPECT_EQ(item.next_try.value, kNow.value + (goes ? 50 : 60));
    }
  }
  const auto none = store->change(SpoolChange::hold, SpoolId{1000}, kNow);
  EXPECT_EQ(none.error().code, ErrorCode::not_found);
}

TEST_F(SqliteStoreTest, a_held_file_is_neither_sent_nor_purged_and_counts_as_waiting) {
  config.station_items_max = 1;
  reopen();
  const auto id = *store->enqueue({kPeer, "a", kHello, kNow});
  ASSERT_TRUE(store->change(SpoolChange::hold, id, kNow));
  EXPECT_TRUE(open_items().empty());
  EXPECT_FALSE(store->enqueue({kPeer, "b", kHello, kNow}));
  ASSERT_TRUE(ask(Purge{{kNow.value + 10 * config.keep_finished_s}}));
  ASSERT_TRUE(store->change(SpoolChange::release, id, kNow));
  ASSERT_EQ(open_items().size(), 1u);
  EXPECT_EQ(open_items()[0].state, SpoolState::incoming);
  EXPECT_EQ(std::get<Content>(*ask(ReadContent{id})).octets, kHello);
}

TEST_F(SqliteStoreTest, the_list_is_narrowed_by_state_and_station) {
  const Address other{0x01020305};
  const auto over = *store->enqueue({kPeer, "over", kHello, kNow});
  const auto held = *store->enqueue({kPeer, "held", kHello, kNow});
  const auto far = *store->enqueue({other, "far", kHello, kNow});
  ASSERT_TRUE(ask(SaveItem{.id = over, .state = SpoolState::failed, .now = kNow}));
  ASSERT_TRUE(store->change(SpoolChange::hold, held, kNow));
  const auto ids = [&](const ListFilter& filter) {
    const auto items = store->list(filter, 10);
    std::vector<SpoolId> found;
    for (const SpoolItem& item : *items) found.push_back(item.id);
    return found;
  };
  using Ids = std::vector<SpoolId>;
  EXPECT_EQ(ids({}), (Ids{far, held}));
  EXPECT_EQ(ids({.over = true}), (Ids{far, held, over}));
  EXPECT_EQ(ids({.state = SpoolState::failed}), (Ids{over}));
  EXPECT_EQ(ids({.destination = other}), (Ids{far}));
  EXPECT_EQ(ids({.state = SpoolState::held, .destination = other}), (Ids{}));
}

TEST(SpoolId, is_read_from_digits_alone) {
  EXPECT_EQ(parse_spool_id("17"), SpoolId{17});
  EXPECT_EQ(parse_spool_id(std::string(18, '9')), SpoolId{999'999'999'999'999'999});
  for (const std::string text : {"", "-1", "+1", " 1", "1 ", "1x", "x"}) {
    EXPECT_FALSE(parse_spool_id(text)) << text;
  }
  EXPECT_FALSE(parse_spool_id(std::string(19, '1')));
}

TEST_F(SqliteStoreTest, damaged_content_is_parked_and_kept) {
  const auto id = store->enqueue({kPeer, "a", kHello, kNow});
  ASSERT_TRUE(sql("UPDATE outgoing_content SET content = x'00'"));
  const auto content = ask(ReadContent{*id});
  ASSERT_FALSE(content);
  EXPECT_EQ(content.error().code, ErrorCode::bad_checksum);
  EXPECT_TRUE(open_items().empty());
  EXPECT_EQ((*store->find(*id))->state, SpoolState::corrupt);
  ASSERT_TRUE(ask(Purge{{kNow.value + 10 * config.keep_finished_s}}));
  EXPECT_EQ(store->list(10)->size(), 1u);
}

TEST_F(SqliteStoreTest, rows_that_cannot_be_read_are_parked_and_do_not_hold_up_the_others) {
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(store->enqueue({kPeer, "a", kHello, kNow}));
  ASSERT_TRUE(
      sql("UPDATE outgoing SET destination = 'nowhere' WHERE id = 1;"
          "UPDATE outgoing SET size = -1 WHERE id = 2;"
          "UPDATE outgoing SET updu_id = 256 WHERE id = 3;"
          "UPDATE outgoing SET state = 'lost' WHERE id = 4;"));
  ASSERT_EQ(open_items().size(), 1u);
  EXPECT_EQ(open_items()[0].id.value, 5);
  EXPECT_EQ(store->list(10)->size(), 5u);
  EXPECT_EQ((*store->list(10))[1].state, SpoolState::corrupt);
}

/// Files of one station, with a quota of 12 octets for it.
class InboxQuota : public SqliteStoreTest {
 protected:
  bool takes(const std::string& name, std::size_t octets, std::int64_t after_s = 0,
             Address source = kPeer) {
    const auto answer = ask(StoreFile{.source = source,
                                      .source_sap = {6},
                                      .updu_id = next_id++,
                                      .name = name,
                                      .content = std::make_shared<const Bytes>(octets),
                                      .now = {kNow.value + after_s},
                                      .quota = {.inbox_octets_max = 12}});
    if (!answer) {
      EXPECT_EQ(answer.error().code, ErrorCode::refused) << answer.error().detail;
    }
    return answer.ok();
  }
  void move_out(const std::string& name) {
    ASSERT_TRUE(std::filesystem::remove(std::filesystem::path(config.inbox) / name));
  }
  std::uint8_t next_id = 0;
};

TEST_F(InboxQuota, a_file_counts_as_long_as_it_lies_in_the_inbox) {
  const std::int64_t purged = 10 * config.keep_finished_s;
  ASSERT_TRUE(takes("a", 5));
  ASSERT_TRUE(ask(Purge{{kNow.value + purged}}));
  EXPECT_FALSE(takes("b", 8, purged));
  reopen();
  EXPECT_FALSE(takes("b", 8, purged + 1)) << "after a restart";
  move_out("a");
  EXPECT_TRUE(takes("b", 8, purged + 100));
  ASSERT_TRUE(ask(Purge{{kNow.value + purged + 200}}));
  auto db = Database::open({.path = config.path});
  auto rows = db->prepare("SELECT group_concat(name) FROM received");
  ASSERT_TRUE(rows->step());
  EXPECT_EQ(rows->octets(0), "b") << "the row of a file that was moved out is purged";
}

TEST_F(InboxQuota, a_name_that_is_used_again_counts_for_the_station_of_the_last_file) {
  ASSERT_TRUE(takes("f", 5));
  move_out("f");
  ASSERT_TRUE(takes("f", 10, 0, kOther));
  EXPECT_TRUE(takes("g", 12));
  EXPECT_FALSE(takes("h", 3, 0, kOther));
}

TEST_F(InboxQuota, the_files_are_looked_at_once_in_a_minute) {
  ASSERT_TRUE(takes("a", 5));
  EXPECT_FALSE(takes("b", 8));
  move_out("a");
  EXPECT_FALSE(takes("b", 8, 59));
  EXPECT_TRUE(takes("c", 7, 59)) << "what fits in any case";
  EXPECT_TRUE(takes("b", 5, 60));
  EXPECT_FALSE(takes("d", 1, 61));
}

TEST_F(SqliteStoreTest, finished_rows_leave_after_their_time_and_not_before) {
  const auto id = store->enqueue({kPeer, "a", kHello, kNow});
  ASSERT_TRUE(ask(SaveItem{.id = *id, .state = SpoolState::failed, .now = kNow}));
  ASSERT_TRUE(ask(Purge{{kNow.value + config.keep_finished_s}}));
  EXPECT_TRUE(store->find(*id)->has_value());
  ASSERT_TRUE(ask(Purge{{kNow.value + config.keep_finished_s + 1}}));
  EXPECT_FALSE(store->find(*id)->has_value());
}

TEST_F(SqliteStoreTest, a_received_file_stands_in_the_inbox_under_its_own_name) {
  const auto stored = receive("../A.TXT", kHello);
  ASSERT_TRUE(stored);
  EXPECT_EQ(std::get<FileStored>(*stored).inbox_name, "A.TXT");
  EXPECT_EQ(test::visible_files(config.inbox), (std::map<std::string, Bytes>{{"A.TXT", kHello}}));
}

TEST_F(SqliteStoreTest, a_file_without_a_name_gets_one) {
  EXPECT_EQ(std::get<FileStored>(*receive("..", kHello)).inbox_name, "from-1.2.3.4-5");
}

TEST_F(SqliteStoreTest, a_repeat_is_one_file_and_a_second_sending_is_two) {
  ASSERT_TRUE(receive("f", kHello, 5));
  reopen();
  EXPECT_TRUE(std::get<FileStored>(*receive("f", kHello, 5)).repeated);
  EXPECT_EQ(test::visible_files(config.inbox).size(), 1u);
  EXPECT_FALSE(std::get<FileStored>(*receive("f", kHello, 6)).repeated);
  EXPECT_FALSE(std::get<FileStored>(*receive("f", {1}, 5)).repeated);
  EXPECT_FALSE(std::get<FileStored>(*receive("f", kHello, 5, kNow, kOther)).repeated);
  EXPECT_EQ(test::visible_files(config.inbox).size(), 4u);
}

TEST_F(SqliteStoreTest, a_repeat_is_recognised_until_the_window_closes) {
  ASSERT_TRUE(receive("f", kHello));
  const UtcSeconds last{kNow.value + config.duplicate_window_s - 1};
  EXPECT_TRUE(std::get<FileStored>(*receive("f", kHello, 5, last)).repeated);
  const UtcSeconds first{kNow.value + config.duplicate_window_s};
  EXPECT_FALSE(std::get<FileStored>(*receive("f", kHello, 5, first)).repeated);
}

TEST_F(SqliteStoreTest, a_repeat_is_not_delivered_again_after_the_operator_took_the_file_away) {
  ASSERT_TRUE(receive("f", kHello));
  std::filesystem::remove(std::filesystem::path(config.inbox) / "f");
  EXPECT_TRUE(std::get<FileStored>(*receive("f", kHello)).repeated);
  EXPECT_TRUE(test::visible_files(config.inbox).empty());
}

TEST_F(SqliteStoreTest, a_full_disk_under_the_inbox_stores_nothing_and_works_when_there_is_room) {
  for (const Inbox::Step step : {Inbox::Step::write, Inbox::Step::sync_file, Inbox::Step::rename,
                                 Inbox::Step::sync_folder}) {
    SCOPED_TRACE(static_cast<int>(step));
    int code = ENOSPC;
    config.inbox_hook = [&](Inbox::Step now) { return now == step ? code : 0; };
    reopen();
    const std::string name = "f" + std::to_string(static_cast<int>(step));
    EXPECT_FALSE(receive(name, kHello));
    EXPECT_FALSE(receive(name, kHello));
    code = 0;
    EXPECT_FALSE(std::get<FileStored>(*receive(name, kHello)).repeated);
    EXPECT_EQ(test::visible_files(config.inbox).count(name), 1u);
    EXPECT_EQ(test::visible_files(config.inbox).count(name + ".1"), 0u);
  }
}

TEST_F(SqliteStoreTest, an_inbox_that_went_away_is_an_error_until_it_is_back) {
  const std::string elsewhere = (folder.path() / "elsewhere").string();
  std::filesystem::rename(config.inbox, elsewhere);
  const auto refused = receive("f", kHello);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().detail.find("No such file"), std::string::npos);
  std::filesystem::rename(elsewhere, config.inbox);
  EXPECT_TRUE(receive("f", kHello));
  EXPECT_EQ(test::visible_files(config.inbox).size(), 1u);
}

TEST_F(SqliteStoreTest, a_full_disk_under_the_spool_refuses_and_recovers) {
  test::PowerVfs vfs(test::PowerVfs::Unsynced::kept);
  config.vfs = vfs.name();
  reopen();
  ASSERT_TRUE(store->enqueue({kPeer, "before", kHello, kNow}));
  vfs.set_full(true);
  const auto refused = store->enqueue({kPeer, "while", kHello, kNow});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().detail.find("full"), std::string::npos) << refused.error().detail;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(receive("f", kHello));
  EXPECT_TRUE(test::visible_files(config.inbox).empty());
  EXPECT_EQ(Inbox(config.inbox).temporaries()->size(), 1u);  // failed tries do not pile up
  vfs.set_full(false);
  EXPECT_TRUE(store->enqueue({kPeer, "after", kHello, kNow}));
  EXPECT_TRUE(receive("f", kHello));
  EXPECT_EQ(open_items().size(), 2u);
  EXPECT_EQ(test::visible_files(config.inbox).size(), 1u);
  EXPECT_TRUE(Inbox(config.inbox).temporaries()->empty());
  store.reset();
}

TEST_F(SqliteStoreTest, a_full_disk_takes_nothing_new_and_finishes_what_is_there) {
  test::PowerVfs vfs(test::PowerVfs::Unsynced::kept);
  config.vfs = vfs.name();
  config.reserve_octets = 64 << 10;
  reopen();
  ASSERT_TRUE(store->has_reserve());
  std::vector<SpoolId> ids;
  for (const char* name : {"begun", "fails", "waits"}) {
    ids.push_back(*store->enqueue({kPeer, name, kHello, kNow}));
  }
  const auto full = [&] {
    const auto id = store->enqueue({kPeer, "new", kHello, kNow});
    return !id && id.error().code == ErrorCode::queue_full;
  };
  vfs.set_full_beside(config.path + ".reserve");
  EXPECT_TRUE(full());
  EXPECT_FALSE(receive("f", kHello));
  EXPECT_TRUE(store->has_reserve()) << "new files do not get it";

  const auto begun =
      store->execute(StoreRequest{{7}, SaveItem{ids[0], SpoolState::active, 1, kNow, kNow, ""}});
  EXPECT_TRUE(begun.answer);
  EXPECT_TRUE(begun.reserve_used);
  EXPECT_FALSE(store->has_reserve());
  EXPECT_TRUE(full()) << "the reserve is filled first, and the disk is as full as before";
  const auto delivered =
      store->execute(StoreRequest{{8}, SaveItem{ids[0], SpoolState::delivered, 1, kNow, kNow, ""}});
  EXPECT_TRUE(delivered.answer);
  EXPECT_TRUE(full());
  EXPECT_TRUE(ask(SaveItem{ids[1], SpoolState::expired, 1, kNow, kNow, ""}));
  EXPECT_TRUE(full());
  EXPECT_TRUE(ask(MoveTimes{std::chrono::seconds(1)}));
  EXPECT_TRUE(full());
  EXPECT_TRUE(ask(Purge{{kNow.value + 2 + config.keep_finished_s}}));
  EXPECT_EQ(store->list(10)->size(), 1u);
  EXPECT_FALSE(receive("f", kHello));
  EXPECT_TRUE(test::visible_files(config.inbox).empty());

  vfs.set_full_beside("");
  EXPECT_FALSE(full());
  EXPECT_TRUE(store->has_reserve());
  EXPECT_TRUE(receive("f", kHello));
  EXPECT_EQ(open_items().size(), 2u) << "what was refused is not there";
  store.reset();
}

TEST_F(SqliteStoreTest,
       a_received_file_that_stands_in_the_inbox_is_noted_although_the_disk_is_full) {
  test::PowerVfs vfs(test::PowerVfs::Unsynced::kept);
  config.vfs = vfs.name();
  config.reserve_octets = 64 << 10;
  config.inbox_hook = [&](Inbox::Step step) {
    if (step == Inbox::Step::rename) vfs.set_full_beside(config.path + ".reserve");
    return 0;
  };
  reopen();
  const auto stored = store->execute(StoreRequest{
      {1}, StoreFile{kPeer, SapId{6}, 5, "f", std::make_shared<const Bytes>(kHello), kNow}});
  EXPECT_TRUE(stored.answer);
  EXPECT_TRUE(stored.reserve_used);
  EXPECT_EQ(test::visible_files(config.inbox).size(), 1u);
  vfs.set_full_beside("");
  const auto again = receive("f", kHello);
  ASSERT_TRUE(again);
  EXPECT_TRUE(std::get<FileStored>(*again).repeated);
  store.reset();
}

TEST_F(SqliteStoreTest, a_disk_without_room_for_the_reserve_takes_nothing_new) {
  config.reserve_octets = std::uint64_t{1} << 60;
  reopen();
  EXPECT_FALSE(store->has_reserve());
  const auto refused = store->enqueue({kPeer, "f", kHello, kNow});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::queue_full);
  EXPECT_NE(refused.error().detail.find("is full"), std::string::npos) << refused.error().detail;
  EXPECT_FALSE(receive("f", kHello));
  EXPECT_TRUE(store->list(10)->empty());
}

TEST_F(SqliteStoreTest, a_spool_of_a_newer_version_is_left_alone) {
  ASSERT_TRUE(sql("PRAGMA user_version = 99"));
  const auto opened = SqliteStore::open(config);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::unsupported);
}

TEST_F(SqliteStoreTest, two_programs_may_hand_over_files_at_the_same_time) {
  auto second = SqliteStore::open(config);
  ASSERT_TRUE(second);
  const auto a = store->enqueue({kPeer, "a", kHello, kNow});
  const auto b = second->enqueue({kPeer, "b", kHello, kNow});
  ASSERT_TRUE(a && b);
  EXPECT_NE(*begin(*a), *begin(*b));
  EXPECT_EQ(open_items().size(), 2u);
}

TEST_F(SqliteStoreTest, a_statement_that_was_used_before_is_as_new) {
  auto db = Database::open({.path = config.path});
  ASSERT_TRUE(db);
  constexpr const char* kBoth = "SELECT ?, ? UNION ALL SELECT 3, 3";
  {
    auto first = db->prepare(kBoth);
    ASSERT_TRUE(first);
    first->bind(1).bind_text("text");
    ASSERT_TRUE(*first->step());
    auto meanwhile = db->prepare(kBoth);  // the same text at the same time
    ASSERT_TRUE(meanwhile);
    meanwhile->bind(2);
    ASSERT_TRUE(*meanwhile->step());
    EXPECT_EQ(meanwhile->integer(0), 2);
    EXPECT_EQ(first->integer(0), 1);
  }
  for (int i = 0; i < 2; ++i) {
    auto again = db->prepare(kBoth);
    ASSERT_TRUE(again);
    ASSERT_TRUE(*again->step());
    EXPECT_EQ(again->integer(0), 0);
    EXPECT_EQ(again->text(1), "");
  }
}

TEST_F(SqliteStoreTest, a_statement_left_in_the_middle_holds_up_nobody) {
  auto db = Database::open({.path = config.path});
  ASSERT_TRUE(db);
  ASSERT_TRUE(
      db->execute("CREATE TABLE three (n INTEGER); INSERT INTO three VALUES (1), (2), (3)"));
  {
    auto rows = db->prepare("SELECT n FROM three");
    ASSERT_TRUE(rows && *rows->step());
  }
  EXPECT_TRUE(sql("DROP TABLE three"));
  auto gone = db->prepare("SELECT n FROM three");
  ASSERT_TRUE(gone);
  EXPECT_FALSE(gone->step());
  ASSERT_TRUE(sql("CREATE TABLE three (n INTEGER); INSERT INTO three VALUES (4)"));
  auto back = db->prepare("SELECT n FROM three");
  ASSERT_TRUE(back && *back->step());
  EXPECT_EQ(back->integer(0), 4);
}

// --- Power cuts ----------------------------------------------------------------------------------

// Goal:   wherever the power fails, nothing that was promised is lost, and nothing arrives twice.
// Method: the test cuts a short life of a spool at every change to any file, with three assumptions
//         about data that was not synced. Then the power is back and the far side repeats.
class PowerCut : public testing::TestWithParam<test::PowerVfs::Unsynced> {
 protected:
  struct Promises {
    std::vector<SpoolId> accepted;
    std::vector<SpoolId> delivered;
    std::vector<std::string> stored;
  };

  SqliteStore::Config config_with(test::PowerVfs* vfs) {
    SqliteStore::Config config;
    config.path = (folder_->path() / "spool.db").string();
    config.inbox = inbox_;
    if (vfs != nullptr) {
      config.vfs = vfs->name();
      config.inbox_hook = [vfs](Inbox::Step) { return vfs->spend() ? EIO : 0; };
    }
    return config;
  }

  static bool store_file(SqliteStore& store, const std::string& name, std::uint8_t id) {
    const StoreFile file{
        kPeer, SapId{6}, id, name, std::make_shared<const Bytes>(name.begin(), name.end()), kNow};
    return store.execute({{}, file}).answer.ok();
  }

  // Stops at the first refusal, as a program without power does.
  static void live(const SqliteStore::Config& config, Promises& promises) {
    auto opened = SqliteStore::open(config);
    if (!opened || !opened->recover()) return;
    SqliteStore& store = *opened;
    for (const char* name : {"one", "two"}) {
      const auto id = store.enqueue({kPeer, name, Bytes(3000, 7), kNow});
      if (!id) return;
      promises.accepted.push_back(*id);
    }
    const SpoolId first = promises.accepted.front();
    if (!store.execute({{}, SaveItem{first, SpoolState::active, 1, kNow, kNow, ""}}).answer) return;
    if (!store_file(store, "in-1", 1)) return;
    promises.stored.push_back("in-1");
    if (!store.execute({{}, SaveItem{first, SpoolState::delivered, 1, kNow, kNow, ""}}).answer) {
      return;
    }
    promises.delivered.push_back(first);
    if (!store_file(store, "in-2", 2)) return;
    promises.stored.push_back("in-2");
    if (!store_file(store, "in-1", 1)) return;
  }

  void check_after(const Promises& promises) {
    auto opened = SqliteStore::open(config_with(nullptr));
    ASSERT_TRUE(opened) << to_string(opened.error());
    ASSERT_TRUE(opened->recover());
    for (const SpoolId id : promises.accepted) {
      const auto item = opened->find(id);
      ASSERT_TRUE(item && item->has_value());
      if ((*item)->state == SpoolState::delivered) continue;
      const auto content = opened->execute({{}, ReadContent{id}}).answer;
      ASSERT_TRUE(content);
      EXPECT_EQ(std::get<Content>(*content).octets, Bytes(3000, 7));
    }
    for (const SpoolId id : promises.delivered) {
      EXPECT_EQ((*opened->find(id))->state, SpoolState::delivered);
    }
    for (const std::string& name : promises.stored) {
      EXPECT_EQ(test::visible_files(inbox_).count(name), 1u) << name;
    }
    // The far side got no answer to some of them and sends all of them again.
    EXPECT_TRUE(store_file(*opened, "in-1", 1));
    EXPECT_TRUE(store_file(*opened, "in-2", 2));
    const auto files = test::visible_files(inbox_);
    EXPECT_EQ(files.size(), 2u);
    EXPECT_EQ(files.count("in-1") + files.count("in-2"), 2u);
    EXPECT_EQ(files.begin()->second, (Bytes{'i', 'n', '-', '1'}));
    EXPECT_TRUE(Inbox(inbox_).temporaries()->empty());
  }

  std::optional<test::TemporaryFolder> folder_;
  std::string inbox_;
};

TEST_P(PowerCut, at_no_change_to_any_file_loses_or_repeats_anything) {
  std::uint64_t cuts = 0;
  for (std::uint64_t change = 1;; ++change) {
    SCOPED_TRACE(change);
    folder_.emplace();
    inbox_ = folder_->make("inbox");
    Promises promises;
    bool dead = false;
    {
      test::PowerVfs vfs(GetParam());
      vfs.cut_at(change);
      live(config_with(&vfs), promises);
      dead = vfs.dead();
      if (dead) vfs.restore();
    }
    check_after(promises);
    if (HasFatalFailure() || HasNonfatalFailure()) return;
    if (!dead) {
      EXPECT_EQ(promises.stored.size(), 2u);
      break;
    }
    ++cuts;
  }
  EXPECT_GT(cuts, 50u);
  RecordProperty("cuts", static_cast<int>(cuts));
}

INSTANTIATE_TEST_SUITE_P(Disks, PowerCut,
                         testing::Values(test::PowerVfs::Unsynced::lost,
                                         test::PowerVfs::Unsynced::kept,
                                         test::PowerVfs::Unsynced::torn));

// --- The thread ----------------------------------------------------------------------------------

TEST_F(SqliteStoreTest, the_store_thread_answers_in_order_and_finishes_before_it_stops) {
  std::mutex mutex;
  std::vector<std::uint64_t> answered;
  {
    StoreThread<SqliteStore> thread(
        std::move(*store), 100,
        [&](const std::vector<StoreResult>& results) {
          const std::lock_guard lock(mutex);
          for (const StoreResult& result : results) answered.push_back(result.ticket.value);
        },
        [](const Error&) { FAIL(); });
    for (std::uint64_t i = 1; i <= 100; ++i) {
      StoreRequest request{StoreTicket{i}, ListOpen{{}, 10}};
      ASSERT_TRUE(thread.request(request));
    }
  }
  ASSERT_EQ(answered.size(), 100u);
  for (std::uint64_t i = 1; i <= 100; ++i) EXPECT_EQ(answered[i - 1], i);
}

TEST_F(SqliteStoreTest, the_store_thread_refuses_the_request_after_the_last_that_fits) {
  std::mutex mutex;
  std::condition_variable changed;
  bool in_post = false;
  bool go_on = false;
  StoreThread<SqliteStore> thread(
      std::move(*store), 2,
      [&](const std::vector<StoreResult>&) {
        std::unique_lock lock(mutex);
        in_post = true;
        changed.notify_all();
        changed.wait(lock, [&] { return go_on; });
      },
      [](const Error&) { FAIL(); });
  const auto ask_thread = [&](std::uint64_t ticket) {
    StoreRequest request{StoreTicket{ticket}, ListOpen{{}, 1}};
    return thread.request(request).ok();
  };
  ASSERT_TRUE(ask_thread(1));
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return in_post; });  // the queue is empty and its thread is busy
  }
  EXPECT_TRUE(ask_thread(2));
  EXPECT_TRUE(ask_thread(3));
  EXPECT_FALSE(ask_thread(4));
  const std::lock_guard lock(mutex);
  go_on = true;
  changed.notify_all();
}

// --- Files by P_MUL ------------------------------------------------------------------------------

TakeMessage message_of(std::uint32_t at, Bytes octets, const Bytes& file) {
  TransferManifest manifest;
  manifest.name = "picture.raw";
  manifest.size = manifest.image_octets = static_cast<std::uint32_t>(file.size());
  manifest.sha256 = sha256_of(file);
  TakeMessage message;
  message.key = {kPeer, 7};
  message.message_id = 70;
  message.expiry = {kNow.value + 3600};
  message.manifest = manifest;
  message.blocks = std::make_shared<const std::vector<SaveBlocks::Block>>(
      std::vector<SaveBlocks::Block>{{at, std::move(octets)}});
  message.now = kNow;
  return message;
}

TEST_F(SqliteStoreTest, a_file_for_several_stations_has_a_row_for_each_and_one_number) {
  const GradeSettings coded{.grade = FileGrade::coded, .strength_percent = 40};
  const auto rows =
      store->enqueue_by_p_mul({{}, "f", kHello, kNow, std::nullopt}, {kPeer, kOther}, coded);
  ASSERT_TRUE(rows);
  const auto alone = store->enqueue({kPeer, "g", kHello, kNow, std::nullopt});
  ASSERT_TRUE(alone);
  reopen();
  ASSERT_EQ(open_items().size(), 1u);  // P_MUL has its own list
  EXPECT_EQ(open_items()[0].id, *alone);
  const auto listed =
      std::get<OpenItems>(*ask(ListOpen{.after = {}, .items_max = 9, .by_p_mul = true})).items;
  ASSERT_EQ(listed.size(), 2u);
  EXPECT_EQ(listed[0].p_mul->first, listed[1].p_mul->first);
  EXPECT_EQ(listed[0].p_mul->message_id, listed[1].p_mul->message_id);
  EXPECT_EQ(listed[0].p_mul->grade, coded);
  EXPECT_EQ(store->find((*rows)[1])->value().p_mul->sequence, 1u);
  const auto next = store->enqueue_by_p_mul({{}, "f", kHello, kNow, std::nullopt}, {kOther}, {});
  const PMulFacts facts = *store->find((*next)[0])->value().p_mul;
  EXPECT_EQ(facts.sequence, 2u);
  EXPECT_GE(facts.message_id, listed[0].p_mul->message_id + 2);
  ASSERT_TRUE(ask(SaveItem{.id = (*rows)[0],
                           .state = SpoolState::sent,
                           .attempts = 1,
                           .now = kNow,
                           .without_updu_id = true}));
  EXPECT_FALSE(ask(ReadContent{(*rows)[0]}));  // a file that is over gives up its content
}

TEST_F(SqliteStoreTest, a_file_for_several_stations_is_taken_for_all_or_for_none) {
  config.station_items_max = 1;
  reopen();
  ASSERT_TRUE(store->enqueue({kOther, "g", kHello, kNow, std::nullopt}));
  EXPECT_FALSE(store->enqueue_by_p_mul({{}, "f", kHello, kNow, std::nullopt}, {kPeer, kOther}, {}));
  EXPECT_EQ(store->list(10)->size(), 1u);
  const GradeSettings headless{.grade = FileGrade::head};
  EXPECT_FALSE(store->enqueue_by_p_mul({{}, "f", kHello, kNow, std::nullopt}, {kPeer}, headless));
}

TEST_F(SqliteStoreTest, a_file_by_p_mul_is_stored_when_its_messages_have_brought_all_of_it) {
  const Bytes file{'h', 'e', 'l', 'l', 'o', '!'};
  auto head = message_of(0, {'h', 'e', 'l'}, file);
  head.whole = head.holes = true;
  auto answer = ask(head);
  ASSERT_TRUE(answer);
  EXPECT_EQ(std::get<TransferNews>(*answer).state, TransferNews::State::open);
  reopen();
  EXPECT_TRUE(std::get<OpenTransfers>(*ask(ListTransfers{9})).transfers.empty());  // not by RCOP
  EXPECT_EQ(std::get<KnownNames>(*ask(ListNames{kNow})).names.size(), 1u);
  auto rest = message_of(3, {'l', 'o', '!'}, file);
  rest.last = rest.holes = true;
  rest.manifest.reset();
  answer = ask(rest);
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(std::get<TransferNews>(*answer).state, TransferNews::State::done);
  EXPECT_TRUE(std::get<TransferNews>(*answer).holes.empty());
  EXPECT_TRUE(std::get<TransferNews>(*ask(rest)).repeated);
  EXPECT_EQ(test::visible_files(config.inbox).size(), 1u);
}

TEST_F(SqliteStoreTest, a_part_of_a_file_by_p_mul_is_listed_and_can_be_dropped) {
  const Bytes file{'h', 'e', 'l', 'l', 'o', '!'};
  auto head = message_of(0, {'h', 'e', 'l'}, file);
  head.whole = head.holes = true;
  ASSERT_TRUE(ask(head));
  const auto arriving = store->arriving_by_p_mul(10);
  ASSERT_TRUE(arriving);
  ASSERT_EQ(arriving->size(), 1u);
  EXPECT_EQ((*arriving)[0].key, head.key);
  EXPECT_EQ((*arriving)[0].manifest.name, "picture.raw");
  EXPECT_EQ((*arriving)[0].have.octets(), 3u);
  EXPECT_FALSE(*store->drop_by_p_mul({kOther, head.key.number}));
  EXPECT_TRUE(*store->drop_by_p_mul(head.key));
  EXPECT_FALSE(*store->drop_by_p_mul(head.key));
  EXPECT_TRUE(store->arriving_by_p_mul(10)->empty());
  EXPECT_TRUE(std::get<FilesEnded>(*ask(EndOverdue{{kNow.value + 3601}})).files.empty());
  EXPECT_TRUE(test::visible_files(config.inbox).empty());
}

TEST_F(SqliteStoreTest, received_files_are_listed_with_sender_digest_and_duration) {
  EXPECT_TRUE(store->received(10)->empty());
  ASSERT_TRUE(receive("by-bftp.txt", kHello));
  const Bytes file{'h', 'e', 'l', 'l', 'o', '!'};
  auto head = message_of(0, {'h', 'e', 'l'}, file);
  head.whole = head.holes = true;
  ASSERT_TRUE(ask(head));
  auto rest = message_of(3, {'l', 'o', '!'}, file);
  rest.last = rest.holes = true;
  rest.now = {kNow.value + 90};
  ASSERT_TRUE(ask(rest));
  const auto files = store->received(10);
  ASSERT_TRUE(files);
  ASSERT_EQ(files->size(), 2u);
  EXPECT_EQ((*files)[0].name, "picture.raw");
  EXPECT_EQ((*files)[0].source, head.key.source);
  EXPECT_EQ((*files)[0].size, 6u);
  EXPECT_EQ((*files)[0].sha256, sha256_of(file));
  EXPECT_EQ((*files)[0].received.value, kNow.value + 90);
  EXPECT_EQ((*files)[0].took, std::chrono::seconds(90));
  EXPECT_EQ((*files)[1].name, "by-bftp.txt");
  EXPECT_EQ((*files)[1].source, kPeer);
  EXPECT_FALSE((*files)[1].took);
  EXPECT_EQ(store->received(1)->size(), 1u);
}

TEST_F(SqliteStoreTest, holes_of_a_file_by_p_mul_are_zeros_and_listed_beside_it) {
  const Bytes file{'h', 'e', 'l', 'l', 'o', '!'};
  auto part = message_of(2, {'l', 'l'}, file);
  part.last = part.holes = true;
  const auto answer = ask(part);
  ASSERT_TRUE(answer) << to_string(answer.error());
  const auto& news = std::get<TransferNews>(*answer);
  EXPECT_EQ(news.state, TransferNews::State::done);
  EXPECT_EQ(news.holes.octets(), 4u);
  const auto files = test::visible_files(config.inbox);
  EXPECT_EQ(files.size(), 2u);
  EXPECT_EQ(files.at("picture.raw"), (Bytes{0, 0, 'l', 'l', 0, 0}));
  EXPECT_TRUE(files.contains("picture.raw.holes"));
}

TEST_F(SqliteStoreTest, a_rest_that_ends_before_its_head_waits_for_it) {
  const Bytes file{'h', 'e', 'l', 'l', 'o', '!'};
  auto rest = message_of(3, {'l'}, file);
  rest.last = rest.holes = rest.head = true;
  auto answer = ask(rest);
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(std::get<TransferNews>(*answer).state, TransferNews::State::open);
  EXPECT_TRUE(test::visible_files(config.inbox).empty());
  reopen();
  auto head = message_of(0, {'h', 'e', 'l'}, file);
  head.whole = head.holes = head.head = true;
  answer = ask(head);
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(std::get<TransferNews>(*answer).state, TransferNews::State::done);
  EXPECT_EQ(std::get<TransferNews>(*answer).holes.octets(), 2u);
  EXPECT_EQ(test::visible_files(config.inbox).at("picture.raw"), (Bytes{'h', 'e', 'l', 'l', 0, 0}));
}

TEST_F(SqliteStoreTest, a_message_that_gives_a_wrong_file_is_not_remembered_as_taken) {
  const Bytes file{'h', 'e', 'l', 'l', 'o', '!'};
  auto wrong = message_of(0, {'H', 'e', 'l', 'l', 'o', '!'}, file);
  wrong.whole = true;
  const auto answer = ask(wrong);
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_NE(std::get<TransferNews>(*answer).state, TransferNews::State::done);
  EXPECT_TRUE(std::get<KnownNames>(*ask(ListNames{kNow})).names.empty());
}

TEST_F(SqliteStoreTest, the_list_of_holes_of_a_file_with_a_long_name_is_stored) {
  const Bytes file{'h', 'e', 'l', 'l', 'o', '!'};
  auto part = message_of(0, {'h'}, file);
  part.manifest->name = std::string(kFileNameBytesMax, 'n');
  part.last = part.holes = true;
  ASSERT_TRUE(ask(part));
  EXPECT_EQ(test::visible_files(config.inbox).size(), 2u);
}

TEST_F(SqliteStoreTest, blocks_by_p_mul_beyond_the_end_of_their_file_are_left_out) {
  const Bytes file{'h', 'e', 'l', 'l', 'o', '!'};
  auto part = message_of(4, {'o', '!', '?'}, file);
  part.holes = true;
  const auto answer = ask(part);
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_TRUE(std::get<TransferNews>(*answer).have.empty());
}

TEST_F(SqliteStoreTest, what_is_overdue_by_p_mul_is_stored_with_holes_or_reported) {
  const Bytes file{'h', 'e', 'l', 'l', 'o', '!'};
  auto holes = message_of(0, {'h'}, file);
  holes.holes = true;
  ASSERT_TRUE(ask(holes));
  auto coded = message_of(0, {'h'}, file);
  coded.key.number = 9;
  ASSERT_TRUE(ask(coded));
  EXPECT_TRUE(std::get<FilesEnded>(*ask(EndOverdue{kNow})).files.empty());
  const auto ended = std::get<FilesEnded>(*ask(EndOverdue{{kNow.value + 3601}})).files;
  ASSERT_EQ(ended.size(), 2u);
  EXPECT_EQ(ended[0].news.holes.octets(), 5u);
  EXPECT_EQ(ended[1].news.state, TransferNews::State::bad);
  EXPECT_TRUE(std::get<FilesEnded>(*ask(EndOverdue{{kNow.value + 3601}})).files.empty());
  coded.manifest.reset();
  EXPECT_EQ(ask(coded).error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace s5066::gateways
