// Whose turn the next transmission of DataTransfer is.
#include <algorithm>

#include "s5066d/dts/data_transfer.h"

namespace s5066::dts {

bool DataTransfer::may_serve(const Connection& connection) const {
  return connection.has_work() && !may_rest(connection) &&
         !peers_.at(connection.peer()).control.open();
}

bool DataTransfer::anything_to_send() const {
  if (!warnings_.empty() || nonarq_tx_.has_work(true) || nonarq_tx_.has_work(false)) return true;
  return std::any_of(peers_.begin(), peers_.end(),
                     [](const auto& entry) { return entry.second.control.has_work(); }) ||
         std::any_of(connections_.begin(), connections_.end(),
                     [this](const auto& entry) { return may_serve(entry.second); });
}

// Type 6 goes before all else (C.3.9(3)).
PeerControl* DataTransfer::choose_control() {
  PeerControl* chosen = nullptr;
  for (auto& [peer, record] : peers_) {
    if (!record.control.has_work()) continue;
    if (!chosen || (last_served_ && !(*last_served_ < chosen->peer()) && *last_served_ < peer)) {
      chosen = &record.control;
    }
  }
  return chosen;
}

// An owed acknowledgement first; then the connections take turns.
//
// Two stations with much to say to each other owe each other an answer all the time. While others
// wait, who was served last gets its answer without being asked for another one; if it goes on all
// the same, the others go first.
Connection* DataTransfer::choose_connection() {
  const auto next = [this](bool owed) {
    Connection* chosen = nullptr;
    for (auto& [peer, connection] : connections_) {
      if (!may_serve(connection) || connection.answer_owed() != owed) continue;
      const bool after_last = !last_served_ || *last_served_ < peer;
      if (!chosen || (after_last && last_served_ && !(*last_served_ < chosen->peer()))) {
        chosen = &connection;
      }
    }
    return chosen;
  };
  Connection* owed = next(true);
  Connection* other = next(false);
  if (!other || !owed) return owed ? owed : other;
  return passed_over_ < kPassedOverMax ? owed : other;
}

// Whom type 8 is for in the transmission: he may answer it, so no connection with another goes with
// it. While one waits, what is for others takes no more than a few transmissions in a row.
std::optional<Address> DataTransfer::choose_audience(const PeerControl* control,
                                                     Connection*& connection) {
  const auto audience = nonarq_tx_.expedited_audience(resting(true));
  if (control || !audience || !connection || connection->peer() == *audience) {
    if (connection) put_off_ = 0;
    return control ? std::nullopt : audience;
  }
  if (put_off_ < kPassedOverMax) {
    ++put_off_;
    connection = nullptr;
    return audience;
  }
  put_off_ = 0;
  return connection->peer();
}

// Each other station may have two turns before our next, and what no receiver knows holds that up;
// in one of ours something else may go first. All of them may be of the longest. What that takes
// beside the transmissions themselves is much less than one more.
Duration DataTransfer::next_turn_max(Instant now) const {
  constexpr std::size_t kOthersMax = 4;  // more do not all have that much to say
  const auto others = static_cast<int>(std::min(turn_.others(now), kOthersMax));
  return TurnControl::kOccupiedMax + (2 * others + 3) * kTransmissionMax;
}

}  // namespace s5066::dts
