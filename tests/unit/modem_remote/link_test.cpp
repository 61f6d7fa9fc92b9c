// SPDX-License-Identifier: Apache-2.0
// A modem is lent over real TCP connections of this machine. One end is a worker on a scripted
// device, the other is the node's driver or a client that breaks the rules.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "modem/remote/modem_host.h"
#include "modem/remote/remote_modem.h"
#include "s5066d/posix/socket.h"
#include "tests/unit/modem_remote/rude.h"
#include "tests/unit/modem_worker/fakes.h"

namespace s5066::modem {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const Mode kMode = *parse_mode("110a-2400-short");
constexpr Duration kNeverLate = std::chrono::hours(1);
/// A busy machine that gives the worker no time must not look like lost samples.
const Worker::Config kUnhurried{.late_max = kNeverLate,
                                .sample_clock = {.loss_window = kNeverLate}};

struct NoLog final : LogSink {
  void write(LogLevel, std::string_view line) override {
    if (line.find("modem_accept_failed") != std::string_view::npos) accept_failed = true;
  }
  std::atomic<bool> accept_failed{false};
};

/// Runs a host with its worker and a sound card that delivers silence somewhat faster than real
/// time.
class Lender {
 public:
  // Bursts that come late matter to one test only, so the others accept any delay.
  explicit Lender(ModemHost::Config config = {.late_max = kNeverLate}) {
    config.address = "127.0.0.1";
    config.control_port = config.data_port = 0;
    open(config);
    pump_ = std::thread([this] {
      while (!stopping_) {
        device->give_blocks(1);
        std::this_thread::sleep_for(milliseconds(5));
      }
    });
  }
  ~Lender() {
    close();
    stopping_ = true;
    pump_.join();
  }
  void close() {
    if (!host) return;
    host->stop();
    thread_.join();
    host.reset();
  }
  /// Opens the host again on the same ports.
  void reopen() {
    ModemHost::Config config{.late_max = kNeverLate};
    config.control_port = control_port;
    config.data_port = data_port;
    open(config);
  }
  /// True if the host unkeys long before the end of a burst of 30000 octets, which takes 5000
  /// blocks.
  bool unkeys_early() const {
    const std::size_t from = device->answered();
    return eventually([&] { return !key->down; }) && device->answered() < from + 2500;
  }
  RemoteModem::Config for_user() const {
    return {.control_port = control_port,
            .data_port = data_port,
            .reconnect_delay = milliseconds(10),
            .reconnect_delay_max = milliseconds(50)};
  }

  std::shared_ptr<DeviceScript> device = std::make_shared<DeviceScript>();
  std::shared_ptr<KeyScript> key = std::make_shared<KeyScript>();
  std::unique_ptr<ModemHost> host;
  std::uint16_t control_port = 0;
  std::uint16_t data_port = 0;
  const std::atomic<bool>& accept_failed() const { return log_.accept_failed; }

 private:
  void open(const ModemHost::Config& config) {
    const auto make = [this](std::function<void()> notify) {
      return std::make_unique<Worker>(kUnhurried,
                                      std::make_unique<FakeDevice>(device, Device::Info{}),
                                      std::make_unique<FakePtt>(key), std::move(notify));
    };
    host = std::make_unique<ModemHost>(config, make, log_);
    const auto opened = host->open();
    ASSERT_TRUE(opened.ok()) << opened.error().detail;
    control_port = host->control_port();
    data_port = host->data_port();
    thread_ = std::thread([this] { static_cast<void>(host->run()); });
  }

