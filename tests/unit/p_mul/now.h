// SPDX-License-Identifier: Apache-2.0
// The time at which the tests of this folder begin.
#pragma once

#include "s5066d/base/time.h"

namespace s5066::p_mul {

inline constexpr UtcSeconds kUtc{1'800'000'000};

}  // namespace s5066::p_mul
