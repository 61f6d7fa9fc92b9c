// SPDX-License-Identifier: Apache-2.0
#include "s5066d/control/control_socket.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <filesystem>
#include <functional>
#include <iterator>
#include <optional>
#include <thread>
#include <vector>

#include "config/proto/control.pb.h"
#include "s5066d/control/ask.h"
#include "s5066d/posix/passed_file.h"
#include "s5066d/posix/socket.h"
#include "tests/support/no_descriptors_left.h"
#include "tests/support/temporary_folder.h"

namespace s5066::control {
namespace {

using stream = boost::asio::local::stream_protocol;

constexpr auto kPatience = std::chrono::seconds(20);

struct NoLog final : LogSink {
  void write(LogLevel, std::string_view) override {}
};

class ControlSocketTest : public testing::Test {
 protected:
  ControlSocketTest() {
    config_.path = (folder_.path() / "control").string();
    config_.timeout = kPatience;
  }

  stream::socket connected() {
    stream::socket socket(io_);
    socket.connect(stream::endpoint(config_.path));
    return socket;
  }
  /// Returns the reason why the socket does not open. Returns an empty text if it opens.
  std::string refusal() {
    ControlSocket socket(io_, config_, answer_, log_);
    const auto opened = socket.open();
    return opened ? "" : opened.error().detail;
  }
  void expect_refused(const std::string& reason) {
    EXPECT_EQ(refusal(), "control socket " + config_.path + ": " + reason);
    EXPECT_TRUE(std::filesystem::exists(config_.path)) << "it was not ours to remove";
  }
  /// Runs a client in a thread of its own while the socket serves.
  template <typename Client>
  void serve_during(Client client) {
    std::thread thread([&] {
      client();
      io_.stop();
    });
    io_.run();
    thread.join();
    io_.restart();
  }
  mode_t mode_of_file() const {
    struct stat status {};
    EXPECT_EQ(::stat(config_.path.c_str(), &status), 0);
    return status.st_mode & 07777;
  }

  test::TemporaryFolder folder_;
  SocketConfig config_;
  ControlSocket::Answer answer_ = [](std::string_view request, posix::PassedFile) {
    return Result<std::string>("you said " + std::string(request));
  };
  NoLog log_;
  boost::asio::io_context io_;
};

TEST_F(ControlSocketTest, takes_over_what_a_dead_process_left) {
  stream::acceptor(io_, stream::endpoint(config_.path));
  ASSERT_TRUE(std::filesystem::exists(config_.path));
  EXPECT_EQ(refusal(), "");
}

TEST_F(ControlSocketTest, keeps_the_socket_of_a_living_process) {
  stream::acceptor living(io_, stream());
  living.bind(stream::endpoint(config_.path));
  living.listen(0);
  expect_refused("another process listens on it");
  // The other process does not accept, so its queue is full by now.
  expect_refused("another process listens on it");
}

TEST_F(ControlSocketTest, is_the_owner_s_alone_or_the_group_s_too) {
  for (const bool group_too : {false, true}) {
    config_.group_too = group_too;
    ControlSocket socket(io_, config_, answer_, log_);
    ASSERT_TRUE(socket.open());
    EXPECT_EQ(mode_of_file(), group_too ? 0660u : 0600u);
  }
  EXPECT_FALSE(std::filesystem::exists(config_.path));
}

TEST_F(ControlSocketTest, when_full_closes_the_oldest_that_asks_for_nothing) {
  config_.clients_max = 2;
  ControlSocket socket(io_, config_, answer_, log_);
  ASSERT_TRUE(socket.open());
  stream::socket oldest = connected();
  stream::socket younger = connected();
  Result<std::string> answer = Error{ErrorCode::io, ""};
  serve_during([&] { answer = posix::ask_control(config_.path, "status", kPatience); });
  EXPECT_TRUE(answer && *answer == "you said status\n");
  char octet;
  EXPECT_EQ(::recv(oldest.native_handle(), &octet, 1, MSG_DONTWAIT), 0) << "not closed";
  EXPECT_EQ(::recv(younger.native_handle(), &octet, 1, MSG_DONTWAIT), -1) << "closed too";
}

TEST_F(ControlSocketTest, the_longest_request_is_answered_and_a_longer_one_is_refused_in_json) {
  ControlSocket socket(io_, config_, answer_, log_);
  ASSERT_TRUE(socket.open());
  Result<std::string> longest = Error{ErrorCode::io, ""};
  std::vector<Result<std::string>> too_long;
  const std::size_t most = config_.request_octets_max - 1;
  serve_during([&] {
    longest = posix::ask_control(config_.path, std::string(most, 'a'), kPatience);
    for (const std::size_t more : {1, 3000, 30000}) {
      too_long.push_back(
          posix::ask_control(config_.path, std::string(most + more, 'a'), kPatience));
    }
  });
  EXPECT_TRUE(longest && longest->starts_with("you said aaa"));
  for (const auto& answer : too_long) {
    ASSERT_TRUE(answer) << to_string(answer.error());
    const auto read = read_answer<proto::Done>(*answer);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::too_large);
  }
}

TEST_F(ControlSocketTest, an_error_is_answered_in_json_with_the_version) {
  answer_ = [](std::string_view, posix::PassedFile) {
    return Result<std::string>(Error{ErrorCode::not_found, "no \"such\"\n\xff thing"});
  };
  ControlSocket socket(io_, config_, answer_, log_);
  ASSERT_TRUE(socket.open());
  Result<std::string> json = Error{ErrorCode::io, ""};
  serve_during([&] { json = posix::ask_control(config_.path, "x", kPatience); });
  ASSERT_TRUE(json);
  EXPECT_NE(json->find("\"code\": \"not_found\""), std::string::npos) << *json;
  EXPECT_NE(json->find("\"version\": 1"), std::string::npos) << *json;
  const auto read = read_answer<proto::Done>(*json);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::not_found);
}

