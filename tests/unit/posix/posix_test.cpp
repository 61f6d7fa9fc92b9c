// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <algorithm>
#include <climits>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <thread>

#include "s5066d/posix/log_writer.h"
#include "s5066d/posix/main_tail.h"
#include "s5066d/posix/passed_file.h"
#include "s5066d/posix/socket.h"
#include "s5066d/posix/tcp_progress.h"
#include "tests/support/temporary_folder.h"

namespace s5066::posix {
namespace {

constexpr auto kPatience = std::chrono::seconds(20);

class UnixSocket : public testing::Test {
 protected:
  Fd bind_there(int type) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    Fd socket(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return socket;
  }
  void expect_refused(const std::string& reason) {
    const auto listener = listen_unix(path_, 1);
    ASSERT_FALSE(listener);
    EXPECT_EQ(listener.error().detail, path_ + ": " + reason);
    EXPECT_TRUE(std::filesystem::exists(path_)) << "it was not ours to remove";
  }

  test::TemporaryFolder folder_;
  std::string path_ = folder_ / "socket";
};

TEST_F(UnixSocket, of_a_dead_process_is_taken_over) {
  bind_there(SOCK_STREAM);
  ASSERT_TRUE(std::filesystem::exists(path_));
  EXPECT_TRUE(listen_unix(path_, 1));
}

TEST_F(UnixSocket, of_a_living_process_is_kept_even_when_its_queue_is_full) {
  const Fd living = bind_there(SOCK_STREAM);
  ASSERT_EQ(::listen(living.get(), 0), 0);
  expect_refused("another process listens on it");
  expect_refused("another process listens on it");
}

TEST_F(UnixSocket, is_not_put_in_the_place_of_a_file) {
  std::ofstream(path_) << "precious";
  expect_refused("the path exists and is not a socket");
}

TEST_F(UnixSocket, that_cannot_be_asked_is_kept) {
  const Fd other = bind_there(SOCK_DGRAM);
  expect_refused("cannot tell whether it is in use: Protocol wrong type for socket");
}

TEST_F(UnixSocket, is_for_its_owner_only_from_the_first_moment_on) {
  const auto listener = listen_unix(path_, 1);
  ASSERT_TRUE(listener);
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(UnixSocket, path_may_have_107_characters_and_not_108) {
  const std::size_t folder_octets = (folder_ / "").size();
  path_ = folder_ / std::string(sizeof(sockaddr_un::sun_path) - folder_octets - 1, 'a');
  EXPECT_TRUE(listen_unix(path_, 1));
  path_ += "a";
  const auto listener = listen_unix(path_, 1);
  ASSERT_FALSE(listener);
  EXPECT_EQ(listener.error().detail, path_ + ": path is empty or too long");
}

/// Answers one request with `answer`, or closes without an answer if `answer` is empty.
std::string asked_of_a_server(const Fd& listener, const std::string& answer) {
  const Fd client(::accept(listener.get(), nullptr, nullptr));
  Bytes request(64);
  const auto octets = receive_some(client.get(), request, kPatience);
  EXPECT_TRUE(octets);
  EXPECT_TRUE(send_all(client.get(), Bytes(answer.begin(), answer.end()), kPatience));
  return std::string(request.begin(), request.begin() + static_cast<std::ptrdiff_t>(*octets));
}

TEST_F(UnixSocket, carries_a_request_and_an_answer_of_any_length) {
  auto listener = listen_unix(path_, 1);
  ASSERT_TRUE(listener);
  ASSERT_EQ(::fcntl(listener->get(), F_SETFL, 0), 0);  // makes the server below wait in accept()
  const std::string answer(1 << 20, 'a');
  std::string request;
  std::thread server([&] { request = asked_of_a_server(*listener, answer); });
  const auto heard = ask_control(path_, "status", kPatience);
  server.join();
  EXPECT_EQ(request, "status\n");
  ASSERT_TRUE(heard);
  EXPECT_EQ(*heard, answer);
}

TEST_F(UnixSocket, that_ends_without_an_answer_is_an_error) {
  auto listener = listen_unix(path_, 1);
  ASSERT_TRUE(listener);
  ASSERT_EQ(::fcntl(listener->get(), F_SETFL, 0), 0);
  std::thread server([&] { asked_of_a_server(*listener, ""); });
  const auto heard = ask_control(path_, "status", kPatience);
  server.join();
  ASSERT_FALSE(heard);
  EXPECT_EQ(heard.error().detail, "control socket " + path_ + ": no answer");
}

// The peer closes before it reads, so the request cannot be sent to its end.
TEST_F(UnixSocket, that_closes_during_the_request_is_not_taken_for_a_process_that_does_not_run) {
  auto listener = listen_unix(path_, 1);
  ASSERT_TRUE(listener);
  ASSERT_EQ(::fcntl(listener->get(), F_SETFL, 0), 0);
  const auto sealed = make_sealed_file(Bytes{1});
  for (const int file : {-1, sealed->get()}) {
    std::thread server([&] { const Fd client(::accept(listener->get(), nullptr, nullptr)); });
    const auto heard = ask_control(path_, std::string(8 << 20, 'a'), kPatience, file);
    server.join();
    ASSERT_FALSE(heard);
    EXPECT_EQ(heard.error().code, ErrorCode::io) << heard.error().detail;
  }
}

TEST(Tcp, connects_by_address_and_says_which_cannot_be) {
  const auto listener = listen_tcp("127.0.0.1", 0, 4);
  ASSERT_TRUE(listener);
  const auto port = local_port(listener->get());
  ASSERT_TRUE(port);
  const auto nobody = accept_tcp(listener->get());
  ASSERT_TRUE(nobody);
  EXPECT_FALSE(nobody->has_value());
  const auto client = connect_tcp("127.0.0.1", *port, kPatience);
  ASSERT_TRUE(client);
  const auto accepted = accept_tcp(listener->get());
  ASSERT_TRUE(accepted && accepted->has_value());
  const Bytes octets(10, 7);
  EXPECT_EQ(send_some(client->get(), octets).value(), 10U);
  Bytes heard(16);
  EXPECT_EQ(receive_some((*accepted)->get(), heard, kPatience).value(), 10U);
  for (const char* address : {"localhost", "", "127.0.0.256", "::g"}) {
    EXPECT_EQ(connect_tcp(address, *port, kPatience).error().code, ErrorCode::bad_field) << address;
    EXPECT_EQ(listen_tcp(address, 0, 4).error().code, ErrorCode::bad_field) << address;
  }
  EXPECT_FALSE(listen_tcp("127.0.0.1", *port, 4));  // the port is in use
}

TEST(TcpProgress, counts_what_was_written_while_acknowledgements_come_in) {
  const auto listener = listen_tcp("127.0.0.1", 0, 1);
  ASSERT_TRUE(listener);
  const auto client = connect_tcp("127.0.0.1", *local_port(listener->get()), kPatience);
  ASSERT_TRUE(client);
  const auto server = accept_tcp(listener->get());
  ASSERT_TRUE(server && *server);
  std::thread reader([socket = client->get()] {
    Bytes input(65536);
    for (;;) {
      const auto heard = receive_some(socket, input, kPatience);
      if (!heard || *heard == 0) return;
    }
  });
  const int writer = (*server)->get();
  const std::uint64_t before = tcp_progress(writer)->written;
  const Bytes octets(1000);
  std::uint64_t written = 0;
  std::size_t wrong = 0;
  for (int i = 0; i < 100'000; ++i) {
    if (!send_all(writer, octets, kPatience)) break;
    written += octets.size();
    wrong += tcp_progress(writer)->written - before != written;
  }
  EXPECT_EQ(written, 100'000u * octets.size());
  EXPECT_EQ(wrong, 0u);
  ::shutdown(writer, SHUT_WR);
  reader.join();
}

TEST(Tcp, a_peer_who_does_not_read_fills_the_socket_and_one_who_is_gone_ends_it) {
  const auto listener = listen_tcp("127.0.0.1", 0, 4);
  ASSERT_TRUE(listener);
  const auto client = connect_tcp("127.0.0.1", *local_port(listener->get()), kPatience);
  ASSERT_TRUE(client);
  auto accepted = accept_tcp(listener->get());
  ASSERT_TRUE(accepted && accepted->has_value());
  const Bytes much(1U << 20);
  std::size_t rounds = 0;
  while (send_some(client->get(), much).value() > 0) ASSERT_LT(++rounds, 1000U);
  accepted->reset();
  Result<std::size_t> sent = send_some(client->get(), much);
  for (const Duration end = monotonic_now() + kPatience; sent && monotonic_now() < end;) {
    sent = send_some(client->get(), much);
  }
  EXPECT_EQ(sent.error().code, ErrorCode::link_down);
}

TEST(Tcp, a_dead_peer_is_asked_for_and_given_up_in_the_time_stated) {
  const auto listener = listen_tcp("127.0.0.1", 0, 1);
  ASSERT_TRUE(listener.ok());
  const auto option = [&](int level, int name) {
    int value = -1;
    socklen_t length = sizeof value;
    EXPECT_EQ(::getsockopt(listener->get(), level, name, &value, &length), 0);
    return value;
  };
  for (const int seconds : {8, 60, 7200}) {
    notice_dead_peer(listener->get(), std::chrono::seconds(seconds));
    EXPECT_EQ(option(SOL_SOCKET, SO_KEEPALIVE), 1);
    EXPECT_EQ(option(IPPROTO_TCP, TCP_USER_TIMEOUT), 1000 * seconds);
    const int asked = option(IPPROTO_TCP, TCP_KEEPIDLE);
    const int given_up =
        asked + option(IPPROTO_TCP, TCP_KEEPCNT) * option(IPPROTO_TCP, TCP_KEEPINTVL);
    EXPECT_EQ(asked, seconds / 2);
    EXPECT_LE(given_up, seconds);
    EXPECT_GT(given_up, seconds - 4);
  }
  notice_dead_peer(listener->get(), std::chrono::milliseconds(500));
  EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPIDLE), 1);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_USER_TIMEOUT), 500);
}

