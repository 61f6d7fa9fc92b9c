// Answers to REQUEST and BREAK that wait for their turn. Link control goes before all data, so one
// answer at a time is handed down: a burst of calls must not keep this node's own calls and ARQ
// data from the channel.
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

/// REJECTED and BREAK CONFIRM that wait for their turn. Each link has at most one ACCEPTED.
inline constexpr std::size_t kAnswersWaitingMax = 8;

/// ACCEPTED, REJECTED or BREAK CONFIRM that has not left the antenna.
struct Answer {
  Address peer;
  Cpdu cpdu;
  CpduId id;
};

class AnswerQueue {
 public:
  /// `spacing`: the least time between two answers while the node has business of its own.
  explicit AnswerQueue(Duration spacing) : spacing_(spacing) {}

  /// Returns the id of an answer of this type to this peer that has not left yet.
  std::optional<CpduId> find(Address peer, const Cpdu& cpdu) const;
  /// Adds an answer. ACCEPTED replaces a REJECTED to the same peer that still waits.
  void add(Answer answer);
  /// Removes one answer if more than kAnswersWaitingMax wait, unknown peers' first; true if it did.
  bool make_room(const KnownPeers& known);

  /// Returns the answer to hand down now, if there is one. `busy`: the node calls, or has ARQ data
  /// under way; then only known peers are answered before `spacing` has passed.
  std::optional<Answer> take(Instant now, const KnownPeers& known, bool busy);
  /// An answer has left the antenna, or never will. Returns false if the id is not one of ours.
  bool on_gone(Instant now, CpduId id);

  void forget(CpduId id);
  /// Removes and returns all that wait.
  std::deque<Answer> drop_all() { return std::exchange(waiting_, {}); }
  /// Returns when an answer that waits may go at the latest.
  std::optional<Instant> next_at() const;

 private:
  const Duration spacing_;
  std::deque<Answer> waiting_;       // the oldest first
  std::vector<Answer> handed_down_;  // the data transfer sublayer has them
  std::optional<Instant> last_;      // when an answer was last handed down, or left
};

}  // namespace s5066::cas
