// The signals that end our programs.
#pragma once

#include <signal.h>

#include <vector>

namespace s5066::posix {

/// SIGHUP is not among them where it was ignored when the program started, as nohup has it.
inline std::vector<int> ending_signals() {
  std::vector<int> signals{SIGINT, SIGTERM};
  struct sigaction hangup {};
  const bool known = ::sigaction(SIGHUP, nullptr, &hangup) == 0;
  if (!known || hangup.sa_handler != SIG_IGN) signals.push_back(SIGHUP);
  return signals;
}

}  // namespace s5066::posix
