// SPDX-License-Identifier: Apache-2.0
// How the cores of this tree are driven. A core has no clock, socket or thread: its driver tells it
// what happens and when, carries out what it asks for, and wakes it.
//
//   core.on_something(now, …);                               // 1. an input, with its time
//   while (auto action = core.poll_action()) carry_out(*action);  // 2. all actions
//   arm_timer(core.next_deadline());                         // 3. one timer, for on_deadline(now)
//
// - An input (`on_…`, `request_…`, `set_…`) records what has happened. Its time never goes back.
// - The first poll_action() after inputs settles the core: it decides on all of them together, such
//   as on one transmission for all U_PDUs that have come. Several inputs in a row are one event.
// - poll_action() returns each action once, in order, then none until there is an input.
// - next_deadline() is the time of the last input until all actions are taken, so that a driver
//   that forgot to poll is called back at once.
// - on_deadline() may come early, late and repeatedly: a timer runs out once, when it is due.
// - No call blocks or calls back. A driver that gives an input from within an action goes on
//   polling, and takes all actions before it waits.
#pragma once

#include <concepts>
#include <optional>

#include "s5066d/base/time.h"

namespace s5066 {

/// A core with timers: all but those that only translate.
template <typename Core>
concept TimedCore = requires(Core& core, const Core& read, Instant now) {
  { core.on_deadline(now) } -> std::same_as<void>;
  { read.next_deadline() } -> std::same_as<std::optional<Instant>>;
};

/// A core whose actions all come through one queue. Cores of P_MUL and the file relay have one poll
/// function for each receiver of actions instead, and are TimedCores.
template <typename Core>
concept DrivenCore = TimedCore<Core> && requires(Core& core) {
  { core.poll_action().has_value() } -> std::same_as<bool>;
  *core.poll_action();
};

}  // namespace s5066
