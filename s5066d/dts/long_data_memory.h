// SPDX-License-Identifier: Apache-2.0
// Remembers over several links whether a peer understands type 9, the D_PDU of the large window.
#pragma once

#include <optional>

#include "s5066d/base/time.h"

namespace s5066::dts {

/// A peer that ignored type 9 on `kLongUnansweredMax` consecutive links gets no type 9 for
/// `kLongUnansweredWait`. A peer that warned of type 9 gets none until a type 9 of its own is
/// heard.
inline constexpr unsigned kLongUnansweredMax = 2;
inline constexpr Duration kLongUnansweredWait = std::chrono::hours(1);

class LongDataMemory {
 public:
  /// True if type 9 may go to the peer on a link that begins now.
  bool may_send(Instant now);
  /// A type 9 or 10 of the peer was heard.
  void on_heard() { unanswered_ = 0; }
  /// The link was lost, and nothing had answered type 9.
  void on_unanswered(Instant now);
  /// The peer warned of type 9.
  void on_refused();

 private:
  unsigned unanswered_ = 0;          // links in a row that ended after type 9 went unanswered
  std::optional<Instant> again_at_;  // time at which type 9 is tried again
};

}  // namespace s5066::dts
