// SPDX-License-Identifier: Apache-2.0
// Notices a thread that has stopped permanently inside a call that does not return.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "s5066d/base/time.h"

namespace s5066::posix {

/// Watches from a thread of its own. It counts silence in its own waits, not by a clock, because a
/// process that was stopped, or a machine that slept, has not waited.
class HangWatch {
 public:
  struct Config {
    Duration wait = std::chrono::seconds(1);
    unsigned waits_max = 120;  // this many waits without alive() are a hang
  };

  /// `on_hang` is called once, on the watch's thread.
  HangWatch(const Config& config, std::function<void()> on_hang);
  ~HangWatch();
  HangWatch(const HangWatch&) = delete;
  HangWatch& operator=(const HangWatch&) = delete;

  /// Call from the watched thread while it runs.
  void alive() { ++signs_; }

 private:
  void run();

  Config config_;
  std::function<void()> on_hang_;
  std::atomic<std::uint64_t> signs_{0};
  std::mutex mutex_;  // guards everything below
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;  // the last member, because it reads everything above
};

}  // namespace s5066::posix
