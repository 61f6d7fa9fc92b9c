// SPDX-License-Identifier: Apache-2.0
// Callers (known peers and this node itself) that were refused because of Exclusive links that no
// hard link uses. A caller that has been blocked for long may displace such a link at once.
#pragma once

#include <map>

#include "s5066d/base/ids.h"
#include "s5066d/base/time.h"

namespace s5066::cas {

class BlockedCallers {
 public:
  /// Call when the call of `caller` was refused because of such a link.
  void on_refused(Instant now, Address caller);
  /// Call when the caller found a place.
  void forget(Address caller) { callers_.erase(caller); }
  /// Call when no such link is in the way any more.
  void clear() { callers_.clear(); }
  /// True if the caller has been refused for at least `wait` and still calls.
  bool is_blocked_for(Instant now, Address caller, Duration wait) const;

 private:
  struct Refusals {
    Instant first{};
    Instant last{};
  };
  // Entries stay for minutes, and each call takes seconds of air time.
  std::map<Address, Refusals> callers_;
};

}  // namespace s5066::cas
