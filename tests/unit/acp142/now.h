// SPDX-License-Identifier: Apache-2.0
// The tests of this folder take place at these times.
#pragma once

#include "s5066d/base/time.h"

namespace s5066::acp142 {

inline constexpr UtcSeconds kUtc{1'800'000'000};  // time of the cores at the start
inline constexpr UtcSeconds kNow{1'000'000};      // time of the spool

}  // namespace s5066::acp142
