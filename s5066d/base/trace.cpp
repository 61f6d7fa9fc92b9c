#include "s5066d/base/trace.h"

#include <cstdio>

namespace s5066 {
namespace {
constexpr std::array<std::string_view, static_cast<std::size_t>(TraceKind::count)> kNames = {
    "burst_started", "burst_finished", "carrier_up",     "carrier_down",
    "dpdu_sent",     "dpdu_received",  "link_state",     "cpdu_sent",
    "cpdu_received", "client_bound",   "client_unbound", "invalid_primitive",
    "updu_accepted", "updu_ended",     "reply_timeout",  "link_lost",
};
}

std::string_view to_string(TraceKind kind) {
  const auto i = static_cast<std::size_t>(kind);
  return i < kNames.size() ? kNames[i] : "unknown";
}

std::string to_string(const TraceEvent& event) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.3f ", to_seconds(event.at.time_since_epoch()));
  std::string text(seconds);
  text.append(to_string(event.kind)).append(" peer=").append(to_string(event.peer));
  text.append(" a=").append(std::to_string(event.a)).append(" b=").append(std::to_string(event.b));
  return text;
}

void TraceRing::on_trace(const TraceEvent& event) {
  TraceEvent& slot = events_[written_++ % events_.size()];
  slot = event;
  slot.octets = {};
}

std::vector<TraceEvent> TraceRing::events() const {
  std::vector<TraceEvent> out;
  const std::uint64_t n = written_ < events_.size() ? written_ : events_.size();
  for (std::uint64_t i = written_ - n; i < written_; ++i)
    out.push_back(events_[i % events_.size()]);
  return out;
}

}  // namespace s5066
