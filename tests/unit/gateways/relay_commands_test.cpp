// SPDX-License-Identifier: Apache-2.0
// The commands of an operator against a file relay that serves without a subnet server, so that its
// files wait.
#include "gateways/file_relay/transfer_commands.h"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <thread>

#include "config/proto/control.pb.h"
#include "gateways/common/sqlite_store.h"
#include "gateways/file_relay/file_wait.h"
#include "gateways/file_relay/relay_requests.h"
#include "gateways/file_relay/relay_service.h"
#include "gateways/file_relay/relay_setup.h"
#include "s5066d/control/control_socket.h"
#include "s5066d/control/json.h"
#include "s5066d/posix/socket.h"
#include "tests/support/patience.h"
#include "tests/unit/gateways/temporary_folder.h"

namespace s5066::file_relay {
namespace {

constexpr Address kPeer{0x01020304};

struct NoLog final : LogSink {
  void write(LogLevel, std::string_view) override {}
};

class RelayCommands : public testing::Test {
 protected:
  RelayCommands() {
    config.sis_port = 1;  // nothing listens there
    config.spool_directory = folder.make("spool");
    config.inbox_directory = folder.make("inbox");
    config.file_octets_max = 1000;
    config.spool_reserve_octets = 4096;
    config.control_socket = (folder.path() / "control").string();
  }
  ~RelayCommands() override { stop(); }

  void start() {
    service.emplace(config, log);
    const auto started = service->start();
    ASSERT_TRUE(started) << started.error().detail;
    loop = std::thread([this] { service->io().run(); });
  }
  void stop() {
    if (!loop.joinable()) return;
    service->io().stop();
    loop.join();
    service.reset();
  }
  std::string make_file(const std::string& name, std::size_t octets) {
    const auto path = folder.path() / name;
    std::ofstream(path) << std::string(octets, 'x');
    return path.string();
  }
  gateways::ServiceClient relay(control::Form form = control::Form::text) const {
    return gateways::ServiceClient({.program = "s5066-relay",
                                    .socket = config.control_socket,
                                    .start = "s5066-relay run --config f",
                                    .form = form});
  }

  struct Outcome {
    int status;
    std::string out;
    std::string err;
  };
  Outcome captured(const std::function<int()>& command) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int status = command();
    std::string out = testing::internal::GetCapturedStdout();
    return {status, std::move(out), testing::internal::GetCapturedStderr()};
  }
  Outcome put(const std::vector<std::string>& files) {
    return captured([&] { return put_files(relay(), config, {.files = files, .to = {kPeer}}); });
  }
  template <typename Answer>
  Outcome ask(const std::string& request) {
    return captured([&] { return relay().ask_and_print(request, Answer::default_instance()); });
  }
  /// Asks again while the relay reads the list of waiting files, as its answer says.
  Outcome change(const std::string& request) {
    Outcome outcome;
    test::eventually([&] {
      outcome = ask<proto::Done>(request);
      return outcome.err.find("ask again") == std::string::npos;
    });
    return outcome;
  }
  /// Returns a line for each file of the queue.
  std::string listed(const std::string& words = "") {
    const auto queue = relay().ask<proto::FileQueue>("queue " + words);
    EXPECT_TRUE(queue && queue->version() == control::kInterfaceVersion);
    if (!queue) return queue.error().detail;
    std::string lines = queue->note();
    for (const proto::QueuedFile& file : queue->files()) {
      lines += std::to_string(static_cast<int>(file.id())) + " " + file.state() + " " +
               file.destination() + " " + std::to_string(static_cast<int>(file.octets())) + " " +
               std::to_string(static_cast<int>(file.attempts())) + " " + file.name() +
               (file.last().empty() ? "" : " " + file.last()) + "\n";
    }
    return lines;
  }

