// SPDX-License-Identifier: Apache-2.0
// The actions of a core that is driven as driven_core.h says: settles the core before it hands them
// out, and keeps the time of the last input.
#pragma once

#include <deque>
#include <optional>
#include <utility>

#include "s5066d/base/assert.h"
#include "s5066d/base/take_front.h"
#include "s5066d/base/time.h"

namespace s5066 {

template <typename Action>
class ActionQueue {
 public:
  /// Call in each input after which the core has to settle. The time never goes back.
  void on_input(Instant now) {
    S5066_ASSERT(now >= now_);
    now_ = now;
    unsettled_ = true;
  }
  void push(Action action) { actions_.push_back(std::move(action)); }
  bool empty() const { return actions_.empty(); }

  /// Returns the next action. If there is none and an input has come since, calls `settle(now)`
  /// first, with the time of the last input, which may push actions.
  template <typename Settle>
  std::optional<Action> poll(const Settle& settle) {
    if (actions_.empty() && std::exchange(unsettled_, false)) settle(now_);
    return take_front(actions_);
  }
  /// Does so for a core whose inputs leave nothing to settle.
  std::optional<Action> poll() {
    return poll([](Instant) {});
  }
  /// Returns `next`, or the time of the last input while it is not settled or actions are left.
  std::optional<Instant> deadline(std::optional<Instant> next) const {
    return unsettled_ || !actions_.empty() ? now_ : next;
  }

  /// Returns the time of the last input.
  Instant now() const { return now_; }
  auto begin() const { return actions_.begin(); }
  auto end() const { return actions_.end(); }

 private:
  std::deque<Action> actions_;
  Instant now_{};
  bool unsettled_ = false;
};

}  // namespace s5066
