#include "gateways/common/log_writer.h"

#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>

namespace s5066::gateways {

void LogWriter::write(LogLevel level, std::string_view line) {
  if (level < least_) return;
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto since_epoch =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch());
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  char time[32];
  const std::size_t n = std::strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%S", &utc);
  std::string text(time, n);
  char fraction[16];
  std::snprintf(fraction, sizeof fraction, ".%03dZ ", static_cast<int>(since_epoch.count() % 1000));
  text.append(fraction).append(to_string(level)).append(" ").append(line).append("\n");
  std::fwrite(text.data(), 1, text.size(), stderr);  // one write, so that lines stay whole
}

}  // namespace s5066::gateways
