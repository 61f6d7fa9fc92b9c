// SPDX-License-Identifier: Apache-2.0
// The test controls this device, key and clock, and runs a node's thread for a worker.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "modem/audio/device.h"
#include "modem/ptt/ptt.h"
#include "modem/worker/worker.h"
#include "tests/support/patience.h"
#include "tests/unit/modem_worker/events.h"

namespace s5066::modem {

using test::eventually;
using test::kPatience;

/// Holds the state that a FakeDevice shares with its test. It outlives the worker that owns the
/// device.
class DeviceScript {
 public:
  void give_blocks(std::size_t count, Device::Received losses = {}) {
    for (std::size_t n = 0; n < count; ++n) give({.losses = losses, .error = {}});
  }
  void fail(ErrorCode code) { give({.losses = {}, .error = Error{code, "as told"}}); }
  /// Makes the next `times` calls of open() fail with `code`.
  void refuse_open(std::size_t times, ErrorCode code) {
    const std::lock_guard lock(mutex_);
    open_failures_ = times;
    open_error_ = code;
  }
  /// True if the device may be missing at the start. Set it before the worker starts.
  bool may_come_later = false;
  /// Sets the device's time of day from the next open() on.
  void set_utc(Duration utc) {
    const std::lock_guard lock(mutex_);
    utc_ = utc;
  }
  /// Sets the transmit delay of the device from the next open() on.
  void set_transmit_delay(std::size_t samples) {
    const std::lock_guard lock(mutex_);
    transmit_delay_ = samples;
  }
  void set_block_samples(std::size_t samples) {
    const std::lock_guard lock(mutex_);
    block_samples_ = samples;
  }
  std::size_t opened() const { return opened_; }
  std::size_t answered() const { return answered_; }
  /// Returns how often the worker has asked for samples.
  std::size_t received() const { return received_; }
  bool keyed() const { return keyed_; }
  /// Returns all samples that the device was given to play.
  std::vector<float> played() {
    const std::lock_guard lock(mutex_);
    return played_;
  }
  /// Delivers sound of this amplitude from now on: 1200 Hz at 9600 samples/s.
  void sound(float amplitude) { amplitude_ = amplitude; }
  /// Every close() calls this on the worker's thread. Set it before the worker starts.
  std::function<void()> on_close = [] {};

 private:
  friend class FakeDevice;
  struct Step {
    Device::Received losses;
    std::optional<Error> error;
  };
  void give(Step step) {
    {
      const std::lock_guard lock(mutex_);
      steps_.push_back(std::move(step));
    }
    given_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable given_;
  std::deque<Step> steps_;
  std::vector<float> played_;
  std::size_t open_failures_ = 0;
  ErrorCode open_error_ = ErrorCode::io;
  Duration utc_{};
  std::optional<std::size_t> transmit_delay_;
  std::optional<std::size_t> block_samples_;
  std::atomic<std::size_t> opened_{0};
  std::atomic<std::size_t> answered_{0};
  std::atomic<std::size_t> received_{0};
  std::atomic<bool> keyed_{false};
  std::atomic<float> amplitude_{0};
};

class FakeDevice final : public Device {
 public:
  FakeDevice(std::shared_ptr<DeviceScript> script, Info info)
      : script_(std::move(script)), info_(std::move(info)) {}

