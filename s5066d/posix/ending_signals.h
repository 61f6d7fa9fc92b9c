// The signals that end our programs, and those that must not stop them.
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

/// Of a program that may have a transmitter keyed, which would stay so: those by which a terminal
/// stops it, Ctrl-Z and what `stty tostop` does to a program in the background that writes.
inline void ignore_terminal_stops() {
  for (const int number : {SIGTSTP, SIGTTOU}) ::signal(number, SIG_IGN);
}

}  // namespace s5066::posix
