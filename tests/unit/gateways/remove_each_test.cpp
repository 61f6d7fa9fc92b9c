// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/remove_each.h"

#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <string>

#include "tests/unit/gateways/power_vfs.h"
#include "tests/unit/gateways/temporary_folder.h"

namespace s5066::gateways {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr int kRows = 1000;

/// The table has rows of which three fill a page.
class RemoveEach : public testing::Test {
 protected:
  RemoveEach() : vfs(test::PowerVfs::Unsynced::kept) {
    open();
    EXPECT_TRUE(db->execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, filler BLOB)"));
    const std::string fill =
        "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < " +
        std::to_string(kRows) + ") INSERT INTO rows SELECT id, zeroblob(1200) FROM n";
    EXPECT_TRUE(db->execute(fill.c_str()));
    open();  // the new connection has an empty cache
  }
  ~RemoveEach() override { db.reset(); }
  void open() {
    db.reset();
    auto opened = Database::open({.path = (folder.path() / "rows.db").string(), .vfs = vfs.name()});
    ASSERT_TRUE(opened);
    db.emplace(std::move(opened).value());
  }
  Result<void> remove(int rows = kRows) {
    std::vector<std::int64_t> ids(static_cast<std::size_t>(rows));
    std::iota(ids.begin(), ids.end(), 1);
    return remove_each(*db, ids, [this](std::int64_t id) -> Result<void> {
      auto row = db->prepare("DELETE FROM rows WHERE id = ?");
      return row ? row->bind(id).run() : row.error();
    });
  }
  std::int64_t left() {
    vfs.set_bad(0, 0);
    open();
    auto count = db->prepare("SELECT count(*) FROM rows");
    EXPECT_TRUE(count && count->step());
    return count->integer(0);
  }

  test::TemporaryFolder folder;
  test::PowerVfs vfs;
  std::optional<Database> db;
};

TEST_F(RemoveEach, all_go_that_are_asked_for_and_no_others) {
  EXPECT_TRUE(remove(kRows - 1));
  EXPECT_EQ(left(), 1);
}

TEST_F(RemoveEach, a_disk_that_does_not_read_ends_it_and_keeps_what_was_committed) {
  vfs.set_bad(200 * kPage, kPage);
  EXPECT_FALSE(remove());
  const std::int64_t rest = left();
  EXPECT_GT(rest, 0);
  EXPECT_LT(rest, kRows);
  EXPECT_TRUE(remove());
  EXPECT_EQ(left(), 0);
}

TEST_F(RemoveEach, a_row_that_cannot_be_removed_ends_it) {
  const std::vector<std::int64_t> ids{1, 2, 3};
  const auto removed = remove_each(*db, ids, [this](std::int64_t id) -> Result<void> {
    auto row =
        db->prepare(id == 2 ? "DELETE FROM nothing WHERE id = ?" : "DELETE FROM rows WHERE id = ?");
    return row ? row->bind(id).run() : row.error();
  });
  EXPECT_FALSE(removed);
  EXPECT_EQ(left(), kRows);
}

}  // namespace
}  // namespace s5066::gateways
