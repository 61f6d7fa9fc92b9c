// SPDX-License-Identifier: Apache-2.0
// Remembers the nodes that do not hear the PDUs to a group of which they are members. After
// `kAgain` such a node gets PDUs by the group again. Group 0 stands for all dynamic groups.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "gateways/p_mul/message_port.h"
#include "s5066d/base/time.h"

namespace s5066::p_mul {

class UnheardGroups {
 public:
  explicit UnheardGroups(std::size_t entries_max) : entries_max_(entries_max) {}

  void note(Instant now, GroupId group, NodeId node) {
    if (since_.size() >= entries_max_) since_.erase(since_.begin());
    since_[{group, node}] = now;
  }
  bool contains(Instant now, GroupId group, NodeId node) const {
    const auto at = since_.find({group, node});
    return at != since_.end() && now < at->second + kAgain;
  }
  std::vector<std::pair<GroupId, NodeId>> list(Instant now) const {
    std::vector<std::pair<GroupId, NodeId>> all;
    for (const auto& [pair, since] : since_) {
      if (now < since + kAgain) all.push_back(pair);
    }
    return all;
  }

 private:
  static constexpr Duration kAgain = std::chrono::hours(6);

  std::size_t entries_max_;
  std::map<std::pair<GroupId, NodeId>, Instant> since_;
};

}  // namespace s5066::p_mul
