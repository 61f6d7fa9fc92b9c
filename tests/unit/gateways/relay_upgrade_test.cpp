// SPDX-License-Identifier: Apache-2.0
// The relay opens the spool of version 0.2.0, which had the first 13 steps of the schema.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "gateways/common/migrations.h"
#include "gateways/common/sqlite_store.h"
#include "gateways/common/sqlite_store_db.h"
#include "tests/unit/gateways/temporary_folder.h"

namespace s5066::gateways {
namespace {

constexpr UtcSeconds kNow{1'000'000};
constexpr int kStepsOf020 = 13;
const Bytes kHello{'h', 'e', 'l', 'l', 'o'};
// SHA-256 of "hello"
constexpr const char* kDigest =
    "X'2CF24DBA5FB0A30E26E83B2AC5B9E29E1B161E5C1FA7425E73043362938B9824'";

/// A file waits, another is on the air, a third is delivered, and one has arrived.
class RelayUpgrade : public testing::Test {
 protected:
  RelayUpgrade() {
    config_.path = (folder_.path() / "spool.db").string();
    config_.inbox = folder_.make("inbox");
    auto db = Database::open({.path = config_.path});
    EXPECT_TRUE(db);
    const auto execute = [&db](const std::string& sql) {
      const auto done = db->execute(sql.c_str());
      EXPECT_TRUE(done) << sql;
    };
    for (const Migration& step : migrations()) {
      if (step.number <= kStepsOf020) execute(step.sql);
    }
    const std::string rows =
        "INSERT INTO outgoing (id, destination, name, size, sha256, updu_id, state, attempts, "
        "created_utc, next_try_utc) VALUES (";
    const std::string digest = kDigest;
    execute(rows + "1, '1.2.3.4', X'61', 5, " + digest + ", 9, 'delivered', 1, 999000, 999000)");
    execute(rows + "2, '1.2.3.4', X'62', 5, " + digest + ", 10, 'active', 2, 999000, 999900)");
    execute(rows + "3, '1.2.3.5', X'63', 5, " + digest + ", 0, 'incoming', 0, 999000, 999000)");
    execute("INSERT INTO outgoing_content (id, content) VALUES (2, X'68656C6C6F')");
    execute("INSERT INTO outgoing_content (id, content) VALUES (3, X'68656C6C6F')");
    execute("INSERT INTO outgoing_try (item) VALUES (1), (2)");
    execute("INSERT INTO outgoing_priority (item, priority) VALUES (3, 9)");
    execute("INSERT INTO updu_counter (only, next) VALUES (1, 11)");
    execute(
        "INSERT INTO received (source, source_sap, updu_id, name, size, sha256, state, "
        "temporary_name, inbox_name, received_utc) VALUES ('1.2.3.4', 6, 5, X'64', 5, " +
        digest + ", 'delivered', '', X'64', 999999)");
    execute("PRAGMA user_version = " + std::to_string(kStepsOf020));
  }

  void open() {
    auto opened = SqliteStore::open(config_);
    ASSERT_TRUE(opened) << to_string(opened.error());
    store_.emplace(std::move(opened).value());
  }
  Result<StoreAnswer> ask(StoreOperation operation) {
    return store_->execute({StoreTicket{1}, std::move(operation)}).answer;
  }

  test::TemporaryFolder folder_;
  SqliteStore::Config config_;
  std::optional<SqliteStore> store_;
};

TEST_F(RelayUpgrade, what_waits_goes_on_with_its_content_and_number) {
  open();
  const auto answer = ask(ListOpen{{}, 100});
  ASSERT_TRUE(answer);
  const auto& items = std::get<OpenItems>(*answer).items;
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0].id.value, 2);
  EXPECT_EQ(items[0].attempts, 2u);
  EXPECT_EQ(items[0].updu_id, 10);
  EXPECT_EQ(items[1].id.value, 3);
  EXPECT_EQ(items[1].name, "c");
  EXPECT_EQ(items[1].priority, 9);
  for (const SpoolItem& item : items) {
    const auto content = ask(ReadContent{item.id});
    ASSERT_TRUE(content) << to_string(content.error());
    EXPECT_EQ(std::get<Content>(*content).octets, kHello);
    EXPECT_TRUE(ask(SaveItem{item.id, SpoolState::delivered, item.attempts + 1, kNow, kNow, ""}));
  }
  EXPECT_TRUE(std::get<OpenItems>(*ask(ListOpen{{}, 100})).items.empty());
  EXPECT_EQ(store_->list(100)->size(), 3u);
}

TEST_F(RelayUpgrade, a_repeat_of_what_arrived_before_is_known) {
  open();
  const auto repeat = ask(StoreFile{Address{0x01020304}, SapId{6}, 5, "d",
                                    std::make_shared<const Bytes>(kHello), kNow});
  ASSERT_TRUE(repeat) << to_string(repeat.error());
  EXPECT_TRUE(std::get<FileStored>(*repeat).repeated);
}

TEST_F(RelayUpgrade, the_next_start_changes_nothing) {
  open();
  ASSERT_TRUE(store_->enqueue({Address{0x01020304}, "new", kHello, kNow}));
  store_.reset();
  open();
  EXPECT_EQ(std::get<OpenItems>(*ask(ListOpen{{}, 100})).items.size(), 3u);
}

}  // namespace
}  // namespace s5066::gateways
