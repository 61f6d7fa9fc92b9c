// SPDX-License-Identifier: Apache-2.0
// The time in whole seconds, as spools keep it.
#pragma once

#include "s5066d/base/time.h"
#include "s5066d/posix/socket.h"

namespace s5066::posix {

/// Returns the clock of the machine in whole seconds; the clock may be set at any time.
inline UtcSeconds utc_seconds_now() {
  return to_utc_seconds(utc_now());
}

}  // namespace s5066::posix
