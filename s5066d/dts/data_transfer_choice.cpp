// Chooses which connection or procedure of DataTransfer gets the next transmission.
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

// Type 6 goes before all other types (C.3.9(3)).
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

// Serves an owed acknowledgement first; then the connections take turns.
//
// Two stations with much data for each other always owe each other an answer. If others wait, the
// peer served last gets its answer without a new request for an answer. If it goes on sending all
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

// Chooses the destination of type 8 in this transmission. That station may answer, so no connection
// with another station shares the transmission. While a connection waits, type 8 for others takes
// at most kPassedOverMax transmissions in a row.
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

// Returns the longest time until our next turn. Each other station may have two turns before ours,
// an occupied channel may hold them up, and in one of our own turns something else may go first.
// Every one of those transmissions may have the longest duration. The time between them is much
// less than one further transmission, which the sum includes.
Duration DataTransfer::next_turn_max(Instant now) const {
  constexpr std::size_t kOthersMax = 4;  // more stations rarely all have that much to send
  const auto others = static_cast<int>(std::min(turn_.others(now), kOthersMax));
  return TurnControl::kOccupiedMax + (2 * others + 3) * kTransmissionMax;
}

}  // namespace s5066::dts
