// SPDX-License-Identifier: Apache-2.0
#include "s5066d/base/version.h"

namespace s5066 {

std::string_view version() {
  return S5066_VERSION;
}

std::string version_line(std::string_view program) {
  return std::string(program) + " " + S5066_VERSION + "\n";
}

}  // namespace s5066
