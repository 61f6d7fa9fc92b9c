// SPDX-License-Identifier: Apache-2.0
#include "s5066d/posix/hang_watch.h"

#include <utility>

namespace s5066::posix {

HangWatch::HangWatch(const Config& config, std::function<void()> on_hang)
    : config_(config), on_hang_(std::move(on_hang)), thread_([this] { run(); }) {}

HangWatch::~HangWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void HangWatch::run() {
  std::uint64_t signs = 0;
  unsigned waits = 0;
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, config_.wait, [this] { return stopping_; })) {
    waits = signs_ == signs ? waits + 1 : 0;
    signs = signs_;
    if (waits < config_.waits_max) continue;
    lock.unlock();
    return on_hang_();
  }
}

}  // namespace s5066::posix
