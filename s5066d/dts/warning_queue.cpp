// SPDX-License-Identifier: Apache-2.0
#include "s5066d/dts/warning_queue.h"

#include <algorithm>

#include "s5066d/base/assert.h"

namespace s5066::dts {

void WarningQueue::add(const PendingWarning& warning) {
  if (std::find(warnings_.begin(), warnings_.end(), warning) != warnings_.end()) return;
  if (warnings_.size() < kWarningsMax) warnings_.push_back(warning);
}

PendingWarning WarningQueue::take() {
  S5066_ASSERT(!warnings_.empty());
  const PendingWarning oldest = warnings_.front();
  warnings_.pop_front();
  return oldest;
}

}  // namespace s5066::dts
