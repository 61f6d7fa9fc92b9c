// When the tests of this folder take place.
#pragma once

#include "s5066d/base/time.h"

namespace s5066::acp142 {

inline constexpr UtcSeconds kUtc{1'800'000'000};  // of cores, at the start
inline constexpr UtcSeconds kNow{1'000'000};      // of the spool

}  // namespace s5066::acp142
