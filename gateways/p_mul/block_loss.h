// SPDX-License-Identifier: Apache-2.0
// Remembers the share of blocks that each node missed of the first round of its last messages. A
// node that misses many gets the PDUs for it alone by ARQ.
#pragma once

#include <cstddef>
#include <map>

#include "gateways/p_mul/message_port.h"

namespace s5066::p_mul {

class BlockLoss {
 public:
  BlockLoss(double high_from, std::size_t nodes_max)
      : high_from_(high_from), nodes_max_(nodes_max) {}

  /// Call once a message, with the share of its blocks that the first list of the node names.
  void note(NodeId node, double share) {
    const auto [known, fresh] = shares_.try_emplace(node, share);
    if (!fresh) known->second = (known->second + share) / 2;
    if (shares_.size() > nodes_max_) shares_.erase(shares_.begin());
  }
  bool is_high(NodeId node) const {
    const auto known = shares_.find(node);
    return known != shares_.end() && known->second >= high_from_;
  }

 private:
  double high_from_;
  std::size_t nodes_max_;
  std::map<NodeId, double> shares_;  // smoothed
};

}  // namespace s5066::p_mul