TEST(LogWriter, writes_a_line_with_time_and_level_and_leaves_out_what_is_below_the_least) {
  testing::internal::CaptureStderr();
  LogWriter log(LogLevel::warning);
  LogLine(log, LogLevel::info, "quiet");
  LogLine(log, LogLevel::warning, "loud").kv("n", 1);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(text.find("quiet"), std::string::npos);
  ASSERT_GT(text.size(), 25u);
  EXPECT_EQ(text[10], 'T');
  EXPECT_EQ(text.substr(23), "Z warning loud n=1\n");
}

TEST(LogWriter, gives_the_journal_a_priority_in_place_of_a_time) {
  testing::internal::CaptureStderr();
  LogWriter log(LogLevel::debug, true);
  for (const LogLevel level :
       {LogLevel::debug, LogLevel::info, LogLevel::warning, LogLevel::error}) {
    LogLine(log, level, "e");
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "<7>debug e\n<6>info e\n<4>warning e\n<3>error e\n");
}

TEST(LogWriter, knows_the_journal_by_device_and_inode_of_standard_error) {
  struct stat status {};
  ASSERT_EQ(::fstat(STDERR_FILENO, &status), 0);
  const std::string ours = std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
  ::setenv("JOURNAL_STREAM", ours.c_str(), 1);
  EXPECT_TRUE(is_journal());
  ::setenv("JOURNAL_STREAM", (ours + "1").c_str(), 1);
  EXPECT_FALSE(is_journal()) << "standard error was redirected";
  ::unsetenv("JOURNAL_STREAM");
  EXPECT_FALSE(is_journal());
}

