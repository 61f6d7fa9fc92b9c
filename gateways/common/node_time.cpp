// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/node_time.h"

#include <algorithm>

namespace s5066::gateways {
void NodeTimeFollower::on_reading(Duration machine, const NodeTime& node) {
  base_ = now(machine);
  since_ = machine;
  silent_ = false;
  if (!node.lockstep) {
    reading_.reset();
    return;
  }
  // A clock behind the last reading belongs to a node that was restarted.
  if (reading_ && node.up >= reading_->up) {
    base_ = std::max(base_, reading_->at + (node.up - reading_->up));
  }
  reading_ = Reading{.up = node.up, .at = base_};
}

void NodeTimeFollower::on_silence(Duration machine) {
  base_ = now(machine);
  since_ = machine;
  silent_ = true;
}

Instant NodeTimeFollower::now(Duration machine) const {
  return follows() ? base_ : base_ + (machine - since_);
}

std::optional<Duration> NodeTimeFollower::machine_time_of(Instant at) const {
  if (follows()) return std::nullopt;
  return since_ + (at - base_);
}

}  // namespace s5066::gateways
