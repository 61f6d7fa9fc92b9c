// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/relay_commands.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <fstream>
#include <functional>
#include <thread>

#include "config/proto/control.pb.h"
#include "gateways/common/sqlite_store.h"
#include "gateways/file_relay/relay_service.h"
#include "gateways/file_relay/relay_setup.h"
#include "s5066d/posix/socket.h"
#include "tests/unit/gateways/temporary_folder.h"

namespace s5066::file_relay {
namespace {

using gateways::SpoolChange;

class CollectedLog final : public LogSink {
 public:
  void write(LogLevel, std::string_view line) override { text.append(line).append("\n"); }
  std::string text;
};

class RelayCommands : public testing::Test {
 protected:
  RelayCommands() {
    config.spool_directory = folder.make("spool");
    config.inbox_directory = folder.make("inbox");
    config.file_octets_max = 1000;
    config.spool_reserve_octets = 4096;
  }
  std::string make_file(const std::string& name, std::size_t octets) {
    const auto path = folder.path() / name;
    std::ofstream(path) << std::string(octets, 'x');
    return path.string();
  }
  struct Outcome {
    int status;
    std::string out;
    std::string err;
  };
  Outcome send(const std::string& file) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int status = send_file(config, {.destination = Address{0x01020304}, .file = file}, log);
    std::string out = testing::internal::GetCapturedStdout();
    return {status, std::move(out), testing::internal::GetCapturedStderr()};
  }
  Outcome captured(const std::function<int()>& command) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int status = command();
    std::string out = testing::internal::GetCapturedStdout();
    return {status, std::move(out), testing::internal::GetCapturedStderr()};
  }
  Outcome change(SpoolChange change, std::int64_t id) {
    return captured([&] { return change_file(config, change, SpoolId{id}); });
  }
  Outcome queue(const gateways::ListFilter& filter = {}) {
    return captured([&] { return show_queue(config, filter); });
  }
  /// Returns a line for each file of the queue.
  std::string listed(const gateways::ListFilter& filter = {}) {
    const Outcome shown = captured([&] { return show_queue(config, filter, control::Form::json); });
    EXPECT_EQ(shown.status, 0);
    EXPECT_EQ(shown.err, "");
    const auto queue = control::read_answer<proto::FileQueue>(shown.out);
    EXPECT_TRUE(queue && queue->version() == control::kInterfaceVersion) << shown.out;
    std::string lines = queue->note();
    for (const proto::QueuedFile& file : queue->files()) {
      lines += std::to_string(static_cast<int>(file.id())) + " " + file.state() + " " +
               file.destination() + " " + std::to_string(static_cast<int>(file.octets())) + " " +
               std::to_string(static_cast<int>(file.attempts())) + " " + file.name() +
               (file.last().empty() ? "" : " " + file.last()) + "\n";
    }
    return lines;
  }
  std::size_t rows() {
    return gateways::SqliteStore::open(store_config(config, 0))->list(10)->size();
  }

  test::TemporaryFolder folder;
  RelayConfig config;
  CollectedLog log;
};

TEST_F(RelayCommands, a_file_is_accepted_even_while_the_relay_does_not_run) {
  const Outcome sent = send(make_file("a.txt", 1000));
  EXPECT_EQ(sent.status, 0);
  EXPECT_EQ(sent.out, "accepted item=1\n");
  EXPECT_NE(sent.err.find("does not run"), std::string::npos);
  EXPECT_EQ(rows(), 1u);
}

TEST_F(RelayCommands, a_file_that_cannot_be_taken_is_refused_with_its_reason) {
  const auto refused = [&](const std::string& file, const std::string& reason) {
    SCOPED_TRACE(file);
    const Outcome sent = send(file);
    EXPECT_EQ(sent.status, 1);
    EXPECT_TRUE(sent.out.empty());
    EXPECT_NE(sent.err.find(reason), std::string::npos) << sent.err;
    EXPECT_NE(log.text.find(reason), std::string::npos) << log.text;
  };
  refused((folder.path() / "vanished").string(), "No such file or directory");
  refused(folder.path().string(), "Is a directory");
  refused(make_file("large", 1001), "larger than the limit of 1000 octets");
  const std::string fifo = (folder.path() / "fifo").string();
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  refused(fifo, "Not a regular file");
  EXPECT_EQ(rows(), 0u);
  std::filesystem::remove_all(config.spool_directory);
  refused(make_file("a.txt", 10), "unable to open database file");
}

