// SPDX-License-Identifier: Apache-2.0
#include "s5066d/base/version.h"

namespace s5066 {

std::string_view version() {
  return S5066_VERSION;
}

// An installed program has a function of this name in a file of its own, which comes first. So a
// new commit compiles one file for each program, and nothing else.
[[gnu::weak]] std::string_view commit() {
  return {};
}

std::string version_line(std::string_view program) {
  std::string line = std::string(program) + " " + S5066_VERSION;
  if (!commit().empty()) line.append(" (").append(commit()).append(")");
  return line.append("\n");
}

}  // namespace s5066
