#include "gateways/common/spool_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/gateways/temporary_folder.h"

namespace s5066::gateways {
namespace {

/// What a process of its own hears, which ends without letting go of anything.
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

}  // namespace
}  // namespace s5066::gateways
