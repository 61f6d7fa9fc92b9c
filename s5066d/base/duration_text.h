// SPDX-License-Identifier: Apache-2.0
// Durations as text for operators.
#pragma once

#include <chrono>
#include <string>

namespace s5066 {

/// Returns "45 s", "2 h 0 min" or "3 d 1 h"; the sign is omitted.
std::string duration_text(std::chrono::seconds duration);

}  // namespace s5066
