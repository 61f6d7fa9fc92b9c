// SPDX-License-Identifier: Apache-2.0
// The virtual time of a simulation: events in order of time, equal times in order of scheduling;
// the clock and the timer of each participant. Every loop has a limit, so that a participant that
// never comes to rest ends the test.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
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
    at_once_ = events_.top().at > now_ ? 0 : at_once_ + 1;
    S5066_ASSERT(at_once_ < kAtOnceMax);
    now_ = events_.top().at;
    events_.pop();
    callback();
  }

  /// Runs all events due up to and including `until`; the clock then shows `until`.
  void run_until(Instant until) {
    while (!events_.empty() && events_.top().at <= until) run_one();
    now_ = until;
  }
  void run_for(Duration duration) { run_until(now_ + duration); }

 private:
  static constexpr std::size_t kAtOnceMax = 1'000'000;  // events without progress of the clock

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
  std::size_t at_once_ = 0;
  Instant now_{};
};

/// A participant's clock, which runs faster or slower than the clock of the simulation.
class SkewedClock {
 public:
  explicit SkewedClock(int fast_ppm = 0) : fast_ppm_(fast_ppm) {}

  Instant local(Instant world) const {
    return world + world.time_since_epoch() / kMillion * fast_ppm_;
  }
  /// Returns the first instant of the simulation at which this clock shows `local`, or slightly
  /// later.
  Instant world(Instant local) const {
    Instant at = local - (local.time_since_epoch() / kMillion + Duration(1)) * fast_ppm_;
    while (this->local(at) < local) at += local - this->local(at);
    return at;
  }

 private:
  static constexpr int kMillion = 1'000'000;
  int fast_ppm_;
};

/// The one timer of a participant. It must stay where it is.
class Timer {
 public:
  explicit Timer(EventHeap& heap, SkewedClock clock = SkewedClock()) : heap_(heap), clock_(clock) {}
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  const SkewedClock& clock() const { return clock_; }
  /// Calls `due` at this deadline by the participant's clock, or at once if that has passed, but
  /// not before `least` is over. A deadline replaces another one.
  void arm(std::optional<Instant> deadline, EventHeap::Callback due, Duration least = {}) {
    if (!deadline || armed_ == deadline) return;
    armed_ = deadline;
    heap_.schedule(std::max(clock_.world(*deadline), heap_.now() + least),
                   [this, deadline, life = life_, due = std::move(due)] {
                     if (life != life_ || armed_ != deadline) return;
                     armed_.reset();
                     due();
                   });
  }
  /// Forgets the deadline, because the participant starts anew.
  void disarm() {
    armed_.reset();
    ++life_;
  }

 private:
  EventHeap& heap_;
  SkewedClock clock_;
  std::optional<Instant> armed_;
  std::uint64_t life_ = 0;
};

/// Takes all outputs of a participant until it has no more. Returns whether there was one.
template <typename Poll, typename Take>
bool take_all(Poll poll, Take take) {
  constexpr std::size_t kOutputsMax = 10'000'000;
  for (std::size_t taken = 0;; ++taken) {
    S5066_ASSERT(taken < kOutputsMax);
    auto output = poll();
    if (!output) return taken > 0;
    take(*output);
  }
}

/// Lets the clock `now` of a test go on to `end`, and calls `fire` at each time that `next` returns
/// on the way.
template <typename Next, typename Fire>
void run_deadlines(Instant& now, Instant end, Next next, Fire fire) {
  constexpr std::size_t kStepsMax = 1'000'000;
  for (std::size_t steps = 0;; ++steps) {
    S5066_ASSERT(steps < kStepsMax);
    const std::optional<Instant> due = next();
    if (!due || *due > end) break;
    now = std::max(now, *due);
    fire();
  }
  now = std::max(now, end);
}

}  // namespace s5066::sim
