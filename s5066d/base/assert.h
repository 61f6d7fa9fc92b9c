// SPDX-License-Identifier: Apache-2.0
// Checks for our own bugs, on in every build: a failure prints the expression, the place and the
// last trace events, then aborts. Input from outside never reaches an assert; it gets a Result.
#pragma once

namespace s5066 {

[[noreturn]] void assert_failed(const char* expression, const char* file, int line);

/// Sets the function that is called once before the abort, on the thread that failed, and prints
/// what helps to explain it. Returns the previous hook. A null hook prints nothing more.
using AssertHook = void (*)();
AssertHook set_assert_hook(AssertHook hook);

}  // namespace s5066

#define S5066_ASSERT(expression) \
  ((expression) ? static_cast<void>(0) : ::s5066::assert_failed(#expression, __FILE__, __LINE__))
