// SPDX-License-Identifier: Apache-2.0
#include "s5066d/dts/transfer_state.h"

namespace s5066::dts {

TransferEvent event_of(std::uint8_t dpdu_type) {
  constexpr std::uint8_t kLastBeforeReserved = 8;
  constexpr std::uint8_t kWarning = 15;
  const std::uint8_t type = table_type(dpdu_type);
  S5066_ASSERT(type <= kLastBeforeReserved || type == kWarning);
  return type == kWarning ? TransferEvent::warning : static_cast<TransferEvent>(type);
}

/// Returns the connected state of the same name if we are connected, else the unconnected one.
TransferState TransferMachine::same_side(TransferState unconnected) const {
  constexpr auto kSide = static_cast<std::uint8_t>(TransferState::idle_connected);
  const auto side = is_connected(state_) ? kSide : std::uint8_t{0};
  return static_cast<TransferState>(static_cast<std::uint8_t>(unconnected) + side);
}

TransferAction TransferMachine::on(TransferEvent event, const TransferWork& work) {
  settle(work);
  const TransferStep& step = step_of(state_, event);
  state_ = step.next;
  return step.action;
}

void TransferMachine::settle(const TransferWork& work) {
  using enum TransferState;
  const bool expediting = state_ == same_side(expedited_unconnected);
  if (work.management) {
    state_ = same_side(management_unconnected);
  } else if (work.expedited || (work.expedited_nonarq && (expediting || !work.data))) {
    state_ = same_side(expedited_unconnected);
  } else {
    state_ = same_side(work.data ? data_unconnected : idle_unconnected);
  }
}

void TransferMachine::on_sent(std::uint8_t dpdu_type, const TransferWork& work) {
  if (may_send(state_, dpdu_type)) return;
  settle(work);
  if (may_send(state_, dpdu_type)) return;
  // Types 7 and 8 have no answer, so either of them may go first.
  const bool expediting = state_ == same_side(TransferState::expedited_unconnected);
  S5066_ASSERT(!work.management && !work.expedited);
  S5066_ASSERT(expediting ? work.data : work.expedited_nonarq);
  state_ = same_side(expediting ? TransferState::data_unconnected
                                : TransferState::expedited_unconnected);
  S5066_ASSERT(may_send(state_, dpdu_type));
}

}  // namespace s5066::dts
