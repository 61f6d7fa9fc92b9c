// SPDX-License-Identifier: Apache-2.0
// The version of the project from its CMakeLists.txt, as every program prints it.
#pragma once

#include <string>
#include <string_view>

namespace s5066 {

std::string_view version();
/// Returns the line that --version prints.
std::string version_line(std::string_view program);

}  // namespace s5066
