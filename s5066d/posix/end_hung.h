// SPDX-License-Identifier: Apache-2.0
// Ends a program in which a thread hangs permanently, in a call of the system or a library or in a
// loop of its own.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "s5066d/base/log.h"
#include "s5066d/posix/main_tail.h"

namespace s5066::posix {

/// Seconds until the program ends without its last line, because the log may be what hangs.
inline constexpr unsigned kLastLineMax_s = 5;

/// Ends the program without waiting and without destructors, because both could wait for `what`.
/// The supervisor of the process starts it again. s5066-unkey (modem/ptt/crash_guard.h) releases a
/// key that would stay down; the kernel releases that of a serial port.
[[noreturn]] inline void end_hung(LogSink& log, std::string_view what) {
  ::signal(SIGALRM, SIG_DFL);
  ::alarm(kLastLineMax_s);
  LogLine(log, LogLevel::error, "hung").kv("part", what);
  std::_Exit(kExitEnvironment);
}

}  // namespace s5066::posix
