#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <mutex>
#include <thread>

#include "modem/ptt/rigctld.h"
#include "modem/ptt/serial_rts.h"

namespace s5066::modem {
namespace {

constexpr Duration kPatience = std::chrono::seconds(20);

/// Stands in for rigctld: takes one connection after the other and gives each line one answer.
class RigctldStandIn {
 public:
  explicit RigctldStandIn(std::string answer) : answer_(std::move(answer)) {
    listener_ = posix::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_.get(), generic, size), 0);
    EXPECT_EQ(::listen(listener_.get(), 4), 0);
    EXPECT_EQ(::getsockname(listener_.get(), generic, &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~RigctldStandIn() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  std::uint16_t port() const { return port_; }
  std::string heard() const {
    const std::lock_guard lock(mutex_);
    return heard_;
  }

 private:
  void serve() {
    for (;;) {
      const posix::Fd peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!peer) return;
      Bytes line(64);
      for (;;) {
        const auto got = posix::receive_some(peer.get(), line, kPatience);
        if (!got) break;
        {
          const std::lock_guard lock(mutex_);
          heard_.append(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(*got));
        }
        const Bytes answer(answer_.begin(), answer_.end());
        if (!posix::send_all(peer.get(), answer, kPatience)) break;
      }
    }
  }

  std::string answer_;
  posix::Fd listener_;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::string heard_;
  std::thread thread_;
};

TEST(RigctldPtt, keys_and_unkeys_and_unkeys_when_it_goes) {
  const RigctldStandIn rig("RPRT 0\n");
  {
    RigctldPtt ptt({.port = rig.port(), .timeout = kPatience});
    EXPECT_TRUE(ptt.key(true).ok());
    EXPECT_TRUE(ptt.key(false).ok());
    EXPECT_TRUE(ptt.key(true).ok());
    EXPECT_EQ(rig.heard(), "T 1\nT 0\nT 1\n");
  }
  EXPECT_EQ(rig.heard(), "T 1\nT 0\nT 1\nT 0\n");
}

TEST(RigctldPtt, a_refusal_and_an_endless_answer_are_errors) {
  const RigctldStandIn refusing("RPRT -9\n");
  RigctldPtt ptt({.port = refusing.port(), .timeout = kPatience});
  const auto refused = ptt.key(false);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::refused);
  const RigctldStandIn babbling(std::string(1000, 'x'));
  RigctldPtt other({.port = babbling.port(), .timeout = kPatience});
  EXPECT_EQ(other.key(false).error().code, ErrorCode::too_large);
}

TEST(RigctldPtt, nobody_there_and_no_answer_are_errors_in_bounded_time) {
  std::uint16_t port = 0;
  {
    const RigctldStandIn gone("");
    port = gone.port();
    RigctldPtt ptt({.port = port, .timeout = std::chrono::milliseconds(50)});
    EXPECT_EQ(ptt.key(false).error().code, ErrorCode::timed_out);
  }
  RigctldPtt ptt({.port = port, .timeout = kPatience});
  EXPECT_EQ(ptt.key(true).error().code, ErrorCode::io);
}

TEST(SerialRtsPtt, a_port_that_is_missing_or_has_no_such_line_is_an_error) {
  SerialRtsPtt missing({.path = "/dev/no-such-port"});
  EXPECT_EQ(missing.key(false).error().code, ErrorCode::io);
  SerialRtsPtt lineless({.path = "/dev/null"});
  EXPECT_FALSE(lineless.key(true).ok());
}

}  // namespace
}  // namespace s5066::modem
