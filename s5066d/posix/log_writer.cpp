// SPDX-License-Identifier: Apache-2.0
#include "s5066d/posix/log_writer.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
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

std::string line_of(LogLevel level, std::string_view text) {
  using namespace std::chrono;
  const auto now = system_clock::now().time_since_epoch();
  const std::time_t second = duration_cast<seconds>(now).count();
  const int millisecond = static_cast<int>(duration_cast<milliseconds>(now).count() % 1000);
  std::tm utc{};
  gmtime_r(&second, &utc);
  char stamp[40];
  const std::size_t length = std::strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(stamp + length, sizeof stamp - length, ".%03dZ ", millisecond);
  std::string line(stamp);
  line.append(to_string(level)).append(" ").append(text);
  if (line.size() < kLineMax) return line.append("\n");
  std::size_t end = kLineMax - 1;
  while ((static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;  // whole UTF-8 characters
  line.resize(end);
  return line.append("\n");
}

}  // namespace

void LogWriter::write(LogLevel level, std::string_view line) {
  if (level < least_) return;
  // Each line is one call, so that lines of several processes in one file stay whole.
  const auto put = [](const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
  };
  const std::lock_guard lock(mutex_);  // otherwise another thread could take the room
  if (left_out_ > 0 && has_room(0)) {
    put(line_of(LogLevel::warning, "log_lines_left_out lines=" + std::to_string(left_out_)));
    left_out_ = 0;
  }
  const bool at_once = left_out_ == 0 && has_room(0);
  if (!at_once && !(patient_ && has_room(kPatienceMs))) {
    patient_ = false;
    ++left_out_;
    return;
  }
  patient_ = at_once;
  put(line_of(level, line));
}

}  // namespace s5066::posix
