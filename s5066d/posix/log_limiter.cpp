// SPDX-License-Identifier: Apache-2.0
#include "s5066d/posix/log_limiter.h"

#include <algorithm>
#include <chrono>

namespace s5066::posix {
namespace {

constexpr Duration kWindow = std::chrono::seconds(1);
constexpr std::size_t kSortOctetsMax = 128;
constexpr std::string_view kReason = " reason=";

/// Returns the end of a value as LogLine writes it.
std::size_t end_of_value(std::string_view text) {
  if (!text.starts_with('"')) return std::min(text.find(' '), text.size());
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i + 1;
    }
  }
  return text.size();
}

/// Returns "event=… reason=…"; without a reason that is too long to be ours.
std::string sort_of(std::string_view line) {
  std::string sort("event=");
  sort.append(line.substr(0, std::min(line.find(' '), kSortOctetsMax)));
  const std::size_t at = line.find(kReason);
  if (at == std::string_view::npos) return sort;
  const std::string_view rest = line.substr(at + kReason.size());
  const std::size_t length = end_of_value(rest);
  if (length > kSortOctetsMax) return sort;
  return sort.append(kReason).append(rest.substr(0, length));
}

}  // namespace

LogLimiter::~LogLimiter() {
  tell_of_rest();
}

void LogLimiter::write(LogLevel level, std::string_view line) {
  if (level < least_) return sink_.write(level, line);
  const std::lock_guard lock(mutex_);
  const Duration now = clock_();
  if (now < since_ || now >= since_ + kWindow) {
    tell_of_rest();
    since_ = now;
  }
  std::string sort = sort_of(line);
  if (sorts_.size() >= kSortsMax && !sorts_.contains(sort)) sort = "event=others";
  Lines& lines = sorts_[sort];
  lines.level = std::max(lines.level, level);
  if (++lines.seen <= kWholeMax) sink_.write(level, line);
}

void LogLimiter::tell_of_rest() {
  for (const auto& [sort, lines] : sorts_) {
    if (lines.seen <= kWholeMax) continue;
    const std::string left_out = std::to_string(lines.seen - kWholeMax);
    sink_.write(lines.level, "log_lines_repeated " + sort + " lines=" + left_out);
  }
  sorts_.clear();
}

}  // namespace s5066::posix
