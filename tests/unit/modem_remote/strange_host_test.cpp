// SPDX-License-Identifier: Apache-2.0
// A test plays the host of the node's driver over real TCP connections of this machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "modem/remote/remote_modem.h"
#include "s5066d/posix/socket.h"
#include "tests/support/patience.h"

namespace s5066::modem {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using test::eventually;
using test::kPatience;

class StrangeHost {
 public:
  StrangeHost() : control_listener_(listen()), data_listener_(listen()) {}

  RemoteModem::Config for_user() const {
    return {.control_port = *posix::local_port(control_listener_.get()),
            .data_port = *posix::local_port(data_listener_.get())};
  }
  /// Accepts the next connection and expects the greeting with this version.
  void is_greeted(unsigned version) {
    control_ = accept(control_listener_);
    EXPECT_TRUE(hears("HELLO " + std::to_string(version) + "\n"));
  }
  void hang_up() { control_.reset(); }
  bool hears(const std::string& text) const {
    std::string heard;
    return eventually([&] {
      Bytes part(text.size() - heard.size());
      const auto got = posix::receive_some(control_.get(), part, Duration{});
      if (got) heard.append(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(*got));
      return heard == text;
    });
  }
  void greet(unsigned version = 1) {
    if (!control_) control_ = accept(control_listener_);
    say("WELCOME " + std::to_string(version) + " 0123456789abcdef\n");
    data_ = accept(data_listener_);
    say("READY\nCLOCK 0\n");
  }
  void say(const std::string& text) const { write(control_, text); }
  void say_if_heard(const std::string& text) const {
    static_cast<void>(posix::send_some(control_.get(), Bytes(text.begin(), text.end())));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  void give(const std::string& octets) const { write(data_, octets); }

 private:
  static posix::Fd listen() {
    auto listener = posix::listen_tcp("127.0.0.1", 0, 1);
    return std::move(*listener);
  }
  static posix::Fd accept(const posix::Fd& listener) {
    posix::Fd socket;
    EXPECT_TRUE(eventually([&] {
      auto accepted = posix::accept_tcp(listener.get());
      if (!accepted || !*accepted) return false;
      socket = std::move(**accepted);
      return true;
    }));
    return socket;
  }
  static void write(const posix::Fd& socket, const std::string& text) {
    EXPECT_TRUE(posix::send_all(socket.get(), Bytes(text.begin(), text.end()), kPatience).ok());
  }

  posix::Fd control_listener_;
  posix::Fd data_listener_;
  posix::Fd control_;
  posix::Fd data_;
};

template <typename E>
std::optional<E> await(RemoteModem& modem) {
  std::optional<E> found;
  eventually([&] {
    const auto event = modem.poll_event();
    if (event && std::holds_alternative<E>(*event)) found = std::get<E>(*event);
    return found.has_value();
  });
  return found;
}

// The limits matter because a node keeps silent until the latest end of a transmission that it was
// told.
TEST(RemoteModem, a_host_whose_clock_is_elsewhere_moves_no_time_of_the_node) {
  const std::string year = std::to_string(Duration(hours(8766)).count());
  for (const std::string& elsewhere : {year, "-" + year}) {
    StrangeHost host;
    RemoteModem modem(host.for_user(), [] {});
    ASSERT_TRUE(modem.start().ok());
    ASSERT_NO_FATAL_FAILURE(host.greet());
    host.say("CARRIER 1 110a-2400-short 0 0\n");
    host.say("RECEIVED 2 " + elsewhere + " 110a-2400-short 1 1 0 0 0 0\n");
    host.give("x");
    host.say("ENDED 3 " + elsewhere + " lost\n");
    const auto received = await<ReceivedBytes>(modem);
    ASSERT_TRUE(received.has_value());
    EXPECT_LE(received->first_bit_at, received->at);
    EXPECT_GE(received->first_bit_at, received->at - minutes(10));
    const auto down = await<CarrierDown>(modem);
    ASSERT_TRUE(down.has_value());
    EXPECT_LE(down->at, modem.now());
    EXPECT_LE(down->ended_at, down->at);
    EXPECT_GE(down->ended_at, down->at - minutes(10));
  }
}

// The host still sends other lines all the time, so silence_max does not apply.
TEST(RemoteModem, a_host_whose_octets_do_not_come_is_counted_as_lost) {
  StrangeHost host;
  RemoteModem::Config config = host.for_user();
  config.silence_max = kPatience;
  config.stalled_max = std::chrono::milliseconds(300);
  RemoteModem modem(config, [] {});
  ASSERT_TRUE(modem.start().ok());
  ASSERT_NO_FATAL_FAILURE(host.greet());
  host.say("CARRIER 1 110a-2400-short 0 0\nRECEIVED 2 2 110a-2400-short 5 1 1 0 0 0\n");
  host.give("four");
  std::optional<Fault> lost;
  EXPECT_TRUE(eventually([&] {
    host.say_if_heard("CLOCK 3\n");
    const auto event = modem.poll_event();
    if (event && std::holds_alternative<Fault>(*event)) lost = std::get<Fault>(*event);
    return lost.has_value();
  }));
  ASSERT_TRUE(lost.has_value());
  EXPECT_EQ(lost->kind, FaultKind::device_lost);
  EXPECT_NE(lost->detail.find("did not come"), std::string::npos) << lost->detail;
}

// The host may have lost the end of the burst while its clock goes on. Without a limit the node
// would wait for ever and send nothing else.
TEST(RemoteModem, a_host_that_does_not_end_a_burst_when_told_is_counted_as_lost) {
  StrangeHost host;
  RemoteModem::Config config = host.for_user();
  config.silence_max = kPatience;
  config.abort_max = std::chrono::milliseconds(300);
  RemoteModem modem(config, [] {});
  ASSERT_TRUE(modem.start().ok());
  ASSERT_NO_FATAL_FAILURE(host.greet());
  const Mode mode = *parse_mode("110a-2400-short");
  const auto request = [&](std::uint64_t id) {
    return eventually([&] { return modem.request(TransmitBurst{.id = {id}, .mode = mode}).ok(); });
  };
  ASSERT_TRUE(request(2));
  host.say("STARTED 3 2\n");
  ASSERT_TRUE(await<TransmitStarted>(modem).has_value());
  ASSERT_TRUE(modem.request(AbortTransmit{.id = {2}}).ok());
  const auto finished = await<TransmitFinished>(modem);
  ASSERT_TRUE(finished.has_value());
  EXPECT_EQ(finished->id.value, 2U);
  EXPECT_EQ(finished->outcome, TransmitOutcome::aborted);
  const auto lost = await<Fault>(modem);
  ASSERT_TRUE(lost.has_value());
  EXPECT_EQ(lost->kind, FaultKind::device_lost);
  EXPECT_NE(lost->detail.find("does not stop a burst"), std::string::npos) << lost->detail;
  host.hang_up();
  ASSERT_NO_FATAL_FAILURE(host.greet());
  EXPECT_TRUE(request(3));
}

struct Lines final : LogSink {
  void write(LogLevel, std::string_view line) override {
    const std::lock_guard lock(mutex);
    lines.emplace_back(line);
  }
  bool has(std::string_view line) {
    const std::lock_guard lock(mutex);
    return std::find(lines.begin(), lines.end(), line) != lines.end();
  }
  std::mutex mutex;
  std::vector<std::string> lines;
};

// The modem is not reported as lost, because the greeting of version 1 follows at once.
TEST(RemoteModem, a_host_of_version_1_is_greeted_again_as_it_wants) {
  for (const std::string answer : {"REFUSED only version 1 is spoken here\n", ""}) {
    SCOPED_TRACE(answer);
    StrangeHost host;
    Lines log;
    RemoteModem modem(
        host.for_user(), [] {}, &log);
    ASSERT_TRUE(modem.start().ok());
    ASSERT_NO_FATAL_FAILURE(host.is_greeted(2));
    host.say(answer);
    host.hang_up();
    ASSERT_NO_FATAL_FAILURE(host.is_greeted(1));
    ASSERT_NO_FATAL_FAILURE(host.greet());
    host.say("CARRIER 1 110a-2400-short 0 0\n");
    std::optional<Event> first;
    EXPECT_TRUE(eventually([&] { return (first = modem.poll_event()).has_value(); }));
    ASSERT_TRUE(first.has_value());
    EXPECT_TRUE(std::holds_alternative<CarrierUp>(*first));
    EXPECT_TRUE(log.has("modem_host_connected address=127.0.0.1 version=1"));
  }
}

TEST(RemoteModem, the_version_agreed_is_logged) {
  StrangeHost host;
  Lines log;
  RemoteModem modem(
      host.for_user(), [] {}, &log);
  ASSERT_TRUE(modem.start().ok());
  ASSERT_NO_FATAL_FAILURE(host.greet(2));
  EXPECT_TRUE(
      eventually([&] { return log.has("modem_host_connected address=127.0.0.1 version=2"); }));
}

// The host may only have been slow. If the driver fell back to an older version, it would keep that
// version for the whole connection.
TEST(RemoteModem, a_host_that_answers_nothing_or_nonsense_is_greeted_as_before) {
  for (const std::string answer : {"", "what?\n"}) {
    SCOPED_TRACE(answer);
    StrangeHost host;
    RemoteModem::Config config = host.for_user();
    config.silence_max = std::chrono::milliseconds(100);
    config.reconnect_delay = config.reconnect_delay_max = std::chrono::milliseconds(1);
    RemoteModem modem(config, [] {});
    ASSERT_TRUE(modem.start().ok());
    for (int times = 0; times < 4; ++times) {
      ASSERT_NO_FATAL_FAILURE(host.is_greeted(2));
      host.say_if_heard(answer);
    }
  }
}

TEST(RemoteModem, a_host_that_is_in_use_is_greeted_as_before) {
  StrangeHost host;
  RemoteModem::Config config = host.for_user();
  config.reconnect_delay = config.reconnect_delay_max = std::chrono::milliseconds(1);
  RemoteModem modem(config, [] {});
  ASSERT_TRUE(modem.start().ok());
  for (int i = 0; i < 4; ++i) {
    ASSERT_NO_FATAL_FAILURE(host.is_greeted(2));
    host.say("REFUSED in use\n");
    host.hang_up();
  }
}

TEST(RemoteModem, an_occupied_channel_is_told_once_and_free_when_the_host_is_gone) {
  std::optional<StrangeHost> host(std::in_place);
  RemoteModem modem(host->for_user(), [] {});
  ASSERT_TRUE(modem.start().ok());
  ASSERT_NO_FATAL_FAILURE(host->greet(2));
  host->say("OCCUPIED 5\nOCCUPIED 6\nFREE 7\nFREE 8\nOCCUPIED 9\n");
  for (const bool occupied : {true, false, true}) {
    const auto told = await<ChannelOccupancy>(modem);
    ASSERT_TRUE(told.has_value());
    EXPECT_EQ(told->occupied, occupied);
  }
  host.reset();
  const auto told = await<ChannelOccupancy>(modem);
  ASSERT_TRUE(told.has_value());
  EXPECT_FALSE(told->occupied);
}

TEST(RemoteModem, a_burst_that_the_host_did_not_send_is_logged) {
  StrangeHost host;
  Lines log;
  RemoteModem modem(
      host.for_user(), [] {}, &log);
  ASSERT_TRUE(modem.start().ok());
  ASSERT_NO_FATAL_FAILURE(host.greet(2));
  const std::string_view line = "modem_burst_not_sent address=127.0.0.1";
  const auto request = [&](std::uint64_t id) {
    const Mode mode = *parse_mode("110a-2400-short");
    return eventually([&] { return modem.request(TransmitBurst{.id = {id}, .mode = mode}).ok(); });
  };
  const auto is_told = [&](TransmitOutcome outcome) {
    const auto finished = await<TransmitFinished>(modem);
    return finished && finished->outcome == outcome;
  };
  ASSERT_TRUE(request(1));
  host.say("STARTED 1 1\nFINISHED 2 1 aborted\n");
  ASSERT_TRUE(is_told(TransmitOutcome::aborted));
  ASSERT_TRUE(request(2));
  ASSERT_TRUE(modem.request(AbortTransmit{.id = {2}}).ok());
  host.say("FINISHED 3 2 aborted\n");
  ASSERT_TRUE(is_told(TransmitOutcome::aborted));
  ASSERT_TRUE(request(3));
  host.say("STARTED 4 3\nFINISHED 5 3 sent\n");
  ASSERT_TRUE(is_told(TransmitOutcome::sent));
  EXPECT_FALSE(log.has(line));
  ASSERT_TRUE(request(4));
  host.say("FINISHED 6 4 aborted\n");
  ASSERT_TRUE(is_told(TransmitOutcome::aborted));
  EXPECT_TRUE(log.has(line));
}

TEST(RemoteModem, when_octets_began_and_a_transmission_ended_is_as_the_host_says) {
  using std::chrono::seconds;
  StrangeHost host;
  RemoteModem modem(host.for_user(), [] {});
  ASSERT_TRUE(modem.start().ok());
  ASSERT_NO_FATAL_FAILURE(host.greet());
  host.say("CARRIER -9000000000 110a-2400-short 0 0\n");
  host.say("RECEIVED -4000000000 -8000000000 110a-2400-short 1 1 0 0 0 0\n");
  host.give("x");
  host.say("ENDED -1000000000 -3000000000 lost\n");
  const auto received = await<ReceivedBytes>(modem);
  ASSERT_TRUE(received.has_value());
  const auto down = await<CarrierDown>(modem);
  ASSERT_TRUE(down.has_value());
  EXPECT_EQ(down->ended_at - received->first_bit_at, seconds(5));
}

}  // namespace
}  // namespace s5066::modem
