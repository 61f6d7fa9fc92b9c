// SPDX-License-Identifier: Apache-2.0
// How our programs end: exit statuses, and one place for exceptions of libraries.
#pragma once

#include <csignal>
#include <cstdio>
#include <exception>

#include "s5066d/posix/standard_streams.h"

namespace s5066::posix {

inline constexpr int kExitOk = 0;
inline constexpr int kExitEnvironment = 1;   // a port, a device, a file, a disk
inline constexpr int kExitUsage = 2;         // arguments or configuration
inline constexpr int kExitSpoolDamaged = 3;  // the next start recovers the spool

/// The body of a main(). `UsageError` is the exception of the argument parser. A peer that closes
/// its connection is an error of a write, not a signal. Descriptors 0 to 2 are taken before `run`
/// begins, and a standard output that could not be written makes the exit status kExitEnvironment.
template <typename UsageError>
int run_main(const char* program, int (*run)(int, char**), int argc, char** argv) {
  open_standard_streams();
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return finish_standard_output(program, run(argc, argv));
  } catch (const UsageError& problem) {
    std::fprintf(stderr, "%s: %s\n", program, problem.what());
    return kExitUsage;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s: %s\n", program, problem.what());
    return kExitEnvironment;
  }
}

}  // namespace s5066::posix
