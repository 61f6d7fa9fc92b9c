// SPDX-License-Identifier: Apache-2.0
// Takes the oldest element of a queue: the body of most poll functions of the cores.
#pragma once

#include <optional>
#include <utility>

namespace s5066 {

/// Removes the first element of the queue and returns it; returns nothing if the queue is empty.
template <typename Queue>
std::optional<typename Queue::value_type> take_front(Queue& queue) {
  if (queue.empty()) return std::nullopt;
  std::optional<typename Queue::value_type> front(std::move(queue.front()));
  queue.pop_front();
  return front;
}

}  // namespace s5066