TEST_F(RelayCommands, a_name_can_neither_break_the_list_nor_steer_the_terminal) {
  ASSERT_EQ(send(make_file("a\tb\n\x1b[2J\x7f\\x\xc3\xa4", 10)).status, 0);
  EXPECT_EQ(queue({.over = true}).out,
            "id  state     destination  octets  attempts  name\n"
            "1   incoming  1.2.3.4      10      0         "
            "a\\x09b\\x0a\\x1b[2J\\x7f\\\\x\xc3\xa4\n");
}

TEST_F(RelayCommands, a_name_shows_what_is_not_utf8_and_what_turns_text_round) {
  ASSERT_EQ(send(make_file("R\xf6ntgen", 10)).status, 0);
  ASSERT_EQ(send(make_file("fdp.\xe2\x80\xaetxt", 10)).status, 0);
  ASSERT_EQ(send(make_file("a\xc2\x9b"
                           "2Jb",
                           10))
                .status,
            0);
  EXPECT_EQ(queue({.over = true}).out,
            "id  state     destination  octets  attempts  name\n"
            "3   incoming  1.2.3.4      10      0         a\\xc2\\x9b2Jb\n"
            "2   incoming  1.2.3.4      10      0         fdp.\\xe2\\x80\\xaetxt\n"
            "1   incoming  1.2.3.4      10      0         R\\xf6ntgen\n");
  const Outcome refused = send((folder.path() / "\xe2\x80\xaetxt.\xff").string());
  EXPECT_NE(refused.err.find("/\\xe2\\x80\\xaetxt.\\xff: No such file"), std::string::npos)
      << refused.err;
}

TEST_F(RelayCommands, a_full_disk_is_said_to_the_sender_and_the_list_still_comes) {
  ASSERT_EQ(send(make_file("a.txt", 10)).status, 0);
  config.spool_reserve_octets = std::uint64_t{1} << 60;
  const Outcome sent = send(make_file("b.txt", 10));
  EXPECT_EQ(sent.status, 1);
  EXPECT_TRUE(sent.out.empty());
  EXPECT_NE(sent.err.find("the disk of the spool"), std::string::npos) << sent.err;
  EXPECT_EQ(listed({.over = true}), "1 incoming 1.2.3.4 10 0 a.txt\n");
}

TEST_F(RelayCommands, a_file_can_be_changed_while_no_relay_runs) {
  ASSERT_EQ(send(make_file("a.txt", 10)).status, 0);
  EXPECT_EQ(change(SpoolChange::hold, 1).out, "ok\n");
  EXPECT_EQ(listed(), "1 held 1.2.3.4 10 0 a.txt\n");
  const Outcome again = change(SpoolChange::hold, 1);
  EXPECT_EQ(again.status, 1);
  EXPECT_EQ(again.err, "s5066-relay: the file is held\n");
  EXPECT_EQ(change(SpoolChange::release, 1).status, 0);
  EXPECT_EQ(change(SpoolChange::retry, 1).status, 0);
  EXPECT_EQ(listed(), "1 incoming 1.2.3.4 10 0 a.txt\n");
  EXPECT_EQ(change(SpoolChange::cancel, 1).status, 0);
  EXPECT_EQ(queue().out, "nothing waits; `queue --all` lists what is over\n");
  EXPECT_EQ(listed({.over = true}), "1 failed 1.2.3.4 10 0 a.txt cancelled by the operator\n");
  EXPECT_EQ(queue({.state = SpoolState::held}).out, "no file matches\n");
  const Outcome late = change(SpoolChange::retry, 1);
  EXPECT_EQ(late.status, 1);
  EXPECT_NE(late.err.find("send it again"), std::string::npos) << late.err;
  EXPECT_EQ(change(SpoolChange::cancel, 2).err, "s5066-relay: no such file in the spool\n");
}

TEST_F(RelayCommands, a_spool_that_a_relay_is_just_opening_is_not_changed) {
  ASSERT_EQ(send(make_file("a.txt", 10)).status, 0);
  const posix::Fd lock(::open((config.spool_directory + "/lock").c_str(), O_RDWR | O_CREAT, 0600));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX), 0);
  EXPECT_EQ(change(SpoolChange::hold, 1).status, 1);
  EXPECT_EQ(listed(), "1 incoming 1.2.3.4 10 0 a.txt\n");
}

