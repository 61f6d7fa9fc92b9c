// SPDX-License-Identifier: Apache-2.0
#include "s5066d/runtime/control_endpoint.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <filesystem>
#include <thread>

#include "s5066d/posix/socket.h"

namespace s5066::runtime {
namespace {

namespace fs = std::filesystem;
using stream = boost::asio::local::stream_protocol;

constexpr auto kPatience = std::chrono::seconds(20);

class NoLog final : public LogSink {
 public:
  void write(LogLevel, std::string_view) override {}
};

class Endpoint : public testing::Test {
 protected:
  Endpoint() {
    std::string pattern = "/tmp/s5066-control-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    config_.socket_path = folder_ + "/control";
  }
  ~Endpoint() override { fs::remove_all(folder_); }

  /// Returns the reason why the endpoint does not open. Returns an empty text if it opens.
  std::string refusal() {
    ControlEndpoint endpoint(io_, config_, answer_, log_);
    const auto opened = endpoint.open();
    return opened ? "" : opened.error().detail;
  }
  void expect_refused(const std::string& reason) {
    EXPECT_EQ(refusal(), "control socket " + config_.socket_path + ": " + reason);
    EXPECT_TRUE(fs::exists(config_.socket_path)) << "it was not ours to remove";
  }

  std::string folder_;
  ControlConfig config_;
  ControlEndpoint::Answer answer_ = [](std::string_view request) {
    return Result<std::string>("you said " + std::string(request));
  };
  NoLog log_;
  boost::asio::io_context io_;
};

TEST_F(Endpoint, takes_over_what_a_dead_process_left) {
  stream::acceptor(io_, stream::endpoint(config_.socket_path));
  ASSERT_TRUE(fs::exists(config_.socket_path));
  EXPECT_EQ(refusal(), "");
}

TEST_F(Endpoint, keeps_the_socket_of_a_living_process) {
  stream::acceptor living(io_, stream());
  living.bind(stream::endpoint(config_.socket_path));
  living.listen(0);
  expect_refused("another process listens on it");
  // The other process does not accept, so its queue is full by now.
  expect_refused("another process listens on it");
}

TEST_F(Endpoint, when_full_closes_the_oldest_that_asks_for_nothing) {
  config_.clients_max = 2;
  config_.request_timeout = kPatience;
  ControlEndpoint endpoint(io_, config_, answer_, log_);
  ASSERT_TRUE(endpoint.open());
  stream::socket oldest(io_);
  stream::socket younger(io_);
  oldest.connect(stream::endpoint(config_.socket_path));
  younger.connect(stream::endpoint(config_.socket_path));
  Result<std::string> answer = Error{ErrorCode::io, ""};
  std::thread client([&] {
    answer = posix::ask_control(config_.socket_path, "status", kPatience);
    io_.stop();
  });
  io_.run();
  client.join();
  EXPECT_TRUE(answer && *answer == "you said status\n");
  char octet;
  EXPECT_EQ(::recv(oldest.native_handle(), &octet, 1, MSG_DONTWAIT), 0) << "not closed";
  EXPECT_EQ(::recv(younger.native_handle(), &octet, 1, MSG_DONTWAIT), -1) << "closed too";
}

}  // namespace
}  // namespace s5066::runtime
