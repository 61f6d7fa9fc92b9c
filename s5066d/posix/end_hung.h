// The end of a program in which a thread hangs for good in a call of the system or a library.
#pragma once

#include <cstdlib>

#include <string_view>

#include "s5066d/base/log.h"
#include "s5066d/posix/main_tail.h"

namespace s5066::posix {

/// Nothing is waited for and no destructor runs: they would wait for `what`. Whoever supervises the
/// process starts it again.
[[noreturn]] inline void end_hung(LogSink& log, std::string_view what) {
  LogLine(log, LogLevel::error, "hung").kv("part", what);
  std::_Exit(kExitEnvironment);
}

}  // namespace s5066::posix
