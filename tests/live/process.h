// SPDX-License-Identifier: Apache-2.0
// A real process under test, which is started, watched and signalled, and killed with its object.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace s5066::live {

/// Time limit for each step, far longer than any takes, so that a slow machine does not fail a
/// test.
inline constexpr std::chrono::seconds kPatience{120};

/// Polls until `condition` holds; returns false if `patience` ran out.
bool await(const std::function<bool()>& condition, std::chrono::seconds patience = kPatience);

struct ProcessOptions {
  std::string folder;         // working directory
  std::string log;            // file to which its standard output and error are appended
  bool unprivileged = false;  // run as user nobody, if we are root
};

class Process {
 public:
  Process(const std::vector<std::string>& command, const ProcessOptions& options);
  /// Kills the process if it still runs.
  ~Process();
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;

  bool running();
  pid_t id() const { return pid_; }
  void signal(int number);
  /// Waits for the end. Returns the exit status, or 128 + the number of the signal that ended it,
  /// or nothing if `kPatience` ran out.
  std::optional<int> wait();
  /// Sends SIGTERM, then waits as wait() does.
  std::optional<int> stop();
  /// Sends SIGKILL, then waits for the end.
  void kill();

 private:
  bool reap();

  pid_t pid_ = -1;
  std::optional<int> status_;
};

/// Exit status and output of a command that ran to its end.
struct Outcome {
  int status = -1;
  std::string output;
};
Outcome run(const std::vector<std::string>& command, const ProcessOptions& options);

std::string text_of(const std::string& path);

}  // namespace s5066::live
