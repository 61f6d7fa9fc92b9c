// SPDX-License-Identifier: Apache-2.0
#include "s5066d/dts/transmission_planner.h"

#include <algorithm>
#include <utility>

namespace s5066::dts {

/// True if `peer` has its turn before `other`, which has a smaller address: turns go up from the
/// peer served last.
bool TransmissionPlanner::comes_before(Address peer, Address other) const {
  return last_served_ && !(*last_served_ < other) && *last_served_ < peer;
}

std::optional<Address> TransmissionPlanner::next_control(const WaitingWork& work) const {
  std::optional<Address> chosen;
  for (const Address peer : work.controls) {
    if (!chosen || comes_before(peer, *chosen)) chosen = peer;
  }
  return chosen;
}

std::optional<WaitingWork::ToConnection> TransmissionPlanner::next_connection(
    const WaitingWork& work, bool owed) const {
  std::optional<WaitingWork::ToConnection> chosen;
  for (const auto& candidate : work.connections) {
    if (candidate.answer_owed != owed) continue;
    if (!chosen || comes_before(candidate.peer, chosen->peer)) chosen = candidate;
  }
  return chosen;
}

// Two stations with much data for each other always owe each other an answer. If others wait, the
// peer served last gets its answer without a new request for an answer. If it goes on sending all
// the same, the others go first.
std::optional<WaitingWork::ToConnection> TransmissionPlanner::next_connection(
    const WaitingWork& work) const {
  const auto owed = next_connection(work, true);
  const auto other = next_connection(work, false);
  if (!other || !owed) return owed ? owed : other;
  return passed_over_ < kPassedOverMax ? owed : other;
}

// The destination of type 8 may answer, so no connection with another station shares the
// transmission. While a connection waits, type 8 for others takes at most kPassedOverMax
// transmissions in a row.
void TransmissionPlanner::share_with_audience(
    TransmissionPlan& plan, std::optional<WaitingWork::ToConnection>& connection) {
  if (!connection) return;
  if (plan.audience && connection->peer != *plan.audience && put_off_ < kPassedOverMax) {
    ++put_off_;
    connection.reset();
    return;
  }
  if (plan.audience) plan.audience = connection->peer;
  put_off_ = 0;
}

TransmissionPlan TransmissionPlanner::plan(const WaitingWork& work, bool run_is_over) {
  TransmissionPlan plan;
  auto connection = next_connection(work);
  const bool others = std::any_of(work.connections.begin(), work.connections.end(),
                                  [](const auto& candidate) { return !candidate.answer_owed; });
  plan.control = next_control(work);  // type 6 goes before all other types (C.3.9(3))
  const bool held_up = plan.control && (connection || work.nonarq);
  const bool yields = held_up && passed_over_ >= kPassedOverMax;
  if (yields) plan.control.reset();
  if (plan.control) connection.reset();
  const bool waits = connection.has_value();
  if (!plan.control && std::exchange(arq_turn_over_, false) && work.nonarq) connection.reset();

  plan.audience = plan.control ? std::nullopt : work.expedited_audience;
  share_with_audience(plan, connection);

  const bool owed = connection && connection->answer_owed;
  if (connection) plan.connection = connection->peer;
  plan.only_answer = owed && (run_is_over || (others && last_served_ == connection->peer));
  const bool put_off = waits && !connection;
  const bool passes_over = plan.control ? held_up : others && owed && !yields;
  if (!put_off) passed_over_ = passes_over ? passed_over_ + 1 : 0;
  return plan;
}

}  // namespace s5066::dts
