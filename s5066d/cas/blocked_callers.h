// Callers (known peers and this node itself) whose calls found Exclusive links in their way that no
// hard link uses. A caller that is blocked for long may displace such a link at once.
#pragma once

#include <map>

#include "s5066d/base/ids.h"
#include "s5066d/base/time.h"

namespace s5066::cas {

class BlockedCallers {
 public:
  /// The call of `caller` was refused because of such a link.
  void on_refused(Instant now, Address caller);
  /// The caller found a place.
  void forget(Address caller) { callers_.erase(caller); }
  /// No link is in the way any more.
  void clear() { callers_.clear(); }
  /// True if the caller was refused for `wait` at least and still calls.
  bool is_blocked_for(Instant now, Address caller, Duration wait) const;

 private:
  struct Refusals {
    Instant first{};
    Instant last{};
  };
  std::map<Address, Refusals> callers_;  // kept for minutes, and each call takes seconds of air
};

}  // namespace s5066::cas
