// SPDX-License-Identifier: Apache-2.0
// The clock of a simulation: events in order of time, equal times in order of scheduling.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "s5066d/base/assert.h"
#include "s5066d/base/time.h"

namespace s5066::sim {

class EventHeap {
 public:
  using Callback = std::function<void()>;

  Instant now() const { return now_; }

  void schedule(Instant at, Callback callback) {
    S5066_ASSERT(at >= now_);
    events_.push(Event{at, next_sequence_++, std::move(callback)});
  }

  bool empty() const { return events_.empty(); }
  Instant next_at() const { return events_.top().at; }

  void run_one() {
    Callback callback = std::move(const_cast<Event&>(events_.top()).callback);
    now_ = events_.top().at;
    events_.pop();
    callback();
  }

  /// Runs all events due up to and including `until`; the clock then shows `until`.
  void run_until(Instant until) {
    while (!events_.empty() && events_.top().at <= until) run_one();
    now_ = until;
  }

 private:
  struct Event {
    Instant at;
    std::uint64_t sequence;
    Callback callback;
    bool operator<(const Event& other) const {
      return at != other.at ? at > other.at : sequence > other.sequence;
    }
  };
  std::priority_queue<Event> events_;
  std::uint64_t next_sequence_ = 0;
  Instant now_{};
};

}  // namespace s5066::sim