TEST_F(ControlSocketTest, hostile_octets_reach_the_answer_as_they_are_and_end_nothing) {
  std::string asked;
  answer_ = [&asked](std::string_view request, posix::PassedFile) {
    asked = request;
    return Result<std::string>(Error{ErrorCode::bad_field, std::string(request)});
  };
  ControlSocket socket(io_, config_, answer_, log_);
  ASSERT_TRUE(socket.open());
  std::string hostile;
  for (int octet = 0; octet < 256; ++octet) {
    if (octet != '\n') hostile.push_back(static_cast<char>(octet));
  }
  Result<std::string> answer = Error{ErrorCode::io, ""};
  serve_during([&] { answer = posix::ask_control(config_.path, hostile, kPatience); });
  EXPECT_EQ(asked, hostile);
  ASSERT_TRUE(answer);
  EXPECT_EQ(read_answer<proto::Done>(*answer).error().code, ErrorCode::bad_field);
}

TEST_F(ControlSocketTest, a_client_that_does_not_read_delays_no_other) {
  answer_ = [](std::string_view, posix::PassedFile) {
    return Result<std::string>(std::string(8 << 20, 'x'));
  };
  ControlSocket socket(io_, config_, answer_, log_);
  ASSERT_TRUE(socket.open());
  stream::socket slow = connected();
  ASSERT_EQ(::write(slow.native_handle(), "status\n", 7), 7);
  Result<std::string> answer = Error{ErrorCode::io, ""};
  serve_during([&] { answer = posix::ask_control(config_.path, "status", kPatience); });
  EXPECT_TRUE(answer && answer->size() > 8 << 20);
}

TEST_F(ControlSocketTest, a_client_that_sends_nothing_is_closed_after_the_timeout) {
  config_.timeout = std::chrono::milliseconds(1);
  ControlSocket socket(io_, config_, answer_, log_);
  ASSERT_TRUE(socket.open());
  stream::socket client = connected();
  bool closed = false;
  char octet;
  client.async_read_some(boost::asio::buffer(&octet, 1),
                         [&](boost::system::error_code failure, std::size_t) {
                           closed = failure == boost::asio::error::eof;
                           io_.stop();
                         });
  io_.run();
  EXPECT_TRUE(closed);
}

