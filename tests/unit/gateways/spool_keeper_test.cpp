// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/spool_keeper.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gateways/common/damage_note.h"
#include "gateways/common/file_recovery.h"
#include "gateways/common/sqlite_store.h"
#include "tests/support/patience.h"
#include "tests/unit/gateways/temporary_folder.h"

namespace s5066::gateways {
namespace {

struct Lines : LogSink {
  void write(LogLevel, std::string_view line) override { text.append(line).append("\n"); }
  int count(const std::string& word) const {
    int found = 0;
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
    return found;
  }
  std::string text;
};

class SpoolKeeperTest : public testing::Test {
 protected:
  SpoolKeeperTest() {
    config.directory = folder.make("spool");
    config.path = config.directory + "/spool.db";
    config.program = "relay";
    config.review = review_files;
    config.tell = [this](const SpoolReport& report) -> Result<void> {
      told.push_back(report.damage);
      return {};
    };
    EXPECT_TRUE(SqliteStore::open({.path = config.path}).ok());
  }
  SpoolKeeper& start() {
    keeper.reset();
    return keeper.emplace(io, log, config, [this] { ++ended; });
  }

  test::TemporaryFolder folder;
  boost::asio::io_context io;
  Lines log;
  SpoolKeeper::Config config;
  std::vector<std::string> told;  // reasons of the recoveries of which the operator was told
  int ended = 0;
  std::optional<SpoolKeeper> keeper;
};

TEST_F(SpoolKeeperTest, has_a_sound_spool_to_itself_until_it_ends) {
  ASSERT_TRUE(start().take().ok());
  EXPECT_TRUE(told.empty());
  SpoolKeeper second(io, log, config, [] {});
  const auto refused = second.take();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::already_exists);
  EXPECT_EQ(refused.error().detail, "spool " + config.directory + " is in use by another relay");
  keeper.reset();
  EXPECT_TRUE(second.take().ok());
}

TEST_F(SpoolKeeperTest, recovers_a_damaged_spool_and_tells_the_log_and_the_operator) {
  note_damage(config.path, "malformed");
  ASSERT_TRUE(start().take().ok());
  EXPECT_EQ(told, std::vector<std::string>{"reported while the gateway ran: malformed"});
  EXPECT_EQ(log.count("spool_recovered"), 1) << log.text;
  ASSERT_TRUE(start().take().ok());
  EXPECT_EQ(told.size(), 1u);
}

TEST_F(SpoolKeeperTest, does_not_take_a_spool_of_whose_recovery_nobody_was_told) {
  note_damage(config.path, "malformed");
  const auto tell = std::exchange(config.tell, [](const SpoolReport&) -> Result<void> {
    return Error{ErrorCode::io, "the inbox is full"};
  });
  const auto failed = start().take();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().detail, "the inbox is full");
  config.tell = tell;
  ASSERT_TRUE(start().take().ok());
  EXPECT_EQ(told.size(), 1u);
}

TEST_F(SpoolKeeperTest, ends_the_gateway_once_on_its_own_thread) {
  ASSERT_TRUE(start().take().ok());
  EXPECT_FALSE(keeper->damage());
  std::thread([&] { keeper->post_damage({ErrorCode::bad_checksum, "page 7"}); }).join();
  EXPECT_EQ(ended, 0);
  io.poll();
  EXPECT_EQ(ended, 1);
  ASSERT_TRUE(keeper->damage());
  EXPECT_EQ(keeper->damage()->detail, "page 7");
  keeper->end_for_damage({ErrorCode::bad_checksum, "page 8"});
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(keeper->damage()->detail, "page 7");
  EXPECT_EQ(log.count("spool_damaged"), 1) << log.text;
}

TEST_F(SpoolKeeperTest, makes_copies_if_a_directory_is_given) {
  ASSERT_TRUE(start().take().ok());
  keeper->start_backups();
  keeper->finish_backups();
  io.restart();
  io.poll();
  EXPECT_EQ(log.text, "");

  config.backup.directory = folder.make("copies");
  ASSERT_TRUE(start().take().ok());
  keeper->start_backups();
  EXPECT_TRUE(test::eventually([&] {
    io.restart();
    io.poll();
    return log.count("spool_backed_up") == 1;
  })) << log.text;
  keeper->finish_backups();
  EXPECT_FALSE(std::filesystem::is_empty(config.backup.directory));
}

}  // namespace
}  // namespace s5066::gateways
