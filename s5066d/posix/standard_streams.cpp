// SPDX-License-Identifier: Apache-2.0
#include "s5066d/posix/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "s5066d/posix/main_tail.h"

namespace s5066::posix {

// A new descriptor takes the lowest free number, so going up from 0 gives each stream its own.
// Standard output gets one that cannot be written, because a command whose answer goes nowhere has
// failed.
void open_standard_streams() {
  constexpr int kModes[] = {O_RDONLY, O_RDONLY, O_WRONLY};
  for (int number = STDIN_FILENO; number <= STDERR_FILENO; ++number) {
    if (::fcntl(number, F_GETFD) < 0) ::open("/dev/null", kModes[number]);
  }
}

int finish_standard_output(const char* program, int status) {
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && std::ferror(stdout) == 0) return status;
  // An earlier write may have failed; its reason is no longer known.
  const char* const reason = flushed || errno == 0 ? "" : std::strerror(errno);
  std::fprintf(stderr, "%s: standard output could not be written%s%s\n", program,
               *reason == '\0' ? "" : ": ", reason);
  return status == kExitOk ? kExitEnvironment : status;
}

}  // namespace s5066::posix
