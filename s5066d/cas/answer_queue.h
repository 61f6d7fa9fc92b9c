// SPDX-License-Identifier: Apache-2.0
// Answers to REQUEST and BREAK that wait for their turn. Link control goes before all data, so only
// one answer at a time is handed down. Otherwise a burst of calls would keep this node's own calls
// and ARQ data off the channel.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "s5066d/base/ids.h"
#include "s5066d/base/time.h"
#include "s5066d/cas/cpdu.h"
#include "s5066d/cas/known_peers.h"

namespace s5066::cas {

/// Largest number of waiting REJECTED and BREAK CONFIRM. Each link also has at most one ACCEPTED.
inline constexpr std::size_t kAnswersWaitingMax = 8;

/// ACCEPTED, REJECTED or BREAK CONFIRM that has not left the antenna.
struct Answer {
  Address peer;
  Cpdu cpdu;
  CpduId id;
};

class AnswerQueue {
 public:
  /// `spacing` is the shortest time between two answers while the node has calls or data of its
  /// own.
  explicit AnswerQueue(Duration spacing) : spacing_(spacing) {}

  /// Returns the id of an answer of this type to this peer that has not left yet.
  std::optional<CpduId> find(Address peer, const Cpdu& cpdu) const;
  /// Adds an answer. ACCEPTED replaces a REJECTED to the same peer that still waits.
  void add(Answer answer);
  /// If more than kAnswersWaitingMax wait, removes one, of an unknown peer first. Returns true if
  /// it did.
  bool make_room(const KnownPeers& known);

  /// Returns the answer to hand down now, if there is one. `busy` means that the node calls or has
  /// ARQ data under way; then only known peers are answered before `spacing` has passed.
  std::optional<Answer> take(Instant now, const KnownPeers& known, bool busy);
  /// Call when an answer has left the antenna or never will. Returns false if the ID is not one of
  /// ours.
  bool on_gone(Instant now, CpduId id);

  void forget(CpduId id);
  /// Removes and returns all waiting answers.
  std::deque<Answer> drop_all() { return std::exchange(waiting_, {}); }
  /// Returns the latest time at which a waiting answer may go.
  std::optional<Instant> next_at() const;

 private:
  const Duration spacing_;
  std::deque<Answer> waiting_;       // the oldest answer comes first
  std::vector<Answer> handed_down_;  // answers that the data transfer sublayer has
  std::optional<Instant> last_;      // last time at which an answer was handed down or left
};

}  // namespace s5066::cas