  test::TemporaryFolder folder;
  RelayConfig config;
  NoLog log;
  std::optional<RelayService> service;
  std::thread loop;
};

TEST_F(RelayCommands, a_file_goes_through_the_relay_into_the_spool) {
  ASSERT_NO_FATAL_FAILURE(start());
  const Outcome sent = put({make_file("a.txt", 1000)});
  EXPECT_EQ(sent.status, 0) << sent.err;
  EXPECT_EQ(sent.out, "accepted item=1 peer=1.2.3.4 name=a.txt\n");
  EXPECT_EQ(listed(), "1 incoming 1.2.3.4 1000 0 a.txt\n");
  stop();
  auto store = gateways::SqliteStore::open(store_config(config, 0));
  EXPECT_EQ(store->list(10)->size(), 1u);
}

TEST_F(RelayCommands, without_a_relay_nothing_is_accepted_and_the_cure_is_said) {
  const Outcome sent = put({make_file("a.txt", 10), make_file("b.txt", 10)});
  EXPECT_EQ(sent.status, 1);
  EXPECT_EQ(sent.out, "");
  EXPECT_EQ(sent.err, "s5066-relay: no program answers there: control socket " +
                          config.control_socket + ": connect to " + config.control_socket +
                          ": No such file or directory; start it with `s5066-relay run --config "
                          "f`\n");
  EXPECT_EQ(ask<proto::FileQueue>("queue").err, sent.err);
  EXPECT_EQ(ask<proto::FileDetails>("show 1").err, sent.err);
  EXPECT_TRUE(std::filesystem::is_empty(config.spool_directory));
}

TEST_F(RelayCommands, a_file_that_cannot_be_taken_is_refused_with_its_reason_and_the_others_go) {
  ASSERT_NO_FATAL_FAILURE(start());
  const std::string fifo = (folder.path() / "fifo").string();
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  for (const auto& [file, reason] :
       {std::pair{(folder.path() / "vanished").string(), "No such file or directory"},
        {make_file("large", 1001), "larger than the limit of 1000 octets"},
        {fifo, "Not a regular file"},
        {std::string("/dev/zero"), "Not a regular file"},
        {make_file(std::string(250, 'n'), 10), "accepted"}}) {
    const Outcome sent = put({file});
    EXPECT_NE((sent.out + sent.err).find(reason), std::string::npos) << sent.err;
    EXPECT_EQ(sent.status, reason == std::string("accepted") ? 0 : 1);
  }
  const Outcome both = put({fifo, make_file("good", 10)});
  EXPECT_EQ(both.status, 1);
  EXPECT_EQ(both.out, "accepted item=2 peer=1.2.3.4 name=good\n");
}

TEST_F(RelayCommands, a_full_disk_is_said_to_the_sender_and_the_list_still_comes) {
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_EQ(put({make_file("a.txt", 10)}).status, 0);
  stop();
  config.spool_reserve_octets = std::uint64_t{1} << 60;
  ASSERT_NO_FATAL_FAILURE(start());
  const std::string file = make_file("b.txt", 10);
  const Outcome sent = put({file});
  EXPECT_EQ(sent.status, 1);
  EXPECT_EQ(sent.out, "");
  EXPECT_TRUE(sent.err.starts_with("s5066-relay: " + file + ": the disk of the spool")) << sent.err;
  EXPECT_EQ(listed(), "1 incoming 1.2.3.4 10 0 a.txt\n");
}

/// A relay that takes requests, tells what it was asked, and answers as a test wants.
class FakeRelay : public RelayCommands {
 protected:
  void serve(std::function<Result<std::string>(std::size_t stations)> answer) {
    socket.emplace(
        io, control_socket(config),
        [this, answer = std::move(answer)](std::string_view request, posix::PassedFile) {
          const std::string_view rest = request.substr(request.find("1.2"));
          asked.emplace_back(rest.substr(0, rest.find(' ')));
          return answer(split_at_commas(asked.back()).size());
        },
        log);
    ASSERT_TRUE(socket->open());
    served = std::thread([this] { io.run(); });
  }
  ~FakeRelay() override {
    io.stop();
    if (served.joinable()) served.join();
  }
  Outcome put_to_five(const std::string& file) {
    PutOptions options{.files = {file}};
    for (std::uint32_t i = 1; i <= 5; ++i) options.to.push_back({0x01020300 + i});
    options.request_octets_max = 25;
    Outcome outcome = captured([&] { return put_files(relay(), config, options); });
    io.stop();
    served.join();
    return outcome;
  }
  /// Returns the answer to a `put` that was taken for so many stations.
  std::string taken(std::size_t stations) {
    proto::FileSent sent;
    for (std::size_t i = 0; i < stations; ++i) sent.add_ids(++last_id);
    sent.set_id(sent.ids(0));
    return control::answer_json(std::move(sent));
  }