  Result<void> open() override {
    const std::lock_guard lock(script_->mutex_);
    ++script_->opened_;
    info_.utc = script_->utc_;
    info_.block_samples = script_->block_samples_.value_or(info_.block_samples);
    info_.transmit_delay = script_->transmit_delay_.value_or(info_.transmit_delay);
    if (script_->open_failures_ == 0) return {};
    --script_->open_failures_;
    return Error{script_->open_error_, "as told"};
  }
  void close() override { script_->on_close(); }
  bool may_come_later() const override { return script_->may_come_later; }
  const Info& info() const override { return info_; }
  Result<Received> receive(std::span<float> samples) override {
    ++script_->received_;
    std::unique_lock lock(script_->mutex_);
    const bool given = script_->given_.wait_for(lock, std::chrono::milliseconds(2),
                                                [&] { return !script_->steps_.empty(); });
    if (!given) return Error{ErrorCode::timed_out, "nothing given"};
    const DeviceScript::Step step = std::move(script_->steps_.front());
    script_->steps_.pop_front();
    if (step.error) return *step.error;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      samples[i] = i / 4 % 2 == 0 ? script_->amplitude_.load() : -script_->amplitude_.load();
    }
    return step.losses;
  }
  Result<void> transmit(bool keyed, std::span<const float> samples) override {
    {
      const std::lock_guard lock(script_->mutex_);
      script_->played_.insert(script_->played_.end(), samples.begin(), samples.end());
    }
    script_->keyed_ = keyed;
    ++script_->answered_;
    return {};
  }

 private:
  std::shared_ptr<DeviceScript> script_;
  Info info_;
};

struct KeyScript {
  std::atomic<bool> down{false};
  std::atomic<int> failures{0};  // this many next calls fail
  std::atomic<ErrorCode> failure{ErrorCode::io};
  std::atomic<bool> only_unkeying_fails{false};
  std::atomic<int> keyings{0};
  std::atomic<int> calls{0};
  std::atomic<int> releases{0};
};

class FakePtt final : public Ptt {
 public:
  explicit FakePtt(std::shared_ptr<KeyScript> script) : script_(std::move(script)) {}
  Result<void> key(bool on) override {
    ++script_->calls;
    if (on) ++script_->keyings;
    if (script_->failures > 0 && !(on && script_->only_unkeying_fails)) {
      --script_->failures;
      return Error{script_->failure, "as told"};
    }
    script_->down = on;
    return {};
  }
  Result<void> release() override {
    script_->down = false;
    ++script_->releases;
    return {};
  }

 private:
  std::shared_ptr<KeyScript> script_;
};

/// Runs a worker in lockstep with the thread of its node. At every block boundary the thread takes
/// the events, plays the node's part, and releases the worker.
class LockstepStation {
 public:
  /// The node's thread calls this with the clock at every boundary. A result of false ends the
  /// thread.
  using Node = std::function<bool(LockstepStation&, Instant)>;

  LockstepStation(std::unique_ptr<Device> device, Node node, const Worker::Config& config = {})
      : node_(std::move(node)),
        worker_(config, std::move(device), std::make_unique<NoPtt>(), [this] { wake(); }) {}
  ~LockstepStation() { join(); }

  Result<void> start() {
    auto started = worker_.start();
    if (started) thread_ = std::thread([this] { run(); });
    return started;
  }
  /// Waits until the node has ended. The worker then stands still but stays on its device.
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  /// Ends node and worker at any point.
  void kill() {
    killed_ = true;
    wake();
    join();
    worker_.stop();
  }

  Worker& worker() { return worker_; }
  std::vector<Event> events;  // written by the node's thread until join()

  template <typename E>
  std::vector<E> all() const {
    return of_kind<E>(events);
  }

 private:
  void wake() {
    {
      const std::lock_guard lock(mutex_);
      notified_ = true;
    }
    wake_.notify_all();
  }
  void run() {
    while (!killed_ && !worker_.finished()) {
      {
        std::unique_lock lock(mutex_);
        if (!wake_.wait_for(lock, kPatience, [this] { return notified_; })) {
          ADD_FAILURE() << "no block for too long";
          return;
        }
        notified_ = false;
      }
      const Instant now = worker_.now();
      while (auto event = worker_.poll_event()) {
        EXPECT_LE(at(*event), now);
        if (!events.empty()) {
          EXPECT_GE(at(*event), at(events.back()));
        }
        events.push_back(std::move(*event));
      }
      if (killed_ || !node_(*this, now)) return;
      worker_.release(now);
    }
  }

  Node node_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool notified_ = false;
  std::atomic<bool> killed_{false};
  std::thread thread_;
  Worker worker_;
};

}  // namespace s5066::modem
