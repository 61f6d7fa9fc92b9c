// SPDX-License-Identifier: Apache-2.0
// Joins several function objects into one, for std::visit.
#pragma once

namespace s5066 {

template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <typename... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace s5066
