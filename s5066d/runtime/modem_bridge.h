// SPDX-License-Identifier: Apache-2.0
// Connects the modem's thread with the node's: news of the modem becomes a call on the io_context's
// thread.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>

#include "modem/api/modem.h"
#include "s5066d/runtime/asio_driver.h"

namespace s5066::runtime {

class ModemBridge final : public ModemPort {
 public:
  /// Makes the modem. The modem calls `notify` from its thread when it has news.
  using Factory = std::function<std::unique_ptr<modem::Modem>(std::function<void()> notify)>;
  ModemBridge(boost::asio::io_context& io, const Factory& make_modem);

  /// `on_progress` runs on the io_context whenever events wait or, in lockstep, a block is over. It
  /// must poll every event, let the node handle its deadlines, and then call release(). It may
  /// still be called once after stop().
  Result<void> start(std::function<void()> on_progress);
  /// Aborts a transmission, unkeys and ends the thread.
  void stop();

  std::optional<modem::Event> poll_event() { return modem_->poll_event(); }
  /// Call when everything up to `until` was handled; lets a modem in lockstep continue.
  void release(Instant until);
  /// True if the device is lost permanently.
  bool finished() const { return modem_->finished(); }
  modem::ModemState state() const { return modem_->state(); }

  /// Returns the time of day of Instant{}, in lockstep by the device's own clock; it changes when
  /// clocks are set.
  Duration utc_began() const;

  Instant now() const override { return modem_->now(); }
  bool lockstep() const override { return modem_->lockstep(); }
  Result<void> request(modem::Command command) override {
    return modem_->request(std::move(command));
  }

 private:
  void on_notify();

  boost::asio::io_context& io_;
  std::function<void()> on_progress_;
  std::atomic<bool> progress_posted_{false};
  std::unique_ptr<modem::Modem> modem_;  // the last member, because its thread calls us
};

}  // namespace s5066::runtime
