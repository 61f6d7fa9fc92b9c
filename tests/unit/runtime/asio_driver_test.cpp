// SPDX-License-Identifier: Apache-2.0
// A node's driver runs between a modem and clients that the test plays.
#include "s5066d/runtime/asio_driver.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <optional>
#include <vector>

#include "s5066d/node/node.h"
#include "sis/codec.h"
#include "tests/support/patience.h"
#include "tests/unit/runtime/sis_rig.h"

namespace s5066::runtime {
namespace {

class BusyModem final : public ModemPort {
 public:
  Instant now() const override { return now_; }
  bool lockstep() const override { return lockstep_; }
  Result<void> request(modem::Command command) override {
    if (refusal) return Error{*refusal, "commands"};
    taken.push_back(std::move(command));
    return {};
  }
  template <typename C>
  const C* newest() const {
    return taken.empty() ? nullptr : std::get_if<C>(&taken.back());
  }
  std::optional<ErrorCode> refusal;
  std::vector<modem::Command> taken;
  Instant now_{std::chrono::seconds(1)};
  bool lockstep_ = false;
};

struct NoClients final : ClientPort {
  std::size_t send(ClientId, const Bytes&) override { return 0; }
  void close(ClientId, bool) override {}
  void pause(ClientId, bool) override {}
};

struct NoTrace final : TraceSink {
  void on_trace(const TraceEvent&) override {}
};

class Driven : public ::testing::Test {
 protected:
  Driven() {
    NodeConfig config;
    config.dts.address = Address{0x01020304};
    config.dts.mode = *modem::parse_mode("110a-2400-short");
    node_.emplace(config, rng_, trace_);
    driver_.emplace(io_, *node_, log_);
    driver_->connect(modem_, clients_);
  }
  /// Makes the node start a burst that calls another station.
  void begin_a_burst() {
    Bytes asked;
    sis::encode(bind_to(3), asked);
    sis::UnidataRequest request;
    request.destination = Address{0x01020305};
    request.destination_sap = SapId{3};
    request.updu = Bytes(10);
    sis::encode(request, asked);
    driver_->drive([&](Node& node, Instant now) {
      node.on_client_bytes(now, node.on_client_connected(now), asked);
    });
    for (int i = 0; i < 1000 && modem_.taken.empty(); ++i) pass(std::chrono::milliseconds(100));
    ASSERT_NE(modem_.newest<modem::TransmitBurst>(), nullptr);
    burst_ = modem_.newest<modem::TransmitBurst>()->id;
  }
  void pass(Duration time) {
    modem_.now_ += time;
    driver_->drive([](Node& node, Instant now) { node.on_deadline(now); });
  }
  void be_silent() {
    driver_->drive([](Node& node, Instant now) { node.request_silence(now, true); });
  }
  std::uint64_t faults() const { return node_->counters()[Counter::modem_faults]; }

  boost::asio::io_context io_;
  TestLog log_;
  NoTrace trace_;
  Rng rng_{1};
  BusyModem modem_;
  NoClients clients_;
  std::optional<Node> node_;
  std::optional<AsioDriver> driver_;
  modem::BurstId burst_;
};

TEST_F(Driven, silence_ends_a_burst_though_the_modem_has_no_room_for_the_command_yet) {
  ASSERT_NO_FATAL_FAILURE(begin_a_burst());
  modem_.refusal = ErrorCode::queue_full;
  be_silent();
  EXPECT_EQ(faults(), 0U);  // the burst is not over
  modem_.refusal.reset();
  EXPECT_TRUE(test::eventually([&] {
    io_.restart();
    io_.poll();
    return modem_.newest<modem::AbortTransmit>() != nullptr;
  }));
  ASSERT_NE(modem_.newest<modem::AbortTransmit>(), nullptr);
  EXPECT_EQ(modem_.newest<modem::AbortTransmit>()->id, burst_);
  const std::size_t given = modem_.taken.size();
  pass(std::chrono::milliseconds(1));
  EXPECT_EQ(modem_.taken.size(), given);  // the command is given once
}

TEST_F(Driven, in_lockstep_the_command_is_given_again_as_time_passes) {
  modem_.lockstep_ = true;
  ASSERT_NO_FATAL_FAILURE(begin_a_burst());
  modem_.refusal = ErrorCode::queue_full;
  be_silent();
  modem_.refusal.reset();
  pass(std::chrono::milliseconds(1));
  EXPECT_NE(modem_.newest<modem::AbortTransmit>(), nullptr);
}

TEST_F(Driven, a_modem_that_is_not_there_has_no_burst_to_end) {
  ASSERT_NO_FATAL_FAILURE(begin_a_burst());
  modem_.refusal = ErrorCode::link_down;
  be_silent();
  EXPECT_EQ(faults(), 1U);
  EXPECT_TRUE(log_.has("modem_command_refused"));
  modem_.refusal.reset();
  pass(std::chrono::milliseconds(1));
  EXPECT_EQ(modem_.newest<modem::AbortTransmit>(), nullptr);
}

}  // namespace
}  // namespace s5066::runtime
