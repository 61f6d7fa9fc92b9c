// SPDX-License-Identifier: Apache-2.0
#include "s5066d/dts/identification.h"

#include <algorithm>

namespace s5066::dts {

void Identification::on_transmitted(Instant now) {
  const bool off = config_.text.empty() || config_.interval <= Duration::zero();
  if (off || due_at_) return;
  due_at_ = last_ ? std::max(now, *last_ + config_.interval) : now;
}

void Identification::on_identified(Instant now, bool whole) {
  if (!whole) {
    due_at_ = now + kAgainAfter;
    return;
  }
  last_ = now;
  due_at_.reset();
}

}  // namespace s5066::dts
