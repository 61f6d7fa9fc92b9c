// SPDX-License-Identifier: Apache-2.0
// A relay puts a damaged spool of files aside, and readable rows go on in a fresh one.
#include "gateways/common/spool_recovery.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gateways/common/damage_note.h"
#include "gateways/common/file_recovery.h"
#include "gateways/common/spool_backup.h"
#include "gateways/common/sqlite_store.h"
#include "gateways/common/table_list.h"
#include "tests/unit/gateways/power_vfs.h"
#include "tests/unit/gateways/temporary_folder.h"

namespace s5066::gateways {
namespace {

namespace fs = std::filesystem;

constexpr UtcSeconds kNow{1'000'000};
constexpr std::size_t kPage = 4096;
constexpr int kFiles = 12;

/// A dozen files to be sent and as many received, so large in each table that a page has a few.
class FileRecovery : public testing::Test {
 protected:
  FileRecovery() {
    config.path = (folder.path() / "spool.db").string();
    config.inbox = folder.make("inbox");
    open();
    for (int i = 0; i < kFiles; ++i) {
      const auto id = store->enqueue({kPeer, name(i), content(i), kNow});
      EXPECT_TRUE(id);
      ids.push_back(*id);
      EXPECT_FALSE(receive(i));
    }
    EXPECT_TRUE(
        ask(SaveItem{.id = ids[0], .state = SpoolState::active, .attempts = 1, .now = kNow}).ok());
    EXPECT_TRUE(
        ask(SaveItem{.id = ids[0], .state = SpoolState::delivered, .attempts = 1, .now = kNow})
            .ok());
    store.reset();
    EXPECT_TRUE(TableList(config.path).keep());
    sound = test::read_file(config.path);
    tables = test::read_file(config.path + ".tables");
  }
  static std::string name(int i) {
    return "name-" + std::string(1, static_cast<char>('a' + i)) + std::string(200, 'n');
  }
  static Bytes content(int i) {
    const std::string text = "content-" + std::string(1, static_cast<char>('a' + i));
    Bytes octets(text.begin(), text.end());
    octets.resize(1000);
    return octets;
  }
  void open() {
    auto opened = SqliteStore::open(config);
    ASSERT_TRUE(opened) << to_string(opened.error());
    store.emplace(std::move(opened).value());
    EXPECT_TRUE(store->recover());
  }
  Result<StoreAnswer> ask(StoreOperation operation) {
    return store->execute(StoreRequest{{1}, std::move(operation)}).answer;
  }
  /// True for a repeat.
  bool receive(int i) {
    const auto answer = ask(StoreFile{.source = kPeer,
                                      .source_sap = {3},
                                      .updu_id = static_cast<std::uint8_t>(i),
                                      .name = "got-" + name(i),
                                      .content = std::make_shared<const Bytes>(content(i)),
                                      .now = kNow});
    EXPECT_TRUE(answer);
    return answer && std::get<FileStored>(*answer).repeated;
  }
  static void write(const std::string& path, const Bytes& octets) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(octets.data()),
               static_cast<std::streamsize>(octets.size()));
  }
  /// Starts as a relay does, on the sound spool with one octet changed.
  void restart_with_damage(std::size_t at) {
    Bytes damaged = sound;
    damaged[at] = 0xFF;
    restart_with(damaged);
  }
  void restart_with(const Bytes& octets) {
    store.reset();
    for (const auto& entry : fs::directory_iterator(folder.path())) {
      const std::string name = entry.path().filename().string();
      if (name != "inbox" && name != "backups") fs::remove_all(entry);
    }
    write(config.path, octets);
    write(config.path + ".tables", tables);
    if (before_start) before_start();
    auto found = SpoolRecovery({.path = config.path,
                                .now = kNow,
                                .review = review_files,
                                .tell = [this](const SpoolReport& told) -> Result<void> {
                                  texts.push_back(to_text(told));
                                  return {};
                                },
                                .backups = backups,
                                .reserve_octets = reserve_octets,
                                .vfs = vfs})
                     .run();
    ASSERT_TRUE(found) << to_string(found.error());
    report = *std::move(found);
    if (report) {
      EXPECT_EQ(texts, std::vector<std::string>{to_text(*report)});
      texts.clear();
      EXPECT_EQ(test::read_file(report->put_aside + "/spool.db"), octets);
      EXPECT_TRUE(fs::exists(report->put_aside + "/report.txt"));
    }
    open();
  }
  bool lost(SpoolId id) const {
    const std::string start = "file " + std::to_string(id.value);
    return std::any_of(report->lost.begin(), report->lost.end(), [&](const std::string& line) {
      return line.rfind(start + " ", 0) == 0 || line.rfind(start + ":", 0) == 0;
    });
  }

  static constexpr Address kPeer{0x01020304};
  test::TemporaryFolder folder;
  SqliteStore::Config config;
  std::optional<SqliteStore> store;
  std::vector<SpoolId> ids;
  std::optional<SpoolReport> report;
  std::vector<std::string> texts;  // that the operator was told
  std::string backups;             // empty: no copies were made
  std::uint64_t reserve_octets = 0;
  const char* vfs = nullptr;
  std::function<void()> before_start;
  Bytes sound;
  Bytes tables;
};

