// SIS clients that do not keep to the rules, while another client's transfer goes on.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "sis/codec.h"
#include "tests/live/pair.h"

namespace s5066::live {
namespace {

/// A bare TCP connection to a station.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~RawClient() { ::close(socket_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return connected_; }
  void send(ByteSpan octets) {
    (void)!::send(socket_, octets.data(), octets.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  /// The server has closed the connection; reads and forgets what came before.
  bool is_closed() {
    pollfd poll{socket_, POLLIN, 0};
    std::uint8_t buffer[4096];
    while (::poll(&poll, 1, 0) > 0) {
      const ssize_t n = ::recv(socket_, buffer, sizeof buffer, MSG_DONTWAIT);
      if (n > 0) continue;
      return true;
    }
    return false;
  }

 private:
  int socket_;
  bool connected_ = false;
};

TEST(LiveClients, garbage_halves_and_silence_leave_a_transfer_alone) {
  const std::string file = noise(20'000, 2);
  Pair pair;
  ASSERT_NO_FATAL_FAILURE(pair.start_all());
  pair.folder().write("noise.bin", file);
  Process send = pair.send("noise.bin");
  ASSERT_TRUE(await([&] { return pair.acknowledged_octets("alpha") > 0; })) << pair.log("alpha");

  RawClient garbage(pair.sis_port("alpha"));
  RawClient half(pair.sis_port("alpha"));
  RawClient silent(pair.sis_port("alpha"));
  ASSERT_TRUE(garbage.connected() && half.connected() && silent.connected());
  const std::string rubbish = noise(64 * 1024, 3);
  garbage.send(Bytes(rubbish.begin(), rubbish.end()));
  Bytes bind;
  encode(sis::Primitive{sis::BindRequest{.sap = SapId{7}, .rank = 1, .service = {}}}, bind);
  half.send(ByteSpan(bind).first(bind.size() - 1));

  ASSERT_EQ(send.wait(), 0) << pair.log("send");
  EXPECT_EQ(pair.received("noise.bin"), file);
  // Each of the three is closed in the end, be it for too many invalid primitives, a primitive
  // that stays half, or never binding; the clock of the cable makes that soon.
  EXPECT_TRUE(await([&] { return garbage.is_closed(); }));
  EXPECT_TRUE(await([&] { return half.is_closed(); }));
  EXPECT_TRUE(await([&] { return silent.is_closed(); }));
  EXPECT_EQ(pair.process("alpha").stop(), 0);
}

TEST(LiveClients, a_control_client_that_says_nothing_holds_up_nobody) {
  Pair pair;
  ASSERT_NO_FATAL_FAILURE(pair.start_node("alpha"));
  const int mute = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (pair.folder() / "alpha.control").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::connect(mute, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_NE(pair.ask("alpha", "status"), "");
  EXPECT_NE(pair.ask("alpha", "nonsense").find("error:"), std::string::npos);
  ::close(mute);
}

}  // namespace
}  // namespace s5066::live