  NoLog log_;
  std::atomic<bool> stopping_{false};
  std::thread pump_;
  std::thread thread_;
};

/// Drives the node's end of the connection.
struct Borrower {
  explicit Borrower(const RemoteModem::Config& config) : modem(config, [] {}) {
    EXPECT_TRUE(modem.start().ok());
  }
  template <typename E>
  std::optional<E> await() {
    std::optional<E> found;
    eventually([&] {
      const auto event = modem.poll_event();
      if (!event) return false;
      EXPECT_GE(at(*event), newest);
      EXPECT_LE(at(*event), modem.now());
      newest = at(*event);
      if (std::holds_alternative<E>(*event)) found = std::get<E>(*event);
      return found.has_value();
    });
    return found;
  }
  /// True if a fault comes that is of this kind and has `words` in its detail.
  bool hears_of(FaultKind kind, std::string_view words) {
    for (auto fault = await<Fault>(); fault; fault = await<Fault>()) {
      if (fault->kind == kind && fault->detail.find(words) != std::string::npos) return true;
    }
    return false;
  }
  bool send(std::uint64_t id, std::size_t octets) {
    return eventually([&] {
      return modem.request(TransmitBurst{.id = {id}, .mode = kMode, .bytes = Bytes(octets)}).ok();
    });
  }

