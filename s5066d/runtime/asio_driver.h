// SPDX-License-Identifier: Apache-2.0
// Runs a sans-IO node on an io_context: calls one input, drains all outputs, sets one timer.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

#include "modem/api/port.h"
#include "s5066d/base/log.h"
#include "s5066d/base/step_limit.h"
#include "s5066d/node/node.h"

namespace s5066::runtime {

/// The modem below the node, and the clock of the node.
class ModemPort {
 public:
  virtual Instant now() const = 0;
  /// True if time passes only with the modem's blocks, so that a timer of ours would have no
  /// meaning.
  virtual bool lockstep() const = 0;
  virtual Result<void> request(modem::Command command) = 0;

 protected:
  ~ModemPort() = default;
};

/// The connections above the node.
class ClientPort {
 public:
  /// Returns the octets that the client has not taken yet, these included.
  virtual std::size_t send(ClientId client, const Bytes& bytes) = 0;
  /// Closes the connection after earlier output has been taken, or at once.
  virtual void close(ClientId client, bool discard_unsent) = 0;
  virtual void pause(ClientId client, bool paused) = 0;

 protected:
  ~ClientPort() = default;
};

class AsioDriver {
 public:
  AsioDriver(boost::asio::io_context& io, Node& node, LogSink& log)
      : node_(node), log_(log), timer_(io), steps_("AsioDriver::settle ends", kStepsMax) {}

  /// Call before the first input.
  void connect(ModemPort& modem, ClientPort& clients);

  /// Calls `input(node, now)` and carries out the node's actions. Do not call it from within an
  /// input.
  template <typename Input>
  auto drive(Input&& input) {
    const Instant now = modem_->now();
    if constexpr (std::is_void_v<std::invoke_result_t<Input, Node&, Instant>>) {
      std::forward<Input>(input)(node_, now);
      settle(now);
    } else {
      auto result = std::forward<Input>(input)(node_, now);
      settle(now);
      return result;
    }
  }

  /// Stops all timers.
  void stop();

 private:
  /// Limit of the actions of one event. The node's own pump allows fewer (Node::steps_max, about
  /// 1.7 million with the present limits of QueueConfig).
  static constexpr std::size_t kStepsMax = 8'000'000;

  void settle(Instant now);
  void log_duplex();
  void refuse(Instant now, const Error& error);
  void insist_on_aborting(Instant now);
  void perform(Instant now, modem::Command&& command);
  void perform(Instant now, SendToClient&& action);
  void perform(Instant now, CloseClient&& action);
  void perform(Instant now, PauseClient&& action);
  void arm(Instant now);

  Node& node_;
  LogSink& log_;
  boost::asio::steady_timer timer_;
  StepLimit steps_;
  std::optional<Instant> armed_for_;        // time at which the timer fires; nothing is due before
  std::optional<modem::BurstId> to_abort_;  // aborted once the modem has room for the command
  ModemPort* modem_ = nullptr;
  ClientPort* clients_ = nullptr;
  bool stopped_ = false;
  dts::Duplex duplex_ = dts::Duplex::half;  // state that was logged last
};

}  // namespace s5066::runtime
