// SPDX-License-Identifier: Apache-2.0
// WARNING D_PDUs that wait to be sent (C.3.12): one for each peer, type and reason, however many
// frames caused it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "s5066d/base/ids.h"

namespace s5066::dts {

/// Largest number of WARNINGs that wait to be sent.
inline constexpr std::size_t kWarningsMax = 8;

struct PendingWarning {
  Address peer;
  std::uint8_t received_type = 0;
  std::uint8_t reason = 0;
  friend bool operator==(const PendingWarning&, const PendingWarning&) = default;
};

class WarningQueue {
 public:
  /// Adds a warning unless the same one waits or kWarningsMax do.
  void add(const PendingWarning& warning);
  bool empty() const { return warnings_.empty(); }
  /// Removes and returns the oldest. Call only if not empty.
  PendingWarning take();

 private:
  std::deque<PendingWarning> warnings_;
};

}  // namespace s5066::dts
