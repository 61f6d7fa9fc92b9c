// SPDX-License-Identifier: Apache-2.0
// A gateway copies its spool while it serves.
#include "gateways/common/spool_backup.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "gateways/common/sqlite_store.h"
#include "tests/unit/gateways/temporary_folder.h"

namespace s5066::gateways {
namespace {

constexpr UtcSeconds kNow{1'000'000};

class Backup : public testing::Test {
 protected:
  Backup() {
    config.path = (folder.path() / "spool.db").string();
    settings.directory = folder.make("backup");
    settings.interval_s = 100;
    settings.copies = 2;
    auto opened = SqliteStore::open(config);
    EXPECT_TRUE(opened);
    store.emplace(std::move(opened).value());
    enqueue();
  }
  void enqueue() { EXPECT_TRUE(store->enqueue({Address{0x01020304}, "a", {1, 2, 3}, kNow})); }
  /// The path of the copy, empty where none was due.
  std::string copy(std::int64_t after_s) {
    const auto made = SpoolBackup(config.path, settings).run({kNow.value + after_s});
    EXPECT_TRUE(made) << to_string(made.error());
    return made && *made ? **made : "";
  }
  static std::size_t files_in(const std::string& path) {
    SqliteStore::Config config;
    config.path = path;
    auto opened = SqliteStore::open(config);
    EXPECT_TRUE(opened) << to_string(opened.error());
    return opened ? opened->list(100)->size() : 0;
  }
  std::size_t copies() const { return test::visible_files(settings.directory).size(); }

  test::TemporaryFolder folder;
  SqliteStore::Config config;
  BackupSettings settings;
  std::optional<SqliteStore> store;
};

TEST_F(Backup, a_copy_is_whole_and_opens_while_the_spool_is_in_use) {
  const std::string first = copy(0);
  enqueue();
  const std::string second = copy(100);
  EXPECT_EQ(files_in(first), 1u);
  EXPECT_EQ(files_in(second), 2u);
  EXPECT_EQ(files_in(config.path), 2u);
}

TEST_F(Backup, a_copy_is_made_when_the_last_one_is_old_enough_and_not_before) {
  EXPECT_NE(copy(0), "");
  EXPECT_EQ(copy(99), "");
  EXPECT_NE(copy(100), "");
  EXPECT_NE(copy(50), "");  // the clock was put back
}

TEST_F(Backup, older_copies_are_deleted_above_the_number_that_is_kept) {
  const std::string first = copy(0);
  copy(100);
  EXPECT_TRUE(std::filesystem::exists(first));
  copy(200);
  EXPECT_FALSE(std::filesystem::exists(first));
  EXPECT_EQ(copies(), 2u);
}

TEST_F(Backup, a_damaged_spool_replaces_no_copy) {
  copy(0);
  copy(100);
  store.reset();
  std::fstream file(config.path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(2 * 4096).put('\xff');
  file.close();
  EXPECT_FALSE(SpoolBackup(config.path, settings).run({kNow.value + 200}));
  EXPECT_EQ(copies(), 2u);
  EXPECT_EQ(files_in(settings.directory + "/spool-19700112T134640Z.db"), 1u);
}

TEST_F(Backup, a_directory_that_is_not_there_is_an_error) {
  settings.directory += "-gone";
  EXPECT_FALSE(SpoolBackup(config.path, settings).run(kNow));
}

}  // namespace
}  // namespace s5066::gateways
