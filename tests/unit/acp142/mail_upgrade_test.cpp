// SPDX-License-Identifier: Apache-2.0
// The gateway opens a spool that an older gateway has left.
#include <gtest/gtest.h>

#include <optional>

#include "gateways/acp142/store/sqlite_mail_store.h"
#include "tests/unit/gateways/temporary_folder.h"

namespace s5066::acp142 {
namespace {

constexpr UtcSeconds kNow{1'000'000};

/// Three messages are on the air: to one station, to one station for two recipients, and to two
/// stations.
class MailUpgrade : public testing::Test {
 protected:
  MailUpgrade() {
    reopen();
    keep({2});
    keep({2, 2});
    keep({2, 3});
    std::uint32_t number = 77;
    for (const MailItem& item : take()) {
      EXPECT_TRUE(ask(SaveSubmission{item.id, number++, 500, {{{2}, 9}, {{3}, 4}}}));
    }
  }
  void reopen() {
    store.reset();
    auto opened = SqliteMailStore::open({.path = (folder.path() / "spool.db").string()});
    ASSERT_TRUE(opened) << to_string(opened.error());
    store.emplace(std::move(opened).value());
  }
  void make_older() {
    store.reset();
    auto db = gateways::Database::open({.path = (folder.path() / "spool.db").string()});
    ASSERT_TRUE(db);
    for (const char* sql :
         {"DROP TABLE mail_mark", "DROP TABLE mail_submitted",
          "ALTER TABLE mail_received DROP COLUMN sha256", "PRAGMA user_version = 6"}) {
      ASSERT_TRUE(db->execute(sql)) << sql;
    }
  }
  Result<MailAnswer> ask(MailOperation operation) {
    std::vector<MailRequest> one(1);
    one[0].operation = std::move(operation);
    return store->execute(one)[0].answer;
  }
  void keep(const std::vector<std::uint32_t>& stations) {
    NewMail mail;
    mail.expiry = {kNow.value + 1000};
    mail.from = {"a@b", {}};
    for (const std::uint32_t station : stations) {
      const std::string name = "r" + std::to_string(mail.targets.size());
      mail.targets.push_back({{name + "@x", {}}, {station}, ""});
    }
    mail.content = std::make_shared<const Bytes>(100, std::uint8_t{65});
    ASSERT_TRUE(ask(AcceptMail{{mail}, kNow, {}, {}}));
  }
  std::vector<MailItem> take() {
    return std::get<TakenMail>(*ask(TakeDue{Transport::air, kNow, 100})).items;
  }
  std::vector<MailItem> take_after_restart() {
    reopen();
    EXPECT_TRUE(ask(Resume{kNow}));
    auto items = take();
    EXPECT_EQ(items.size(), 3u);
    items.resize(3);
    return items;
  }

  test::TemporaryFolder folder;
  std::optional<SqliteMailStore> store;
};

// PM-020, PM-021. Its receivers may hold blocks of other octets under the number.
TEST_F(MailUpgrade, what_was_begun_to_several_stations_begins_anew_once) {
  make_older();
  const auto items = take_after_restart();
  for (const int one_station : {0, 1}) {
    const MailItem& item = items[static_cast<std::size_t>(one_station)];
    EXPECT_EQ(item.message_id, 77u + static_cast<std::uint32_t>(one_station));
    EXPECT_EQ(item.block_octets, 500u);
    EXPECT_EQ(item.targets[0].sequence, 9u);
  }
  EXPECT_EQ(items[2].message_id, 0u);
  EXPECT_EQ(items[2].block_octets, 0u);
  for (const MailTarget& target : items[2].targets) EXPECT_EQ(target.sequence, 0u);

  ASSERT_TRUE(ask(SaveSubmission{items[2].id, 90, 400, {{{2}, 10}}}));
  const auto again = take_after_restart();
  EXPECT_EQ(again[2].message_id, 90u);
  EXPECT_EQ(again[2].block_octets, 400u);
  EXPECT_EQ(again[2].targets[0].sequence, 10u);
  EXPECT_EQ(again[2].targets[1].sequence, 0u);  // it had the number of before
}

TEST_F(MailUpgrade, what_this_gateway_has_begun_goes_on_under_its_number) {
  const auto items = take_after_restart();
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(items[i].message_id, 77u + i);
  EXPECT_EQ(items[2].targets[1].sequence, 4u);
}

}  // namespace
}  // namespace s5066::acp142
