// SPDX-License-Identifier: Apache-2.0
#include "tests/live/process.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

namespace s5066::live {

namespace {

using namespace std::chrono_literals;

constexpr uid_t kNobody = 65534;

// Runs between fork and exec: it reports each failure and allocates no memory.
[[noreturn]] void become(char* const* command, const ProcessOptions& options) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int log = ::open(options.log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  bool ok = log >= 0 && ::dup2(log, 1) == 1 && ::dup2(log, 2) == 2;
  ok = ok && ::chdir(options.folder.c_str()) == 0;
  if (ok && options.unprivileged && ::geteuid() == 0) {
    ok = ::setgroups(0, nullptr) == 0 && ::setgid(kNobody) == 0 && ::setuid(kNobody) == 0;
  }
  if (ok) ::execv(command[0], command);
  ::_exit(127);
}

}  // namespace

bool await(const std::function<bool()>& condition, std::chrono::seconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

Process::Process(const std::vector<std::string>& command, const ProcessOptions& options) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) become(arguments.data(), options);
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), status_(other.status_) {}

Process::~Process() {
  kill();
}

bool Process::reap() {
  if (pid_ < 0 || status_) return true;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return false;
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return true;
}

bool Process::running() {
  return !reap();
}

void Process::signal(int number) {
  if (running()) ::kill(pid_, number);
}

std::optional<int> Process::wait() {
  await([this] { return reap(); });
  return status_;
}

std::optional<int> Process::stop() {
  signal(SIGTERM);
  return wait();
}

void Process::kill() {
  signal(SIGKILL);
  wait();
}

Outcome run(const std::vector<std::string>& command, const ProcessOptions& options) {
  ProcessOptions own = options;
  own.log = options.folder + "/command.log";
  ::unlink(own.log.c_str());
  Process process(command, own);
  const auto status = process.wait();
  return {status.value_or(-1), text_of(own.log)};
}

std::string text_of(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

}  // namespace s5066::live
