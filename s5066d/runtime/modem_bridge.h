// Brings the modem worker's thread and the node's together: what the worker has to say becomes a
// call on the io_context's thread.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>

#include "modem/worker/worker.h"
#include "s5066d/runtime/asio_driver.h"

namespace s5066::runtime {

class ModemBridge final : public ModemPort {
 public:
  ModemBridge(boost::asio::io_context& io, const modem::Worker::Config& config,
              std::unique_ptr<modem::Device> device, std::unique_ptr<modem::Ptt> ptt);

  /// `on_progress` runs on the io_context whenever events wait or, in lockstep, a block is over.
  /// It is to poll every event, let the node see its deadlines, and then release(). It may still
  /// be called once after stop().
  Result<void> start(std::function<void()> on_progress);
  /// Aborts a transmission, unkeys, ends the thread.
  void stop();

  std::optional<modem::Event> poll_event() { return worker_.poll_event(); }
  /// All up to `until` has been dealt with; lets a modem in lockstep go on.
  void release(Instant until);
  /// The device is lost for good.
  bool finished() const { return worker_.finished(); }
  modem::Worker::Stats stats() const { return worker_.stats(); }

  /// The time of day of Instant{}, in lockstep by the device's own clock; moves as clocks are set.
  Duration utc_began() const;

  Instant now() const override { return worker_.now(); }
  bool lockstep() const override { return worker_.lockstep(); }
  Result<void> request(modem::Command command) override {
    return worker_.request(std::move(command));
  }

 private:
  void on_notify();

  boost::asio::io_context& io_;
  std::function<void()> on_progress_;
  std::atomic<bool> progress_posted_{false};
  modem::Worker worker_;
};

}  // namespace s5066::runtime
