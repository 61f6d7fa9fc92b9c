// The end of a program in which a thread hangs for good, in a call of the system or a library or in
// a loop of its own.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "s5066d/base/log.h"
#include "s5066d/posix/main_tail.h"

namespace s5066::posix {

/// The log may be what hangs: the program ends after so many seconds even without its last line.
inline constexpr unsigned kLastLineMax_s = 5;

/// Nothing is waited for and no destructor runs, because both could wait for `what`. Whoever
/// supervises the process starts it again. A key that would stay down is released by s5066-unkey
/// (modem/ptt/crash_guard.h), a serial port's by the kernel.
[[noreturn]] inline void end_hung(LogSink& log, std::string_view what) {
  ::signal(SIGALRM, SIG_DFL);
  ::alarm(kLastLineMax_s);
  LogLine(log, LogLevel::error, "hung").kv("part", what);
  std::_Exit(kExitEnvironment);
}

}  // namespace s5066::posix
