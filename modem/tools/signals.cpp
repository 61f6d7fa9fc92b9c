// SPDX-License-Identifier: Apache-2.0
#include "modem/tools/signals.h"

#include <signal.h>
#include <unistd.h>

#include <thread>

#include "s5066d/posix/ending_signals.h"

namespace s5066::modem::tools {
namespace {

sigset_t awaited() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : posix::ending_signals()) sigaddset(&signals, number);
  return signals;
}

}  // namespace

void block_signals() {
  const sigset_t signals = awaited();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

Result<void> run_until_signalled(const std::function<Result<void>()>& run,
                                 const std::function<void()>& stop) {
  block_signals();
  Result<void> ended;
  std::thread server([&] {
    ended = run();
    kill(getpid(), SIGTERM);  // the program may have ended by itself
  });
  const sigset_t signals = awaited();
  int signal = 0;
  sigwait(&signals, &signal);
  stop();
  server.join();
  return ended;
}

}  // namespace s5066::modem::tools
