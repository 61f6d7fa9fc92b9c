#include "s5066d/posix/log_writer.h"

#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>

namespace s5066::posix {

void LogWriter::write(LogLevel level, std::string_view line) {
  if (level < least_) return;
  using namespace std::chrono;
  const auto now = system_clock::now().time_since_epoch();
  const std::time_t second = duration_cast<seconds>(now).count();
  const int millisecond = static_cast<int>(duration_cast<milliseconds>(now).count() % 1000);
  std::tm utc{};
  gmtime_r(&second, &utc);
  char stamp[40];
  const std::size_t length = std::strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(stamp + length, sizeof stamp - length, ".%03dZ ", millisecond);
  // One call per line, so that lines of several processes in one file stay whole.
  std::string text(stamp);
  text.append(to_string(level)).append(" ").append(line).append("\n");
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace s5066::posix
