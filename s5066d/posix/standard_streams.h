// SPDX-License-Identifier: Apache-2.0
// The three standard streams of a process: descriptors 0 to 2 are always taken, and an output that
// could not be written is a failure.
#pragma once

namespace s5066::posix {

/// Opens /dev/null in place of each of descriptors 0 to 2 that is closed. Otherwise the first file,
/// socket or device that is opened takes the number, and output for standard output or the log goes
/// there. Call this before anything else is opened. A write to a standard output that was closed
/// still fails.
void open_standard_streams();

/// Flushes standard output at the end of a main(). Returns `status`. If `status` is success and
/// something could not be written, prints a line on standard error and returns kExitEnvironment.
int finish_standard_output(const char* program, int status);

}  // namespace s5066::posix