/// Standard error is a pipe while this object lives.
class ErrorsInPipe {
 public:
  ErrorsInPipe() : saved_(::dup(STDERR_FILENO)) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    read_ = Fd(ends[0]);
    EXPECT_EQ(::dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    ::close(ends[1]);
  }
  ~ErrorsInPipe() { ::dup2(saved_.get(), STDERR_FILENO); }
  std::string read() {
    std::string text(std::size_t{1} << 20, ' ');
    text.resize(static_cast<std::size_t>(
        std::max(::read(read_.get(), text.data(), text.size()), ssize_t{0})));
    return text;
  }

 private:
  Fd saved_;
  Fd read_;
};

TEST(LogWriter, waits_for_no_reader_for_long_and_tells_what_it_left_out) {
  LogWriter log;
  std::string first;
  std::string second;
  {
    ErrorsInPipe errors;
    const std::string text(1000, 'x');
    for (int i = 0; i < 1000; ++i) LogLine(log, LogLevel::info, "much").kv("text", text);
    first = errors.read();
    LogLine(log, LogLevel::info, "more");
    second = errors.read();
  }
  const auto lines = std::count(first.begin(), first.end(), '\n');
  EXPECT_GT(lines, 10);
  EXPECT_LT(lines, 100);
  EXPECT_TRUE(first.ends_with("x\n"));
  EXPECT_EQ(second.substr(23, second.find('\n') - 23),
            "Z warning log_lines_left_out lines=" + std::to_string(1000 - lines));
  EXPECT_TRUE(second.ends_with("Z info more\n"));
}

TEST(LogWriter, cuts_a_line_that_a_pipe_may_not_take_at_once) {
  LogWriter log;
  std::string text;
  {
    ErrorsInPipe errors;
    LogLine(log, LogLevel::info, "long").kv("text", std::string(std::size_t{2} * PIPE_BUF, 'x'));
    text = errors.read();
  }
  EXPECT_EQ(text.size(), std::size_t{PIPE_BUF});
  EXPECT_TRUE(text.ends_with("x\n"));
}

