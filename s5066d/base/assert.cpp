// SPDX-License-Identifier: Apache-2.0
#include "s5066d/base/assert.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace s5066 {
namespace {
std::atomic<AssertHook> assert_hook{nullptr};
}

AssertHook set_assert_hook(AssertHook hook) {
  return assert_hook.exchange(hook);
}

void assert_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, expression);
  if (const AssertHook hook = assert_hook.exchange(nullptr)) hook();
  std::fflush(stderr);
  std::abort();
}

}  // namespace s5066
