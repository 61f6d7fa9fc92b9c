// SPDX-License-Identifier: Apache-2.0
#include "gateways/p_mul/known_messages.h"

#include <algorithm>

namespace s5066::p_mul {

KnownMessages::Known* KnownMessages::find(const MessageName& name) {
  const auto at = known_.find(name);
  return at == known_.end() ? nullptr : &at->second;
}

const KnownMessages::Known* KnownMessages::find(const MessageName& name) const {
  const auto at = known_.find(name);
  return at == known_.end() ? nullptr : &at->second;
}

KnownMessages::Known& KnownMessages::remember(const MessageName& name, const Known& known) {
  if (known_.size() >= messages_max_ && !known_.contains(name)) {
    forget(MessageName(by_end_.begin()->second));
  }
  Known& kept = known_[name];
  by_end_.erase({kept.until, name});
  kept = known;
  by_end_.insert({kept.until, name});
  return kept;
}

void KnownMessages::extend(const MessageName& name, Instant until) {
  Known& known = known_.at(name);
  by_end_.erase({known.until, name});
  known.until = std::max(known.until, until);
  by_end_.insert({known.until, name});
}

void KnownMessages::forget(const MessageName& name) {
  const auto at = known_.find(name);
  if (at == known_.end()) return;
  by_end_.erase({at->second.until, name});
  unreleased_.erase(name);
  known_.erase(at);
}

void KnownMessages::forget_until(Instant now) {
  while (!by_end_.empty() && by_end_.begin()->first <= now) {
    forget(MessageName(by_end_.begin()->second));
  }
}

void KnownMessages::set_unreleased_before_start(Instant ending_after) {
  for (auto& [name, known] : known_) {
    if (!std::exchange(known.before_start, false)) continue;
    if (known.until > ending_after) unreleased_.insert(name);
  }
}

}  // namespace s5066::p_mul
