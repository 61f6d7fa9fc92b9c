// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/mail/trace_fields.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "gateways/acp142/mail/mail_types.h"
#include "gateways/acp142/mail/next_hops.h"
#include "s5066d/base/duration_text.h"

namespace s5066::acp142 {
namespace {

// Part of a content that is searched for trace fields.
constexpr std::size_t kTracesOctetsMax = 64u << 10;
constexpr std::size_t kClocksMax = 4096;
constexpr const char* kProtocols[] = {"MULE", "CFTP", "HMTP", "ESMTP", "ESMTPS"};

/// Returns the time in the first trace field of the node, in the form of its gateway: "id SECONDS.N
/// (MULE 10.1.1.1)". `at`: the place to begin; afterwards the place behind the field's mark.
std::optional<UtcSeconds> next_trace_time(std::string_view content, NodeId node, std::size_t& at) {
  std::size_t mark = std::string_view::npos;
  std::size_t octets = 0;
  for (const char* with : kProtocols) {
    const std::string text = " " + trace_mark(node, with);
    const std::size_t found = content.find(text, at);
    if (found >= mark) continue;
    mark = found;
    octets = text.size();
  }
  if (mark == std::string_view::npos) return std::nullopt;
  at = mark + octets;
  const std::size_t id = content.substr(0, mark).rfind(" id ");
  std::int64_t seconds = 0;
  if (id == std::string_view::npos) return UtcSeconds{};
  const char* begin = content.data() + id + 4;
  const auto [end, bad] = std::from_chars(begin, content.data() + mark, seconds);
  return UtcSeconds{bad == std::errc() && *end == '.' ? seconds : 0};
}

}  // namespace

std::string trace_mark(NodeId node, std::string_view with) {
  return "(" + std::string(with) + " " + dotted(node) + ")";
}

bool has_first_trace_of(const Bytes& content, NodeId node) {
  const std::string trace = header_field(content, "Received");
  return std::any_of(std::begin(kProtocols), std::end(kProtocols), [&](const char* with) {
    return trace.find(trace_mark(node, with)) != std::string::npos;
  });
}

// No PDU carries the time of day, but the trace field of a gateway of this suite does. The station
// before us wrote into a message after it was sent to it. We sent a report, or a message that comes
// back, before the station wrote into it. Both give a lower bound of the difference between the
// clocks.
std::optional<std::string> TraceClocks::note(Instant now, UtcSeconds utc, NodeId source,
                                             const Bytes& content) {
  const std::string_view text(reinterpret_cast<const char*>(content.data()),
                              std::min(content.size(), kTracesOctetsMax));
  std::size_t at = 0;
  const auto theirs = next_trace_time(text.substr(0, header_octets(content)), source, at);
  if (!theirs || theirs->value <= 0) return std::nullopt;
  std::chrono::seconds ahead(theirs->value - utc.value);
  if (ahead <= tolerance_) {
    std::int64_t ours = 0;
    while (const auto one = next_trace_time(text, ours_, at)) {
      if (one->value <= utc.value) ours = std::max(ours, one->value);
    }
    if (ours == 0 || ours - theirs->value <= tolerance_.count()) return std::nullopt;
    ahead = std::chrono::seconds(theirs->value - ours);
  }
  if (apart_.size() >= kClocksMax) apart_.clear();
  apart_[source] = {ahead, now};
  if (!news_.due(now, source)) return std::nullopt;
  return "our clock is " + std::string(ahead.count() > 0 ? "behind by " : "ahead by ") +
         duration_text(ahead) + " or more";
}

}  // namespace s5066::acp142