TEST_F(ControlSocketTest, no_request_is_answered_after_stop) {
  int answered = 0;
  answer_ = [&answered](std::string_view, posix::PassedFile) {
    ++answered;
    return Result<std::string>("{}");
  };
  auto socket = std::make_unique<ControlSocket>(io_, config_, answer_, log_);
  ASSERT_TRUE(socket->open());
  stream::socket client = connected();
  while (io_.poll_one() != 0) {
  }
  ASSERT_EQ(::write(client.native_handle(), "status\n", 7), 7);
  socket.reset();
  io_.restart();
  io_.poll();
  EXPECT_EQ(answered, 0);
  EXPECT_FALSE(std::filesystem::exists(config_.path));
}

TEST_F(ControlSocketTest, without_descriptors_it_rests_and_then_answers) {
  ControlSocket socket(io_, config_, answer_, log_);
  ASSERT_TRUE(socket.open());
  stream::socket client = connected();
  ASSERT_EQ(::write(client.native_handle(), "status\n", 7), 7);
  {
    const test::NoDescriptorsLeft none;
    int handlers = 0;
    while (handlers < 100 && io_.poll_one() != 0) ++handlers;
    EXPECT_LT(handlers, 100);
  }
  char answer[8];
  client.non_blocking(true);
  while (::read(client.native_handle(), answer, sizeof answer) <= 0) ASSERT_NE(io_.run_one(), 0u);
  EXPECT_EQ(std::string(answer, 8), "you said");
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST_F(ControlSocketTest, no_descriptor_gets_into_a_daemon_that_takes_none) {
  bool came = false;
  std::size_t open = 0;
  answer_ = [&](std::string_view request, posix::PassedFile file) {
    came = file.file || file.more;
    open = open_descriptors();
    return Result<std::string>(std::string(request));
  };
  ControlSocket socket(io_, config_, answer_, log_);
  ASSERT_TRUE(socket.open());
  const auto sealed = posix::make_sealed_file(Bytes{1, 2, 3});
  Result<std::string> answer = Error{ErrorCode::io, ""};
  const auto ask = [&](int file) {
    serve_during([&] { answer = posix::ask_control(config_.path, "put", kPatience, file); });
    EXPECT_TRUE(answer && *answer == "put\n");
    EXPECT_FALSE(came);
    return open;
  };
  const std::size_t without = ask(-1);
  EXPECT_EQ(ask(sealed->get()), without);
}

TEST_F(ControlSocketTest, a_descriptor_comes_with_its_request) {
  config_.takes_files = true;
  Bytes content;
  answer_ = [&content](std::string_view request, posix::PassedFile file) {
    content = posix::read_sealed_file(file.file.get(), 10).value();
    return Result<std::string>(std::string(request));
  };
  ControlSocket socket(io_, config_, answer_, log_);
  ASSERT_TRUE(socket.open());
  const auto sealed = posix::make_sealed_file(Bytes{1, 2, 3});
  Result<std::string> answer = Error{ErrorCode::io, ""};
  serve_during([&] { answer = posix::ask_control(config_.path, "put", kPatience, sealed->get()); });
  ASSERT_TRUE(answer);
  EXPECT_EQ(*answer, "put\n");
  EXPECT_EQ(content, (Bytes{1, 2, 3}));
}

TEST_F(ControlSocketTest, a_thousand_clients_that_send_half_a_request_and_a_file_keep_nobody_out) {
  constexpr std::size_t kClients = 1000;
  config_.takes_files = true;
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 4 * kClients);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  ControlSocket socket(io_, config_, answer_, log_);
  ASSERT_TRUE(socket.open());
  const auto sealed = posix::make_sealed_file(Bytes(1000, 1));
  const std::size_t before = open_descriptors();
  std::vector<stream::socket> clients;
  for (std::size_t i = 0; i < kClients; ++i) {
    clients.push_back(connected());
    const Bytes half = {'p', 'u', 't'};
    ASSERT_TRUE(posix::send_with_file(clients.back().native_handle(), half, sealed->get()));
    while (io_.poll() != 0) {
    }
  }
  // Each session has its socket and at most one file.
  EXPECT_LE(open_descriptors(), before + kClients + 2 * config_.clients_max);
  Result<std::string> answer = Error{ErrorCode::io, ""};
  serve_during([&] { answer = posix::ask_control(config_.path, "status", kPatience); });
  EXPECT_TRUE(answer && *answer == "you said status\n");
  clients.clear();
  while (io_.poll() != 0) {
  }
  EXPECT_LE(open_descriptors(), before);
}

}  // namespace
}  // namespace s5066::control
