// SPDX-License-Identifier: Apache-2.0
#include "s5066d/dts/long_data_memory.h"

#include <algorithm>

namespace s5066::dts {

// Two lost links in a row may be chance, so type 9 is tried again after a wait. One more unanswered
// link begins the wait again.
bool LongDataMemory::may_send(Instant now) {
  if (again_at_ && now >= *again_at_) {
    again_at_.reset();
    unanswered_ = kLongUnansweredMax - 1;
  }
  return unanswered_ < kLongUnansweredMax;
}

// A station that uses EOW 14 for another purpose may neither know type 9 nor warn of it. One
// unanswered link may be chance.
void LongDataMemory::on_unanswered(Instant now) {
  unanswered_ = std::min(unanswered_ + 1, kLongUnansweredMax);
  if (unanswered_ == kLongUnansweredMax) again_at_ = now + kLongUnansweredWait;
}

void LongDataMemory::on_refused() {
  unanswered_ = kLongUnansweredMax;
  again_at_.reset();
}

}  // namespace s5066::dts
