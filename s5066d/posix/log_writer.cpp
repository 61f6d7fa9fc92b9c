// SPDX-License-Identifier: Apache-2.0
#include "s5066d/posix/log_writer.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

namespace s5066::posix {
namespace {

/// A pipe with room takes this many octets in one write.
constexpr std::size_t kLineMax = PIPE_BUF;

/// Time that a slow reader is given, once for each line that did not have to wait.
constexpr int kPatienceMs = 200;

/// True if standard error takes output. An error counts as room, so that the write reports it; a
/// signal does not.
bool has_room(int patience_ms) {
  pollfd standard_error{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  const int ready = ::poll(&standard_error, 1, patience_ms);
  return ready > 0 || (ready < 0 && errno != EINTR);
}

/// Returns the prefix by which the journal knows the priority, see sd-daemon(3).
const char* journal_prefix(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "<7>";
    case LogLevel::info:
      return "<6>";
    case LogLevel::warning:
      return "<4>";
    case LogLevel::error:
      return "<3>";
  }
  return "<6>";
}

std::string time_stamp() {
  using namespace std::chrono;
  const auto now = system_clock::now().time_since_epoch();
  const std::time_t second = duration_cast<seconds>(now).count();
  const int millisecond = static_cast<int>(duration_cast<milliseconds>(now).count() % 1000);
  std::tm utc{};
  gmtime_r(&second, &utc);
  char stamp[40];
  const std::size_t length = std::strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(stamp + length, sizeof stamp - length, ".%03dZ ", millisecond);
  return stamp;
}

std::string line_of(LogLevel level, std::string_view text, bool to_journal) {
  std::string line = to_journal ? journal_prefix(level) : time_stamp();
  line.append(to_string(level)).append(" ").append(text);
  if (line.size() < kLineMax) return line.append("\n");
  std::size_t end = kLineMax - 1;
  while ((static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;  // whole UTF-8 characters
  line.resize(end);
  return line.append("\n");
}

}  // namespace

bool is_journal() {
  const char* const named = std::getenv("JOURNAL_STREAM");
  struct stat status {};
  if (named == nullptr || ::fstat(STDERR_FILENO, &status) != 0) return false;
  return std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino) == named;
}

void LogWriter::write(LogLevel level, std::string_view line) {
  if (level < least_) return;
  // Each line is one call, so that lines of several processes in one file stay whole.
  const auto put = [](const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
  };
  const std::lock_guard lock(mutex_);  // otherwise another thread could take the room
  if (left_out_ > 0 && has_room(0)) {
    put(line_of(LogLevel::warning, "log_lines_left_out lines=" + std::to_string(left_out_),
                to_journal_));
    left_out_ = 0;
  }
  const bool at_once = left_out_ == 0 && has_room(0);
  if (!at_once && !(patient_ && has_room(kPatienceMs))) {
    patient_ = false;
    ++left_out_;
    return;
  }
  patient_ = at_once;
  put(line_of(level, line, to_journal_));
}

}  // namespace s5066::posix
