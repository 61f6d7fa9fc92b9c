// SPDX-License-Identifier: Apache-2.0
// Sorts the events that a modem reported to a test.
#pragma once

#include <variant>
#include <vector>

#include "modem/api/port.h"

namespace s5066::modem {

/// Returns the events of one kind in their order.
template <typename E>
std::vector<E> of_kind(const std::vector<Event>& events) {
  std::vector<E> found;
  for (const Event& event : events) {
    if (const auto* e = std::get_if<E>(&event)) found.push_back(*e);
  }
  return found;
}

}  // namespace s5066::modem
