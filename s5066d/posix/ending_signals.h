// SPDX-License-Identifier: Apache-2.0
// Signals that end our programs, and signals that must not stop them.
#pragma once

#include <signal.h>

#include <vector>

namespace s5066::posix {

/// Returns the signals. SIGHUP is not among them if it was ignored when the program started, as
/// nohup does.
inline std::vector<int> ending_signals() {
  std::vector<int> signals{SIGINT, SIGTERM};
  struct sigaction hangup {};
  const bool known = ::sigaction(SIGHUP, nullptr, &hangup) == 0;
  if (!known || hangup.sa_handler != SIG_IGN) signals.push_back(SIGHUP);
  return signals;
}

/// Ignores the signals by which a terminal stops a program: Ctrl-Z, and that of `stty tostop` for a
/// background program that writes. A stopped program could leave its transmitter keyed.
inline void ignore_terminal_stops() {
  for (const int number : {SIGTSTP, SIGTTOU}) ::signal(number, SIG_IGN);
}

}  // namespace s5066::posix