  boost::asio::io_context io;
  std::optional<control::ControlSocket> socket;
  std::vector<std::string> asked;  // the stations of each request
  int last_id = 0;
  std::thread served;
};

TEST_F(FakeRelay, a_file_for_many_stations_is_handed_over_in_several_requests) {
  ASSERT_NO_FATAL_FAILURE(serve([this](std::size_t stations) { return taken(stations); }));
  const Outcome sent = put_to_five(make_file("a", 10));
  EXPECT_EQ(sent.status, 0) << sent.err;
  EXPECT_EQ(asked, (std::vector<std::string>{"1.2.3.1,1.2.3.2", "1.2.3.3,1.2.3.4", "1.2.3.5"}));
  std::string lines;
  for (const char* i : {"1", "2", "3", "4", "5"}) {
    lines += std::string("accepted item=") + i + " peer=1.2.3." + i + " name=a\n";
  }
  EXPECT_EQ(sent.out, lines);
}

TEST_F(FakeRelay, stations_that_are_refused_leave_those_of_the_other_requests_alone) {
  ASSERT_NO_FATAL_FAILURE(serve([this](std::size_t stations) -> Result<std::string> {
    if (asked.size() == 1) return Error{ErrorCode::queue_full, "too many files wait"};
    return taken(stations);
  }));
  const std::string file = make_file("a", 10);
  const Outcome sent = put_to_five(file);
  EXPECT_EQ(sent.status, 1);
  EXPECT_EQ(sent.err, "s5066-relay: " + file + ": 1.2.3.1: too many files wait\ns5066-relay: " +
                          file + ": 1.2.3.2: too many files wait\n");
  EXPECT_EQ(sent.out,
            "accepted item=1 peer=1.2.3.3 name=a\naccepted item=2 peer=1.2.3.4 name=a\n"
            "accepted item=3 peer=1.2.3.5 name=a\n");
}

TEST_F(FakeRelay, a_full_spool_ends_the_command_and_the_files_that_are_left_are_counted) {
  ASSERT_NO_FATAL_FAILURE(serve([this](std::size_t stations) -> Result<std::string> {
    if (asked.size() > 1) return Error{ErrorCode::queue_full, "2000 files wait"};
    return taken(stations);
  }));
  const std::vector<std::string> files = {make_file("a", 10), make_file("b", 10),
                                          make_file("c", 10), make_file("d", 10)};
  const Outcome sent = put(files);
  io.stop();
  served.join();
  EXPECT_EQ(sent.status, 1);
  EXPECT_EQ(asked.size(), 2u);
  EXPECT_EQ(sent.out, "accepted item=1 peer=1.2.3.4 name=a\n");
  EXPECT_EQ(sent.err, "s5066-relay: " + files[1] +
                          ": 2000 files wait; nor were the 2 files after it handed over\n");
}

TEST_F(FakeRelay, an_answer_that_does_not_come_says_that_the_relay_may_have_the_file) {
  ASSERT_NO_FATAL_FAILURE(serve([this](std::size_t stations) -> Result<std::string> {
    if (asked.size() == 1) return taken(stations);
    socket->stop();  // closes the connection
    return Error{ErrorCode::refused, ""};
  }));
  const std::string file = make_file("a", 10);
  const Outcome sent = put_to_five(file);
  EXPECT_EQ(sent.status, 1);
  EXPECT_EQ(asked.size(), 2u);
  EXPECT_NE(sent.err.find(file + ": 1.2.3.5: control socket " + config.control_socket +
                          ": no answer; the relay may have the file; see queue\n"),
            std::string::npos)
      << sent.err;
  EXPECT_EQ(sent.err.find("start it with"), std::string::npos) << sent.err;
  EXPECT_EQ(sent.out, "accepted item=1 peer=1.2.3.1 name=a\naccepted item=2 peer=1.2.3.2 name=a\n");
}

TEST_F(FakeRelay, a_copy_that_the_stations_share_is_handed_over_at_once) {
  PutOptions options;
  options.to = {Address{0x01020301}, Address{0x01020302}};
  EXPECT_EQ(stations_per_put(config, options, 16 << 20), 4u);
  EXPECT_EQ(stations_per_put(config, options, 1 << 30), 1u);
  EXPECT_EQ(stations_per_put(config, options, 0), 64u << 20);
  config.p_mul.own = {0x0102037f};
  EXPECT_EQ(stations_per_put(config, options, 1 << 30), 1u) << "no group has them";
  config.p_mul.groups = {{.address = {0x01020309}, .members = options.to}};
  EXPECT_EQ(stations_per_put(config, options, 1 << 30), 2u);
}

TEST_F(RelayCommands, a_name_that_is_not_utf_8_is_listed_and_shown) {
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_EQ(put({make_file("\xff\xe2\x80\xae", 10)}).status, 0);
  for (const Outcome& outcome :
       {ask<proto::FileQueue>("queue"), ask<proto::FileDetails>("show 1")}) {
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_NE(outcome.out.find(R"(\\xff\\xe2\\x80\\xae)"), std::string::npos) << outcome.out;
  }
}

TEST_F(RelayCommands, a_name_can_neither_break_the_list_nor_steer_the_terminal) {
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_EQ(put({make_file("a\tb\n\x1b[2J\x7f\\x\xc3\xa4", 10)}).status, 0);
  EXPECT_EQ(ask<proto::FileQueue>("queue all=1").out,
            "id  state     destination  octets  attempts  name\n"
            "1   incoming  1.2.3.4      10      0         "
            "a\\x09b\\x0a\\x1b[2J\\x7f\\\\x\xc3\xa4\n");
  const Outcome refused = put({(folder.path() / "\xe2\x80\xaetxt.\xff").string()});
  EXPECT_NE(refused.err.find("/\\xe2\\x80\\xaetxt.\\xff: No such file"), std::string::npos)
      << refused.err;
}

TEST_F(RelayCommands, a_file_is_changed_and_listed_by_what_became_of_it) {
  ASSERT_NO_FATAL_FAILURE(start());
  EXPECT_EQ(ask<proto::FileQueue>("queue all=1").out, "the spool is empty\n");
  ASSERT_EQ(put({make_file("a.txt", 10)}).status, 0);
  EXPECT_EQ(change("hold 1").out, "ok\n");
  EXPECT_EQ(listed(), "1 held 1.2.3.4 10 0 a.txt\n");
  const Outcome again = change("hold 1");
  EXPECT_EQ(again.status, 1);
  EXPECT_EQ(again.err, "s5066-relay: the file is held\n");
  EXPECT_EQ(change("release 1").status, 0);
  EXPECT_EQ(change("retry 1").status, 0);
  EXPECT_EQ(listed(), "1 incoming 1.2.3.4 10 0 a.txt\n");
  EXPECT_EQ(change("cancel 1").status, 0);
  EXPECT_EQ(listed(), "nothing waits; `queue --all` lists what is over");
  EXPECT_EQ(listed("all=1"), "1 failed 1.2.3.4 10 0 a.txt cancelled by the operator\n");
  EXPECT_EQ(listed("state=held"), "no file matches");
  EXPECT_EQ(listed("all=1 station=1.2.3.5"), "no file matches");
  const Outcome late = change("retry 1");
  EXPECT_EQ(late.status, 1);
  EXPECT_NE(late.err.find("send it again"), std::string::npos) << late.err;
  EXPECT_EQ(change("cancel 2").err, "s5066-relay: no such file in the spool\n");
  EXPECT_EQ(change("hold 1.2.3.4/7").err, "s5066-relay: no such file is arriving\n");
  EXPECT_EQ(change("retry 1.2.3.4/7").err, "s5066-relay: the request is `retry ID`\n");
}

TEST_F(RelayCommands, show_tells_what_a_file_waits_for) {
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_EQ(put({make_file("a\n.txt", 10)}).status, 0);
  const auto show = [&](int id) { return ask<proto::FileDetails>("show " + std::to_string(id)); };
  const std::string begin =
      "id 1\nstate incoming\ndestination 1.2.3.4\npriority 4\noctets 10\nattempts 0\n"
      "name a\\x0a.txt\nexpires 20";
  EXPECT_EQ(show(1).out.substr(0, begin.size()), begin);
  EXPECT_NE(show(1).out.find("\nwaits_for its turn\n"), std::string::npos) << show(1).out;
  ASSERT_EQ(change("hold 1").status, 0);
  EXPECT_NE(show(1).out.find("\nwaits_for the operator, who holds it\n"), std::string::npos);
  ASSERT_EQ(change("cancel 1").status, 0);
  EXPECT_NE(show(1).out.find("\nlast cancelled by the operator\n"), std::string::npos);
  EXPECT_EQ(show(1).out.find("expires"), std::string::npos);
  const auto none = relay().ask<proto::FileDetails>("show 2");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::not_found);
  EXPECT_EQ(show(2).status, 1);
}

