// SPDX-License-Identifier: Apache-2.0
// Remembers the share of blocks that each node lost in the first round of its last messages. If a
// node loses many blocks, PDUs for this node alone go by ARQ.
#pragma once

#include <cstddef>
#include <map>

#include "gateways/p_mul/message_port.h"

namespace s5066::p_mul {

class BlockLoss {
 public:
  BlockLoss(double high_from, std::size_t nodes_max)
      : high_from_(high_from), nodes_max_(nodes_max) {}

  /// Call once for each message. `share` is the part of its blocks that the first list of the node
  /// names as missing.
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
  std::map<NodeId, double> shares_;  // smoothed share of lost blocks, 0..1
};

}  // namespace s5066::p_mul
