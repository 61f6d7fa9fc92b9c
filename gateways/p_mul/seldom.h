// SPDX-License-Identifier: Apache-2.0
// Limits log lines that others cause: one for each node in a while.
#pragma once

#include <cstddef>
#include <map>

#include "gateways/p_mul/message_port.h"
#include "s5066d/base/time.h"

namespace s5066::p_mul {

class Seldom {
 public:
  /// True if the last time for this node was `kPause` ago or more; that time is now, then.
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