// Goal:   `put --wait` outlives a relay that is restarted, and says in the end what became of the
//         file.
TEST_F(RelayCommands, waiting_goes_on_over_a_restart_of_the_relay) {
  for (const control::Form form : {control::Form::text, control::Form::json}) {
    ASSERT_NO_FATAL_FAILURE(start());
    std::atomic<bool> ended = false;
    Outcome outcome{};
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const std::string file = make_file("a.txt", 10);
    std::thread waiting([&] {
      outcome.status =
          put_files(relay(form), config, {.files = {file}, .to = {kPeer}, .wait = true});
      ended = true;
    });
    const std::string id = form == control::Form::text ? "1" : "2";
    EXPECT_TRUE(
        test::eventually([&] { return relay().ask<proto::FileDetails>("show " + id).ok(); }));
    stop();
    std::this_thread::sleep_for(std::chrono::seconds(1));  // it looks twice a second
    EXPECT_FALSE(ended);
    start();
    // A relay that has just started may work on the file, and says to ask again.
    EXPECT_TRUE(test::eventually([&] { return relay().ask<proto::Done>("cancel " + id).ok(); }));
    waiting.join();
    stop();
    outcome.out = testing::internal::GetCapturedStdout();
    outcome.err = testing::internal::GetCapturedStderr();
    EXPECT_EQ(outcome.status, 1);
    if (form == control::Form::text) {
      EXPECT_EQ(outcome.err, "s5066-relay: not delivered: failed: cancelled by the operator\n");
    } else {
      const auto sent = control::read_answer<proto::FileSent>(outcome.out);
      ASSERT_TRUE(sent) << outcome.out;
      EXPECT_EQ(sent->state(), "failed");
      EXPECT_EQ(sent->id(), 2);
    }
  }
}

