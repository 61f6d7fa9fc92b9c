// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/spool_lock.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gateways/common/migrations.h"
#include "gateways/common/sqlite_store.h"
#include "gateways/common/sqlite_store_db.h"
#include "tests/unit/gateways/temporary_folder.h"

namespace s5066::gateways {
namespace {

/// Returns the answer to a process of its own, which ends without releasing anything.
std::string heard_by_another_process(const std::string& directory) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = lock_spool(directory, "relay");
    const std::string heard = lock ? "it is ours" : lock.error().detail;
    const auto written = ::write(ends[1], heard.data(), heard.size());
    ::_exit(written == static_cast<ssize_t>(heard.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string heard(1000, '\0');
  const auto octets = ::read(ends[0], heard.data(), heard.size());
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  heard.resize(octets > 0 ? static_cast<std::size_t>(octets) : 0);
  return heard;
}

TEST(SpoolLock, refuses_a_second_process_until_the_first_lets_go) {
  test::TemporaryFolder folder;
  const std::string spool = folder.make("spool");
  {
    const auto lock = lock_spool(spool, "relay");
    ASSERT_TRUE(lock.ok());
    EXPECT_EQ(heard_by_another_process(spool), "spool " + spool + " is in use by another relay");
    EXPECT_EQ(lock_spool(spool, "gateway").error().code, ErrorCode::already_exists);
  }
  EXPECT_EQ(heard_by_another_process(spool), "it is ours");
}

mode_t mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

TEST(SpoolLock, only_the_owner_can_read_a_spool_whoever_made_it) {
  test::TemporaryFolder folder;
  const std::string path = folder.make("spool") + "/spool.db";
  const mode_t before = ::umask(0);
  const auto made = SqliteStore::open({.path = path});
  ::umask(before);
  ASSERT_TRUE(made.ok());
  for (const char* suffix : {"", "-wal", "-shm"}) EXPECT_EQ(mode_of(path + suffix), 0600u);
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);  // as earlier programs made it
  ASSERT_TRUE(SqliteStore::open({.path = path}).ok());
  EXPECT_EQ(mode_of(path), 0600u);
}

TEST(SpoolLock, a_spool_of_a_newer_program_is_refused_without_opening_it) {
  test::TemporaryFolder folder;
  const std::string spool = folder.make("spool");
  EXPECT_TRUE(check_spool_version(spool).ok()) << "there is none yet";
  { ASSERT_TRUE(SqliteStore::open({.path = spool + "/spool.db"}).ok()); }
  EXPECT_TRUE(check_spool_version(spool).ok());
  const auto newest = static_cast<int>(migrations().size());
  {
    auto db = Database::open({.path = spool + "/spool.db"});
    ASSERT_TRUE(db.ok());
    const std::string set = "PRAGMA user_version = " + std::to_string(newest + 1);
    ASSERT_TRUE(db->execute(set.c_str()).ok());
  }
  const auto checked = check_spool_version(spool);
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().code, ErrorCode::unsupported);
  EXPECT_NE(checked.error().detail.find("has form " + std::to_string(newest + 1)),
            std::string::npos)
      << checked.error().detail;
}

TEST(SpoolLock, goes_with_a_process_that_dies) {
  test::TemporaryFolder folder;
  const std::string spool = folder.make("spool");
  EXPECT_EQ(heard_by_another_process(spool), "it is ours");
  EXPECT_TRUE(lock_spool(spool, "relay").ok());
}

TEST(SpoolLock, keeps_spools_apart_and_wants_a_folder) {
  test::TemporaryFolder folder;
  const auto first = lock_spool(folder.make("first"), "relay");
  EXPECT_TRUE(first.ok());
  EXPECT_TRUE(lock_spool(folder.make("second"), "relay").ok());
  EXPECT_EQ(lock_spool(folder.path() / "none", "relay").error().code, ErrorCode::io);
}

constexpr uid_t kService = 61234;  // any user that is not root

/// Returns the exit status of a process of its own that runs `body` as this user.
template <typename Body>
int status_of(uid_t user, const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool became = user == 0 || (::setgid(user) == 0 && ::setuid(user) == 0);
    ::_exit(became ? body() : 99);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

class SpoolOwner : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
    ASSERT_EQ(::chown(spool.c_str(), kService, kService), 0);
  }
  static uid_t owner_of(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
    return status.st_uid;
  }
  test::TemporaryFolder folder;
  std::string spool = folder.make("spool");
};

TEST_F(SpoolOwner, a_spool_that_the_service_cannot_write_is_named_with_its_owner) {
  ASSERT_TRUE(SqliteStore::open({.path = spool + "/spool.db"}));
  EXPECT_EQ(owner_of(spool + "/spool.db"), 0u);
  EXPECT_EQ(status_of(kService,
                      [&] {
                        const auto may = check_spool_writable(spool);
                        if (may || may.error().code != ErrorCode::refused) return 1;
                        return may.error().detail ==
                                       "spool " + spool +
                                           "/spool.db belongs to root and cannot be written by "
                                           "61234: act as its owner by sudo, or, if 61234 runs "
                                           "the service, chown -R 61234: " +
                                           spool
                                   ? 0
                                   : 2;
                      }),
            0);
  EXPECT_TRUE(check_spool_writable(spool));  // root can write it
}

}  // namespace
}  // namespace s5066::gateways
