// SPDX-License-Identifier: Apache-2.0
// The Received fields of gateways of this suite. A field names the station in a comment and has the
// time of day in its id: "id SECONDS.N (MULE 10.1.1.1)". It shows that a message has been here
// before, and the difference between the clock of another station and ours.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "gateways/acp142/mail/p_mul_names.h"
#include "gateways/p_mul/seldom.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/time.h"

namespace s5066::acp142 {

/// Returns the comment by which a field of the station is known: "(MULE 10.1.1.1)".
std::string trace_mark(NodeId node, std::string_view with);
/// True if the content has a field of the station in its first Received field.
bool has_first_trace_of(const Bytes& content, NodeId node);

class TraceClocks {
 public:
  /// The least difference between the clock of a station and ours.
  struct Apart {
    std::chrono::seconds ahead{};  // lead over our clock; negative: it is behind
    Instant seen_at{};
  };

  TraceClocks(NodeId ours, std::chrono::seconds tolerance) : ours_(ours), tolerance_(tolerance) {}

  /// Compares the clocks by the fields of a message that came from the station. Returns the text
  /// for the log, at most once in 10 minutes for each station.
  std::optional<std::string> note(Instant now, UtcSeconds utc, NodeId source, const Bytes& content);
  /// Call when our clock was set.
  void clear() { apart_.clear(); }
  const std::map<NodeId, Apart>& apart() const { return apart_; }

 private:
  NodeId ours_;
  std::chrono::seconds tolerance_;
  std::map<NodeId, Apart> apart_;
  p_mul::Seldom news_;
};

}  // namespace s5066::acp142