TEST_F(RelayCommands, show_tells_what_a_file_waits_for) {
  ASSERT_EQ(send(make_file("a\n.txt", 10)).status, 0);
  const auto show = [&](std::int64_t id) {
    return captured([&] { return show_file(config, SpoolId{id}); });
  };
  const std::string begin =
      "id 1\nstate incoming\ndestination 1.2.3.4\npriority 4\noctets 10\nattempts 0\n"
      "name a\\x0a.txt\nexpires 20";
  EXPECT_EQ(show(1).out.substr(0, begin.size()), begin);
  EXPECT_NE(show(1).out.find("\nwaits_for the relay, which does not run\n"), std::string::npos);
  ASSERT_EQ(change(SpoolChange::hold, 1).status, 0);
  EXPECT_NE(show(1).out.find("\nwaits_for the operator, who holds it\n"), std::string::npos);
  ASSERT_EQ(change(SpoolChange::cancel, 1).status, 0);
  EXPECT_NE(show(1).out.find("\nlast cancelled by the operator\n"), std::string::npos);
  EXPECT_EQ(show(1).out.find("expires"), std::string::npos);
  const Outcome json = captured([&] { return show_file(config, SpoolId{1}, control::Form::json); });
  const auto details = control::read_answer<proto::FileDetails>(json.out);
  ASSERT_TRUE(details) << json.out;
  EXPECT_EQ(details->version(), control::kInterfaceVersion);
  EXPECT_EQ(details->name(), "a\n.txt");
  const Outcome none = captured([&] { return show_file(config, SpoolId{2}, control::Form::json); });
  EXPECT_EQ(none.status, 1);
  EXPECT_EQ(none.err, "");
  EXPECT_EQ(control::read_answer<proto::FileDetails>(none.out).error().code, ErrorCode::not_found);
  EXPECT_EQ(show(2).status, 1);
}

TEST_F(RelayCommands, two_relays_do_not_share_a_spool) {
  const posix::Fd lock(::open((config.spool_directory + "/lock").c_str(), O_RDWR | O_CREAT, 0600));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX), 0);
  const auto started = RelayService(config, log).run();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::already_exists);
}

TEST_F(RelayCommands, a_relay_does_not_start_without_its_inbox) {
  std::filesystem::remove(config.inbox_directory);
  auto started = RelayService(config, log).run();
  ASSERT_FALSE(started);
  EXPECT_NE(started.error().detail.find("No such file or directory"), std::string::npos);
  config.inbox_directory = config.spool_directory + "/lock";
  started = RelayService(config, log).run();
  ASSERT_FALSE(started);
  EXPECT_NE(started.error().detail.find("Not a directory"), std::string::npos);
}

TEST(RelayProgress, shows_state_octets_rate_and_time_left) {
  EXPECT_EQ(progress_text("made", 20000, {10, 0}, {10, 0}),
            "link made, 0 of 20000 octets acknowledged (0 %)");
  EXPECT_EQ(progress_text("made", 20000, {10, 1000}, {20, 6000}),
            "link made, 6000 of 20000 octets acknowledged (30 %), 4000 bit/s, 28 s left");
  EXPECT_EQ(progress_text("", 20000, {10, 1000}, {20, 20000}),
            "20000 of 20000 octets acknowledged (100 %), 15200 bit/s, 0 s left");
}

TEST_F(RelayCommands, an_empty_spool_is_listed_as_empty_and_that_is_no_error) {
  for (int i = 0; i < 2; ++i) {  // without a database, and with an empty one
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    EXPECT_EQ(show_queue(config, {.over = true}), 0);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "the spool is empty\n");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  }
}

// Goal:   a service that is not root can use a spool that root's `send` has made before.
TEST_F(RelayCommands, a_file_that_root_sends_first_leaves_a_spool_that_the_service_can_write) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  constexpr uid_t kService = 61234;
  const std::string file = make_file("f", 10);
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);  // only root may read it
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  ASSERT_EQ(::chown(config.spool_directory.c_str(), kService, kService), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(send_file(config, {.destination = Address{0x01020304}, .file = file}, log));
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(config.spool_directory)) {
    struct stat made {};
    ASSERT_EQ(::stat(entry.path().c_str(), &made), 0);
    EXPECT_EQ(made.st_uid, kService) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 1u);
  EXPECT_EQ(rows(), 1u);
}

}  // namespace
}  // namespace s5066::file_relay
