// SPDX-License-Identifier: Apache-2.0
// The version of the project from its CMakeLists.txt, as every program prints it.
#pragma once

#include <string>
#include <string_view>

namespace s5066 {

std::string_view version();
/// Returns the commit that the program was built from; empty if that is not known, and in programs
/// that are not installed.
std::string_view commit();
/// Returns the line that --version prints, such as "s5066d 0.2.0 (6833cc5b)".
std::string version_line(std::string_view program);

}  // namespace s5066