  RemoteModem modem;
  Instant newest{};
};

TEST(RemoteModem, who_comes_while_the_channel_is_occupied_is_told_so) {
  Lender lender;
  const auto passes = [&](std::size_t blocks) {
    const std::size_t from = lender.device->answered();
    return eventually([&] { return lender.device->answered() >= from + blocks; });
  };
  ASSERT_TRUE(passes(400));  // so that the channel stays occupied for long
  lender.device->sound(0.1F);
  ASSERT_TRUE(passes(40));
  Borrower node(lender.for_user());
  auto told = node.await<ChannelOccupancy>();
  ASSERT_TRUE(told.has_value());
  EXPECT_TRUE(told->occupied);
  lender.device->sound(0);
  told = node.await<ChannelOccupancy>();
  ASSERT_TRUE(told.has_value());
  EXPECT_FALSE(told->occupied);
}

TEST(RemoteModem, a_burst_is_sent_by_the_other_end) {
  Lender lender;
  Borrower node(lender.for_user());
  ASSERT_TRUE(node.send(5, 60));
  const auto started = node.await<TransmitStarted>();
  ASSERT_TRUE(started.has_value());
  EXPECT_EQ(started->id.value, 5U);
  EXPECT_TRUE(lender.key->down);
  const auto finished = node.await<TransmitFinished>();
  ASSERT_TRUE(finished.has_value());
  EXPECT_EQ(finished->id.value, 5U);
  EXPECT_EQ(finished->outcome, TransmitOutcome::sent);
  EXPECT_TRUE(eventually([&] { return !lender.key->down; }));
  EXPECT_FALSE(node.modem.lockstep());
  ASSERT_TRUE(node.send(6, 1));  // the next burst works, too
  EXPECT_EQ(node.await<TransmitFinished>()->id.value, 6U);
}

TEST(RemoteModem, an_aborted_burst_unkeys_the_other_end) {
  Lender lender;
  Borrower node(lender.for_user());
  ASSERT_TRUE(node.send(1, 30000));
  ASSERT_TRUE(node.await<TransmitStarted>().has_value());
  ASSERT_TRUE(node.modem.request(AbortTransmit{.id = {1}}).ok());
  EXPECT_EQ(node.await<TransmitFinished>()->outcome, TransmitOutcome::aborted);
  EXPECT_TRUE(lender.unkeys_early());
}

TEST(RemoteModem, a_user_who_goes_leaves_no_key_down) {
  Lender lender;
  {
    Borrower node(lender.for_user());
    ASSERT_TRUE(node.send(1, 30000));
    ASSERT_TRUE(node.await<TransmitStarted>().has_value());
    EXPECT_TRUE(lender.key->down);
  }
  EXPECT_TRUE(lender.unkeys_early());
  Borrower next(lender.for_user());
  ASSERT_TRUE(next.send(1, 5));
  EXPECT_EQ(next.await<TransmitFinished>()->outcome, TransmitOutcome::sent);
}

TEST(RemoteModem, a_host_that_goes_ends_the_burst_and_is_found_again) {
  Lender lender;
  Borrower node(lender.for_user());
  ASSERT_TRUE(node.send(1, 30000));
  ASSERT_TRUE(node.await<TransmitStarted>().has_value());
  lender.close();
  EXPECT_FALSE(lender.key->down);
  const auto finished = node.await<TransmitFinished>();
  ASSERT_TRUE(finished.has_value());
  EXPECT_EQ(finished->outcome, TransmitOutcome::aborted);
  EXPECT_EQ(node.await<Fault>()->kind, FaultKind::device_lost);
  EXPECT_FALSE(node.modem.request(TransmitBurst{.id = {2}, .mode = kMode}).ok());
  EXPECT_GE(node.modem.state().counters[ModemCounter::device_losses], 1U);
  lender.reopen();
  for (auto fault = node.await<Fault>(); fault; fault = node.await<Fault>()) {
    if (fault->kind == FaultKind::device_back) break;
  }
  ASSERT_TRUE(node.send(3, 5));
  EXPECT_EQ(node.await<TransmitFinished>()->outcome, TransmitOutcome::sent);
}

TEST(RemoteModem, without_a_host_it_says_so_once_and_goes_on_trying) {
  Lender lender;
  const RemoteModem::Config config = lender.for_user();
  lender.close();
  Borrower node(config);
  EXPECT_EQ(node.await<Fault>()->kind, FaultKind::device_lost);
  std::this_thread::sleep_for(milliseconds(200));  // time for several attempts
  EXPECT_FALSE(node.modem.poll_event().has_value());
  lender.reopen();
  EXPECT_EQ(node.await<Fault>()->kind, FaultKind::device_back);
}

TEST(RemoteModem, the_loss_of_the_hosts_sound_card_is_told_also_to_who_comes_later) {
  Lender lender;
  Borrower node(lender.for_user());
  ASSERT_TRUE(node.send(1, 1));
  ASSERT_TRUE(node.await<TransmitFinished>().has_value());
  EXPECT_FALSE(node.modem.state().down);
  lender.device->refuse_open(1'000'000, ErrorCode::io);
  lender.device->fail(ErrorCode::io);
  EXPECT_EQ(node.await<Fault>()->kind, FaultKind::device_lost);
  EXPECT_TRUE(node.modem.state().down);
  node.modem.stop();
  Borrower later(lender.for_user());
  // The host may refuse the second user for as long as it has not noticed that the first is gone.
  EXPECT_TRUE(later.hears_of(FaultKind::device_lost, "as told"));
  EXPECT_TRUE(later.modem.state().down);
  lender.device->refuse_open(0, ErrorCode::io);
  EXPECT_TRUE(later.hears_of(FaultKind::device_back, "the device is back"));
  EXPECT_FALSE(later.modem.state().down);
}

TEST(ModemHost, a_second_user_is_refused_and_the_first_goes_on) {
  Lender lender;
  Borrower node(lender.for_user());
  ASSERT_TRUE(node.send(1, 30000));
  ASSERT_TRUE(node.await<TransmitStarted>().has_value());
  Rude second(lender.control_port, lender.data_port);
  EXPECT_TRUE(second.hears("REFUSED in use"));
  EXPECT_TRUE(second.is_thrown_out());
  EXPECT_TRUE(lender.key->down);
}

// The socket connects while this process has no free descriptor.
TEST(ModemHost, goes_on_without_descriptors_and_accepts_again_when_there_are_some) {
  Lender lender({.accept_retry = milliseconds(50), .late_max = kNeverLate});
  Borrower node(lender.for_user());
  ASSERT_TRUE(node.send(1, 30000));
  ASSERT_TRUE(node.await<TransmitStarted>().has_value());
  const posix::Fd socket(::socket(AF_INET, SOCK_STREAM, 0));
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  // The lookup comes first, because a sanitizer that meets a virtual object for the first time
  // opens a pipe.
  const std::atomic<bool>& failed = lender.accept_failed();
  const rlimit none{.rlim_cur = 3, .rlim_max = usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(lender.control_port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_TRUE(eventually([&] { return failed.load(); }));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
  Bytes answer(7);
  ASSERT_TRUE(posix::receive_some(socket.get(), answer, kPatience).ok());
  EXPECT_EQ(std::string(answer.begin(), answer.end()), "REFUSED");
  EXPECT_TRUE(lender.key->down);
}

TEST(ModemHost, a_burst_that_comes_too_late_is_not_sent_and_the_next_is) {
  Lender lender({.silence_max = kPatience, .late_max = seconds(10), .octets_late_max = kNeverLate});
  Rude user(lender.control_port, lender.data_port);
  ASSERT_NO_FATAL_FAILURE(user.become_ready());
  const Instant now = user.next_clock();
  const auto say_send = [&](int id, Instant at) {
    user.say("SEND " + std::to_string(id) + " 110a-2400-short " +
             std::to_string(at.time_since_epoch().count()) + " 1\n");
    Rude::write(user.data, "x");
  };
  say_send(1, now - milliseconds(10'001));
  ASSERT_TRUE(user.hears(" 1 aborted\n"));
  EXPECT_FALSE(lender.key->down);
  EXPECT_EQ(user.heard.find("STARTED"), std::string::npos);
  say_send(2, now);
  ASSERT_TRUE(user.hears(" 2 sent\n"));
}

TEST(ModemHost, the_loss_of_either_connection_unkeys) {
  for (const bool control : {false, true}) {
    Lender lender;
    Rude user(lender.control_port, lender.data_port);
    ASSERT_NO_FATAL_FAILURE(user.become_ready());
    user.say("SEND 1 110a-2400-short 0 30000\n");
    Rude::write(user.data, std::string(30000, 'x'));
    ASSERT_TRUE(user.hears("STARTED"));
    EXPECT_TRUE(lender.key->down);
    (control ? user.control : user.data).reset();
    EXPECT_TRUE(lender.unkeys_early());
  }
}

TEST(ModemHost, a_user_who_is_silent_loses_the_modem_and_the_key_goes_up) {
  Lender lender({.silence_max = milliseconds(300), .late_max = kNeverLate});
  Rude user(lender.control_port, lender.data_port);
  ASSERT_NO_FATAL_FAILURE(user.become_ready());
  user.say("SEND 1 110a-2400-short 0 30000\n");
  Rude::write(user.data, std::string(30000, 'x'));
  while (user.heard.find("STARTED") == std::string::npos) {  // a busy host can take long to start
    user.say("PING\n");
    ASSERT_TRUE(user.hears_more());
  }
  EXPECT_TRUE(user.hears("REFUSED the user was silent for too long"));
  EXPECT_TRUE(lender.unkeys_early());
}

TEST(ModemHost, a_user_whose_octets_do_not_come_loses_the_modem) {
  Lender lender(
      {.silence_max = kPatience, .stalled_max = milliseconds(300), .late_max = kNeverLate});
  Rude user(lender.control_port, lender.data_port);
  ASSERT_NO_FATAL_FAILURE(user.become_ready());
  user.say("SEND 1 110a-2400-short 0 5\n");
  Rude::write(user.data, "four");
  const std::string why = "REFUSED the octets of a SEND did not come";
  EXPECT_TRUE(eventually([&] {
    user.say("PING\n");
    return !user.hears_more() || user.heard.find(why) != std::string::npos;
  }));
  EXPECT_NE(user.heard.find(why), std::string::npos) << user.heard;
}

TEST(ModemHost, who_says_what_cannot_be_is_thrown_out_and_the_next_is_served) {
  Lender lender(
      {.silence_max = seconds(1000), .greeting_max = seconds(1000), .late_max = kNeverLate});
  for (const std::string& nonsense :
       {std::string("GET / HTTP/1.1\r\n"), std::string("PING\n"), std::string(5000, 'x'),
        std::string("HELLO 1\nHELLO 1\n"), std::string("HELLO 1\nSEND 1 110a-2400-short 0 1\n"),
        std::string("\0\0\0\0", 4)}) {
    Rude user(lender.control_port, lender.data_port);
    user.say(nonsense);
    EXPECT_TRUE(user.is_thrown_out()) << nonsense;
    EXPECT_NE(user.heard.find("REFUSED "), std::string::npos) << user.heard;
  }
  Rude good(lender.control_port, lender.data_port);
  ASSERT_NO_FATAL_FAILURE(good.become_ready());
  good.say("SEND 1 110a-2400-short 0 99999999\n");
  EXPECT_TRUE(good.hears("REFUSED line not understood"));
}

TEST(ModemHost, a_greeting_that_does_not_come_ends_the_connection) {
  Lender lender({.greeting_max = milliseconds(100)});
  Rude mute(lender.control_port, lender.data_port);
  EXPECT_TRUE(mute.hears("REFUSED HELLO or the data connection did not come in time"));
  Rude half(lender.control_port, lender.data_port);
  half.say("HELLO 1\n");
  EXPECT_TRUE(half.hears("REFUSED HELLO or the data connection did not come in time"));
}

TEST(ModemHost, a_data_connection_needs_the_token) {
  Lender lender(
      {.silence_max = seconds(1000), .greeting_max = seconds(1000), .late_max = kNeverLate});
  Rude user(lender.control_port, lender.data_port);
  user.say("HELLO 1\n");
  ASSERT_TRUE(user.hears("WELCOME 1 "));
  const auto thief = posix::connect_tcp("127.0.0.1", lender.data_port, kPatience);
  ASSERT_TRUE(thief.ok());
  Rude::write(*thief, "DATA 0123456789abcdef\n");
  Bytes part(16);
  const auto got = posix::receive_some(thief->get(), part, kPatience);
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().code, ErrorCode::link_down);
  ASSERT_TRUE(user.hears("\n"));
  const auto owner = posix::connect_tcp("127.0.0.1", lender.data_port, kPatience);
  ASSERT_TRUE(owner.ok());
  EXPECT_EQ(user.heard.find("READY"), std::string::npos);
  Rude::write(*owner, "DATA " + user.heard.substr(10, remote::kTokenLength) + "\n");
  ASSERT_TRUE(user.hears("READY"));
  user.say("SEND 1 110a-2400-short 0 3\n");
  Rude::write(*owner, "abc");
  EXPECT_TRUE(user.hears("STARTED"));
}

TEST(ModemHost, does_not_lend_a_modem_without_a_time_of_its_own) {
  auto device = std::make_shared<DeviceScript>();
  auto key = std::make_shared<KeyScript>();
  NoLog log;
  ModemHost host(
      {.control_port = 0, .data_port = 0},
      [&](std::function<void()> notify) {
        return std::make_unique<Worker>(
            Worker::Config{}, std::make_unique<FakeDevice>(device, Device::Info{.lockstep = true}),
            std::make_unique<FakePtt>(key), std::move(notify));
      },
      log);
  EXPECT_EQ(host.open().error().code, ErrorCode::unsupported);
}

TEST(ModemHost, says_which_address_cannot_be_used) {
  NoLog log;
  for (const char* address : {"modem.example", "", "256.0.0.1", "192.0.2.1"}) {
    auto device = std::make_shared<DeviceScript>();
    auto key = std::make_shared<KeyScript>();
    ModemHost host(
        {.address = address, .control_port = 0, .data_port = 0},
        [&](std::function<void()> notify) {
          return std::make_unique<Worker>(kUnhurried,
                                          std::make_unique<FakeDevice>(device, Device::Info{}),
                                          std::make_unique<FakePtt>(key), std::move(notify));
        },
        log);
    const auto opened = host.open();
    ASSERT_FALSE(opened.ok()) << address;
    EXPECT_NE(opened.error().detail.find(address), std::string::npos) << opened.error().detail;
  }
}

}  // namespace
}  // namespace s5066::modem
