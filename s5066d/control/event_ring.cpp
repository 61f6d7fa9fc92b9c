// SPDX-License-Identifier: Apache-2.0
#include "s5066d/control/event_ring.h"

#include <algorithm>

namespace s5066::control {
namespace {

/// Returns the beginning of a line, cut between two UTF-8 characters.
std::string_view kept_part(std::string_view line) {
  std::size_t end = EventRing::kLineOctetsMax;
  if (line.size() <= end) return line;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;
  return line.substr(0, end);
}

bool meets(const LoggedEvent& event, const EventFilter& filter) {
  const std::string_view line = event.line;
  return event.sequence > filter.after && event.level >= filter.least &&
         (filter.event.empty() || line.substr(0, line.find(' ')) == filter.event) &&
         line.find(filter.with) != std::string_view::npos;
}

}  // namespace

void EventRing::write(LogLevel level, std::string_view line) {
  sink_.write(level, line);
  if (level == LogLevel::debug) return;
  const std::lock_guard lock(mutex_);
  if (events_.size() == kEventsMax) drop_one();
  events_.push_back({++sequence_, utc_clock_(), level, std::string(kept_part(line))});
  infos_ += level == LogLevel::info;
}

void EventRing::drop_one() {
  auto event = events_.begin();
  if (infos_ > kEventsMax / 2) {
    const auto is_info = [](const LoggedEvent& one) { return one.level == LogLevel::info; };
    event = std::find_if(events_.begin(), events_.end(), is_info);
  }
  infos_ -= event->level == LogLevel::info;
  std::uint64_t& dropped = dropped_.at(static_cast<std::size_t>(event->level));
  dropped = std::max(dropped, event->sequence);
  events_.erase(event);
}

std::vector<LoggedEvent> EventRing::last(const EventFilter& filter) const {
  const std::lock_guard lock(mutex_);
  std::vector<LoggedEvent> found;
  for (auto event = events_.rbegin(); event != events_.rend(); ++event) {
    if (found.size() == filter.count) break;
    if (meets(*event, filter)) found.push_back(*event);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

std::uint64_t EventRing::newest() const {
  const std::lock_guard lock(mutex_);
  return sequence_;
}

std::uint64_t EventRing::oldest(LogLevel least) const {
  const std::lock_guard lock(mutex_);
  if (events_.empty()) return 0;
  const auto first = dropped_.begin() + static_cast<std::ptrdiff_t>(least);
  return *std::max_element(first, dropped_.end()) + 1;
}

}  // namespace s5066::control
