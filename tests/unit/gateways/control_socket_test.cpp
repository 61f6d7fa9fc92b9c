// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/control_socket.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>

#include "s5066d/posix/fd.h"
#include "tests/unit/gateways/temporary_folder.h"

namespace s5066::gateways {
namespace {

class ControlSocketPath : public testing::Test {
 protected:
  posix::Fd bind_there() {
    posix::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    EXPECT_EQ(::bind(socket.get(), generic(), sizeof address_), 0);
    return socket;
  }
  const sockaddr* generic() {
    address_.sun_family = AF_UNIX;
    path_.copy(address_.sun_path, sizeof address_.sun_path - 1);
    return reinterpret_cast<const sockaddr*>(&address_);
  }
  /// Returns the reason why a control socket does not open there. Returns an empty text if it
  /// opens.
  std::string refusal() {
    ControlSocket socket(io_, path_, [](std::string_view) { return "ok\n"; });
    const auto opened = socket.open();
    return opened ? "" : opened.error().detail;
  }
  void expect_refused(const std::string& reason) {
    EXPECT_EQ(refusal(), "control socket " + path_ + ": " + reason);
    EXPECT_TRUE(std::filesystem::exists(path_)) << "it was not ours to remove";
  }

  test::TemporaryFolder folder_;
  std::string path_ = (folder_.path() / "control.sock").string();
  sockaddr_un address_{};
  boost::asio::io_context io_;
};

TEST_F(ControlSocketPath, what_a_dead_process_left_is_taken_over) {
  bind_there();
  ASSERT_TRUE(std::filesystem::exists(path_));
  EXPECT_EQ(refusal(), "");
}

TEST_F(ControlSocketPath, the_socket_of_a_living_process_is_kept) {
  const posix::Fd living = bind_there();
  ASSERT_EQ(::listen(living.get(), 0), 0);
  expect_refused("another process listens on it");
  // The other process does not accept, so its queue is full by now.
  expect_refused("another process listens on it");
}

/// No descriptor can be opened while this object lives.
class NoDescriptorsLeft {
 public:
  NoDescriptorsLeft() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const posix::Fd next(::dup(0));
    rlimit none = before_;
    none.rlim_cur = static_cast<rlim_t>(next.get());
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoDescriptorsLeft() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(ControlSocketPath, without_descriptors_it_rests_and_then_answers) {
  ControlSocket control(io_, path_, [](std::string_view) { return "ok\n"; });
  ASSERT_TRUE(control.open());
  const posix::Fd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  ASSERT_EQ(::connect(client.get(), generic(), sizeof address_), 0);
  ASSERT_EQ(::write(client.get(), "status\n", 7), 7);
  {
    const NoDescriptorsLeft none;
    int handlers = 0;
    while (handlers < 100 && io_.poll_one() != 0) ++handlers;
    EXPECT_LT(handlers, 100);
  }
  char answer[4];
  while (::read(client.get(), answer, sizeof answer) != 3) ASSERT_NE(io_.run_one(), 0u);
  EXPECT_EQ(std::string(answer, 3), "ok\n");
}

}  // namespace
}  // namespace s5066::gateways
