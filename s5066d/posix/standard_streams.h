// The three standard streams of a process: descriptors 0 to 2 are always taken, and an output that
// could not be written is a failure.
#pragma once

namespace s5066::posix {

/// Puts /dev/null in the place of each of descriptors 0 to 2 that is closed. Without it the first
/// file, socket or device that is opened takes the number, and what is meant for standard output or
/// the log goes there. Call it before anything else is opened. What is written to a standard output
/// that was closed still fails.
void open_standard_streams();

/// Flushes standard output at the end of a main(). Returns `status`, or kExitEnvironment, with a
/// line on standard error, if `status` is success and something could not be written.
int finish_standard_output(const char* program, int status);

}  // namespace s5066::posix
