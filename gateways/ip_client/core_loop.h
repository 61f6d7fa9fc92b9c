// SPDX-License-Identifier: Apache-2.0
// The loop around a core whose actions come through one queue (driven_core.h). It carries out all
// actions and sets a timer for the next deadline of the core.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <optional>
#include <utility>

#include "s5066d/base/driven_core.h"
#include "s5066d/base/step_limit.h"

namespace s5066::ip_client {

template <DrivenCore Core>
class CoreLoop {
 public:
  using Action = typename decltype(std::declval<Core&>().poll_action())::value_type;
  struct Hooks {
    std::function<Instant()> now;
    std::function<void(Action&)> carry_out;
  };

  /// The core must outlive the loop.
  CoreLoop(boost::asio::io_context& io, Core& core, Hooks hooks, StepLimit steps)
      : core_(core), hooks_(std::move(hooks)), steps_(steps), timer_(io) {}

  /// Call after each input to the core. A call from within carry_out() returns at once, because the
  /// outer call goes on with the actions.
  void run() {
    if (stopped_ || std::exchange(running_, true)) return;
    steps_.begin();
    while (auto action = core_.poll_action()) {
      hooks_.carry_out(*action);
      steps_.count();
    }
    running_ = false;
    arm_timer();
  }
  /// Ends the loop. No action is carried out afterwards.
  void stop() {
    stopped_ = true;
    timer_.cancel();
  }

 private:
  void arm_timer() {
    timer_.cancel();
    const auto next = core_.next_deadline();
    if (!next || stopped_) return;
    timer_.expires_after(*next - hooks_.now());
    timer_.async_wait([this](boost::system::error_code cancelled) {
      if (cancelled || stopped_) return;
      core_.on_deadline(hooks_.now());
      run();
    });
  }

  Core& core_;
  Hooks hooks_;
  StepLimit steps_;
  boost::asio::steady_timer timer_;
  bool running_ = false;
  bool stopped_ = false;
};

}  // namespace s5066::ip_client
