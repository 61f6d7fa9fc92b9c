// SPDX-License-Identifier: Apache-2.0
#include "s5066d/cas/blocked_callers.h"

namespace s5066::cas {
namespace {

/// Time after which a caller is forgotten. A refused node calls again sooner, because even growing
/// waits are shorter.
constexpr Duration kMemory = std::chrono::minutes(15);

}  // namespace

void BlockedCallers::on_refused(Instant now, Address caller) {
  std::erase_if(callers_, [now](const auto& entry) { return now - entry.second.last > kMemory; });
  callers_.try_emplace(caller, Refusals{now, now}).first->second.last = now;
}

bool BlockedCallers::is_blocked_for(Instant now, Address caller, Duration wait) const {
  const auto found = callers_.find(caller);
  return found != callers_.end() && now - found->second.last <= kMemory &&
         now - found->second.first >= wait;
}

}  // namespace s5066::cas
