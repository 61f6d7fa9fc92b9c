// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/modem_soak/rig.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "s5066d/base/assert.h"

namespace s5066::modem {
namespace {

/// Wall time for the answer to a block of 20 ms; after this time the worker's thread counts as
/// hung.
constexpr std::chrono::seconds kPatience{120};

/// Interval at which a waiting worker checks whether it should stop.
constexpr std::chrono::milliseconds kLook{20};

}  // namespace

void Gate::wait(const std::function<bool()>& done, const char* what) {
  std::unique_lock lock(mutex_);
  if (changed_.wait_for(lock, kPatience, done)) return;
  std::printf("{\"bench\":\"modem_soak\",\"hang_of_thread\":\"%s\"}\n", what);
  std::fflush(stdout);
  std::_Exit(1);
}

void Gate::wait_until_asked() {
  wait([this] { return asked_; }, "does not ask for a block");
}

void Gate::give(std::span<const float> block, const Device::Received& losses) {
  {
    const std::lock_guard lock(mutex_);
    S5066_ASSERT(asked_ && !block_);
    block_.emplace(block.begin(), block.end());
    losses_ = losses;
    asked_ = notified_ = answered_ = false;
  }
  changed_.notify_all();
  wait([this] { return notified_; }, "does not take a block in");
}

void Gate::lose_device() {
  {
    const std::lock_guard lock(mutex_);
    S5066_ASSERT(asked_);
    lost_ = true;
    asked_ = false;
  }
  changed_.notify_all();
  wait([this] { return asked_; }, "does not come back after the loss of its device");
}

void Gate::wait_for_answer() {
  wait([this] { return answered_; }, "does not answer a block");
}

void Gate::on_notify() {
  {
    const std::lock_guard lock(mutex_);
    notified_ = true;
  }
  changed_.notify_all();
}

Result<Device::Received> Gate::receive(std::span<float> samples) {
  std::unique_lock lock(mutex_);
  asked_ = !block_ && !lost_;
  changed_.notify_all();
  if (!changed_.wait_for(lock, kLook, [this] { return block_ || lost_; })) {
    return Error{ErrorCode::timed_out, "no block yet"};
  }
  if (lost_) {
    lost_ = false;
    return Error{ErrorCode::io, "as drawn"};
  }
  std::copy(block_->begin(), block_->end(), samples.begin());
  block_.reset();
  return losses_;
}

void Gate::transmit(bool keyed, std::span<const float> samples) {
  {
    const std::lock_guard lock(mutex_);
    keyed_ = keyed;
    answer_.assign(samples.begin(), samples.end());
    answered_ = true;
  }
  changed_.notify_all();
}

Result<void> GateDevice::transmit(bool keyed, std::span<const float> samples) {
  gate_.transmit(keyed, samples);
  return {};
}

Result<void> KeyPtt::key(bool on) {
  if (key_.failures > 0) {
    --key_.failures;
    ++key_.failed;
    return Error{ErrorCode::io, "as drawn"};
  }
  key_.down = on;
  return {};
}

Result<void> KeyPtt::release() {
  key_.down = false;
  return {};
}

}  // namespace s5066::modem
