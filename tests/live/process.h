// A real process under test: started, watched, signalled, and never left behind.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace s5066::live {

/// Far longer than anything here takes, so that a slow machine does not fail a test.
inline constexpr std::chrono::seconds kPatience{120};

/// Looks again and again until `condition` holds. False when patience ran out.
bool await(const std::function<bool()>& condition, std::chrono::seconds patience = kPatience);

struct ProcessOptions {
  std::string folder;         // working directory
  std::string log;            // its standard output and error go here, appended
  bool unprivileged = false;  // as user nobody, when we are root
};

class Process {
 public:
  Process(const std::vector<std::string>& command, const ProcessOptions& options);
  /// Kills it if it still runs.
  ~Process();
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;

  bool running();
  pid_t id() const { return pid_; }
  void signal(int number);
  /// The exit status, or 128 + the signal that ended it. Nothing when patience ran out.
  std::optional<int> wait();
  /// SIGTERM, then wait().
  std::optional<int> stop();
  /// SIGKILL, then wait().
  void kill();

 private:
  bool reap();

  pid_t pid_ = -1;
  std::optional<int> status_;
};

/// Runs a command to its end: exit status, and what it wrote.
struct Outcome {
  int status = -1;
  std::string output;
};
Outcome run(const std::vector<std::string>& command, const ProcessOptions& options);

std::string text_of(const std::string& path);

}  // namespace s5066::live