// Goal:   a user who is in the group of the socket, and can read neither spool nor inbox, hands a
//         file over that nobody else can read, and sees the queue; a user outside the group does
//         neither.
TEST_F(RelayCommands, a_member_of_the_group_needs_no_right_to_the_spool) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  constexpr uid_t kMember = 61235;
  config.control_group_too = true;
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(config.spool_directory, std::filesystem::perms(0700));
  const std::string file = make_file("f", 10);
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  ASSERT_EQ(::chown(file.c_str(), kMember, kMember), 0);
  service.emplace(config, log);
  ASSERT_TRUE(service->start());
  /// Returns the exit status of another user's process, which runs while the relay serves.
  const auto status_of = [&](gid_t group) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (::setgroups(0, nullptr) != 0 || ::setgid(group) != 0 || ::setuid(kMember) != 0) {
        ::_exit(99);
      }
      const bool reads_spool =
          ::open((config.spool_directory + "/spool.db").c_str(), O_RDONLY) >= 0;
      const int status = put_files(relay(), config, {.files = {file}, .to = {kPeer}});
      const auto queue = relay().ask<proto::FileQueue>("queue");
      const bool sees_queue = queue && queue->files_size() == 1;
      ::_exit(reads_spool ? 98 : status * 10 + (sees_queue ? 0 : 1));
    }
    int status = -1;
    EXPECT_TRUE(test::eventually([&] {
      service->io().poll();
      return ::waitpid(child, &status, WNOHANG) == child;
    }));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 97;
  };
  EXPECT_EQ(status_of(kMember), 11);
  EXPECT_EQ(status_of(::getegid()), 0);
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
  EXPECT_EQ(progress_text("", 20000, {10, 1000, 5}, {20, 6000, 6}),
            "6000 of 20000 octets acknowledged (30 %), 4000 bit/s, 28 s left, 1 frame resent");
  EXPECT_EQ(progress_text("", 20000, {10, 1000, 5}, {20, 1000, 17}),
            "1000 of 20000 octets acknowledged (5 %), 12 frames resent");
  EXPECT_EQ(progress_text("", 20000, {10, 1000, 5}, {20, 1000, 2}),
            "1000 of 20000 octets acknowledged (5 %)")
      << "the node has been restarted";
}

TEST(RelayProgress, json_has_what_the_samples_tell) {
  proto::Transfer transfer;
  transfer.set_octets(20000);
  add_progress(transfer, {10, 1000}, {10, 1000});
  EXPECT_FALSE(transfer.has_rate_bps() || transfer.has_left_s() || transfer.has_frames_resent());
  add_progress(transfer, {10, 1000, 5}, {20, 6000, 7});
  EXPECT_EQ(transfer.rate_bps(), 4000);
  EXPECT_EQ(transfer.left_s(), 28);
  EXPECT_EQ(transfer.frames_resent(), 2);
}

}  // namespace
}  // namespace s5066::file_relay