TEST_F(FileRecovery, a_damaged_page_costs_only_what_is_on_it_and_nothing_goes_twice) {
  std::size_t damaged = 0;
  for (std::size_t place = 0; place < sound.size(); place += kPage) {
    SCOPED_TRACE(place);
    const std::string page(sound.begin() + static_cast<std::ptrdiff_t>(place),
                           sound.begin() + static_cast<std::ptrdiff_t>(place + kPage));
    restart_with_damage(place);
    if (!report) continue;  // a free page
    ++damaged;
    const bool interior = page[0] == 2 || page[0] == 5;
    std::set<std::int64_t> open;
    const auto listed = ask(ListOpen{{}, 100});
    ASSERT_TRUE(listed);
    for (const SpoolItem& item : std::get<OpenItems>(*listed).items) open.insert(item.id.value);
    EXPECT_FALSE(open.contains(ids[0].value));  // it was delivered
    for (int i = 1; i < kFiles; ++i) {
      const SpoolId id = ids[static_cast<std::size_t>(i)];
      EXPECT_NE(open.contains(id.value), lost(id)) << i;
      const std::string letter(1, static_cast<char>('a' + i));
      const bool touched = interior || page.find("name-" + letter) != std::string::npos ||
                           page.find("content-" + letter) != std::string::npos;
      if (touched) continue;
      EXPECT_FALSE(lost(id)) << i;
      const auto read = ask(ReadContent{id});
      EXPECT_EQ(std::get<Content>(*read).octets, content(i));
    }
    if (report->has_gap("received")) continue;
    for (int i = 0; i < kFiles; ++i) EXPECT_TRUE(receive(i)) << i;
  }
  EXPECT_GT(damaged, 10u);
}

// SQLite may report damage to one connection that the integrity check does not find.
TEST_F(FileRecovery, noted_damage_is_recovered_once_although_the_check_finds_none) {
  before_start = [&] { note_damage(config.path, "database disk image is malformed\n"); };
  restart_with(sound);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->damage, "reported while the gateway ran: database disk image is malformed ");
  EXPECT_TRUE(report->gaps.empty());
  EXPECT_TRUE(report->lost.empty()) << to_text(*report);
  for (int i = 0; i < kFiles; ++i) EXPECT_TRUE(receive(i)) << i;
  EXPECT_EQ(noted_damage(config.path), "");

  before_start = nullptr;
  restart_with(sound);
  EXPECT_FALSE(report);
}

TEST_F(FileRecovery, an_empty_note_counts_and_a_long_one_is_cut) {
  note_damage(config.path, "");
  EXPECT_EQ(noted_damage(config.path), "reported while the gateway ran: no reason is known");
  note_damage(config.path, std::string(1001, 'x'));
  EXPECT_EQ(noted_damage(config.path), "reported while the gateway ran: " + std::string(1000, 'x'));
  forget_damage(config.path);
  EXPECT_EQ(noted_damage(config.path), "");
}

TEST_F(FileRecovery, a_number_that_was_given_is_not_given_again) {
  restart_with_damage(sound.size() - kPage);
  const auto id = store->enqueue({kPeer, "new", content(1), kNow});
  ASSERT_TRUE(id);
  EXPECT_GT(id->value, ids.back().value);
}

TEST_F(FileRecovery, content_comes_from_the_last_copy_of_the_spool) {
  backups = folder.make("backups");
  ASSERT_TRUE(SpoolBackup(config.path, {.directory = backups}).run(kNow));
  const std::string all(sound.begin(), sound.end());
  restart_with_damage(all.find("content-d") / kPage * kPage);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->lost.empty());
  EXPECT_TRUE(report->held.empty());
  const auto read = ask(ReadContent{ids[3]});
  ASSERT_TRUE(read);
  EXPECT_EQ(std::get<Content>(*read).octets, content(3));
}

TEST_F(FileRecovery, a_lost_file_is_held_as_it_was_in_the_last_copy_of_the_spool) {
  backups = folder.make("backups");
  ASSERT_TRUE(SpoolBackup(config.path, {.directory = backups}).run(kNow));
  const std::string all(sound.begin(), sound.end());
  restart_with_damage(all.find("1.2.3.4name-d") / kPage * kPage);
  ASSERT_TRUE(report);
  EXPECT_FALSE(lost(ids[3]));
  EXPECT_FALSE(report->held.empty());
  ASSERT_TRUE(*store->find(ids[3]));
  EXPECT_EQ((*store->find(ids[3]))->state, SpoolState::held);
  const auto read = ask(ReadContent{ids[3]});
  ASSERT_TRUE(read);
  EXPECT_EQ(std::get<Content>(*read).octets, content(3));
}

TEST_F(FileRecovery, a_full_disk_gives_its_reserve_to_the_fresh_spool) {
  test::PowerVfs disk(test::PowerVfs::Unsynced::kept);
  const std::string reserve = config.path + ".reserve";
  disk.set_full_beside(reserve);
  vfs = disk.name();
  reserve_octets = 100'000;
  before_start = [&] { std::ofstream(reserve) << std::string(reserve_octets, 'r'); };
  const std::string all(sound.begin(), sound.end());
  restart_with_damage(all.find("1.2.3.4name-d") / kPage * kPage);
  ASSERT_TRUE(report);
  EXPECT_TRUE(lost(ids[3]));
  EXPECT_FALSE(fs::exists(reserve) && fs::file_size(reserve) > 0);
  store.reset();
}

}  // namespace
}  // namespace s5066::gateways