TEST(LogWriter, cuts_a_line_between_characters) {
  for (std::size_t before = 0; before < 3; ++before) {
    LogWriter log;
    std::string text;
    {
      ErrorsInPipe errors;
      std::string euros(before, 'x');
      for (int i = 0; i < PIPE_BUF; ++i) euros += "\xE2\x82\xAC";
      LogLine(log, LogLevel::info, "long").kv("text", euros);
      text = errors.read();
    }
    EXPECT_LE(text.size(), std::size_t{PIPE_BUF});
    EXPECT_TRUE(text.ends_with("\xE2\x82\xAC\n")) << before;
  }
}

struct BadUsage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

TEST(MainTail, tells_bad_usage_from_a_failing_environment) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_main<BadUsage>(
                "program", [](int argc, char**) { return argc; }, 3, nullptr),
            3);
  EXPECT_EQ(run_main<BadUsage>(
                "program", [](int, char**) -> int { throw BadUsage("what is --x"); }, 0, nullptr),
            kExitUsage);
  EXPECT_EQ(
      run_main<BadUsage>(
          "program", [](int, char**) -> int { throw std::runtime_error("no disk"); }, 0, nullptr),
      kExitEnvironment);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "program: what is --x\nprogram: no disk\n");
}

/// Returns the exit status of a main() that runs in a process of its own.
template <typename Main>
int status_of_process(Main main) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(main());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Returns the exit status of a run_main() that prints `octets` octets to standard output at
/// `path`.
int status_of_printing(std::size_t octets, const char* path, int status) {
  static std::size_t to_print;
  static int to_return;
  to_print = octets;
  to_return = status;
  return status_of_process([path] {
    ::dup2(::open(path, O_WRONLY), STDOUT_FILENO);
    ::dup2(::open("/dev/null", O_WRONLY), STDERR_FILENO);
    return run_main<BadUsage>(
        "program",
        [](int, char**) {
          std::cout << std::string(to_print, 'x');
          return to_return;
        },
        0, nullptr);
  });
}

TEST(StandardStreams, an_output_that_could_not_be_written_is_a_failure) {
  for (const std::size_t octets : {std::size_t{1}, std::size_t{1} << 20}) {
    EXPECT_EQ(status_of_printing(octets, "/dev/full", kExitOk), kExitEnvironment) << octets;
    EXPECT_EQ(status_of_printing(octets, "/dev/full", kExitUsage), kExitUsage) << octets;
    EXPECT_EQ(status_of_printing(octets, "/dev/null", kExitOk), kExitOk) << octets;
  }
  EXPECT_EQ(status_of_printing(0, "/dev/full", kExitOk), kExitOk) << "nothing was lost";
}

TEST(StandardStreams, that_are_closed_are_taken_before_anything_else_is_opened) {
  for (int closed = 0; closed < 8; ++closed) {
    const int status = status_of_process([closed] {
      for (int number = 0; number < 3; ++number) {
        if ((closed >> number & 1) != 0) ::close(number);
      }
      return run_main<BadUsage>(
          "program", [](int, char**) { return ::open("/dev/zero", O_RDONLY); }, 0, nullptr);
    });
    EXPECT_GT(status, STDERR_FILENO) << closed;
  }
}

TEST(StandardStreams, an_output_that_is_closed_cannot_be_written) {
  EXPECT_EQ(status_of_process([] {
              ::dup2(::open("/dev/null", O_WRONLY), STDERR_FILENO);
              ::close(STDOUT_FILENO);
              return run_main<BadUsage>(
                  "program",
                  [](int, char**) {
                    std::cout << "x";
                    return kExitOk;
                  },
                  0, nullptr);
            }),
            kExitEnvironment);
}

TEST_F(UnixSocket, where_nobody_listens_is_told_from_one_that_does_not_answer) {
  EXPECT_EQ(ask_control(path_, "status", kPatience).error().code, ErrorCode::link_down);
  { ASSERT_TRUE(listen_unix(path_, 1)); }  // left behind by a process that has ended
  EXPECT_EQ(ask_control(path_, "status", kPatience).error().code, ErrorCode::link_down);
  const auto listener = listen_unix(path_, 1);
  ASSERT_TRUE(listener);
  EXPECT_EQ(ask_control(path_, "status", std::chrono::milliseconds(1)).error().code,
            ErrorCode::timed_out);
}

}  // namespace
}  // namespace s5066::posix
