// Indexes of the spool are made anew where they are damaged.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/unit/acp142/damaged_spool.h"

namespace s5066::acp142 {
namespace {

// Goal:   an index costs nobody anything, since all that it holds is in the tables.
// Method: one after the other is damaged in the file, mail_open so that the spool opens by it only
//         when it has been mended.
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

TEST_F(DamagedSpool, an_index_that_is_damaged_again_and_again_is_made_anew_once_an_hour) {
  EXPECT_EQ(take().size(), ids.size());
  const auto damage_open_spool = [&] {
    auto db = gateways::Database::open({.path = config.path});
    // A write of others, so that no page is known from before.
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
