// SPDX-License-Identifier: Apache-2.0
// Limits the log lines that other nodes cause. Each node gets at most one line in `kPause`.
#pragma once

#include <cstddef>
#include <map>

#include "gateways/p_mul/message_port.h"
#include "s5066d/base/time.h"

namespace s5066::p_mul {

class Seldom {
 public:
  /// Returns true if the last line for this node is at least `kPause` old; this call then counts as
  /// the last line.
  bool due(Instant now, NodeId node) {
    const auto at = last_.find(node);
    if (at != last_.end() && now < at->second + kPause) return false;
    if (at == last_.end() && last_.size() >= kNodesMax) last_.erase(last_.begin());
    last_[node] = now;
    return true;
  }

 private:
  static constexpr Duration kPause = std::chrono::minutes(10);
  static constexpr std::size_t kNodesMax = 1024;
  std::map<NodeId, Instant> last_;
};

}  // namespace s5066::p_mul
