// SPDX-License-Identifier: Apache-2.0
// The data-transfer states of one remote station (C.6.1, Fig. C-42): what a received D_PDU or a
// primitive of the channel access sublayer does in each (Tables C-10 to C-25), and which types may
// be sent (C.6.1.2). This file has the tables; DataTransfer carries out the actions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "s5066d/base/assert.h"

namespace s5066::dts {

enum class TransferState : std::uint8_t {
  idle_unconnected,
  data_unconnected,
  expedited_unconnected,
  management_unconnected,
  idle_connected,
  data_connected,
  expedited_connected,
  management_connected,
  count
};

enum class TransferEvent : std::uint8_t {
  data_only,  // D_PDUs received, in the order of their types
  ack_only,
  data_ack,
  reset,
  expedited_data,
  expedited_ack,
  management,
  nonarq,
  expedited_nonarq,
  warning,
  connection_made,  // D_CONNECTION_MADE and so on
  connection_terminated,
  arq_request,
  expedited_request,
  nonarq_request,
  expedited_nonarq_request,
  count
};

enum class TransferAction : std::uint8_t {
  process,             // acknowledge if it asks for that, go on sending what is allowed
  warn_not_connected,  // WARNING with reason 1
  warn_wrong_state,    // WARNING with reason 3, without processing
  /// WARNING with reason 3, except for a copy of an acknowledgement received before.
  warn_unless_known,
  initialise,  // start a fresh ARQ machine
  clear,       // delete all state of the connection
  ignore,
  reject,
  send,  // sends as soon as the work of this state allows it
};

struct TransferStep {
  TransferAction action = TransferAction::process;
  TransferState next = TransferState::idle_unconnected;
};

namespace transfer_table {

using Row = std::array<TransferStep, static_cast<std::size_t>(TransferState::count)>;

// Short names, so that the table columns stay narrow.
inline constexpr auto kP = TransferAction::process;
inline constexpr auto kW1 = TransferAction::warn_not_connected;
inline constexpr auto kW3 = TransferAction::warn_wrong_state;
inline constexpr auto kW3a = TransferAction::warn_unless_known;
inline constexpr auto kNo = TransferAction::reject;
inline constexpr auto kTx = TransferAction::send;
inline constexpr auto kO = TransferAction::ignore;
inline constexpr auto kN = TransferAction::initialise;
inline constexpr auto kE = TransferAction::clear;
inline constexpr auto Iu = TransferState::idle_unconnected;
inline constexpr auto Du = TransferState::data_unconnected;
inline constexpr auto Eu = TransferState::expedited_unconnected;
inline constexpr auto Mu = TransferState::management_unconnected;
inline constexpr auto Ic = TransferState::idle_connected;
inline constexpr auto Dc = TransferState::data_connected;
inline constexpr auto Ec = TransferState::expedited_connected;
inline constexpr auto Mc = TransferState::management_connected;

// STANDARD: by the letter, a type 5 outside of Ec moves to Ec, where regular data would rest for
// nothing; here it draws the warning and moves nothing. A type 1 in Ic is treated alike, because no
// data is under way after it. A late copy of an acknowledgement is no fault of the peer and draws
// no warning.
// STANDARD: by the letter, a type 3 in Ec that is no FULL RESET leads to Dc, although expedited
// data may be under way, which it does not concern (C.3.6(1)); here the state stays Ec.
// clang-format off
inline constexpr std::array<Row, static_cast<std::size_t>(TransferEvent::count)> kSteps = {{
    {{{kW1, Iu}, {kW1, Du}, {kW1, Eu}, {kW1, Mu}, {kP, Dc},   {kP, Dc},   {kP, Ec},   {kP, Mc}}},
    {{{kW1, Iu}, {kW1, Du}, {kW1, Eu}, {kW1, Mu}, {kW3a, Ic}, {kP, Dc},   {kP, Ec},   {kP, Mc}}},
    {{{kW1, Iu}, {kW1, Du}, {kW1, Eu}, {kW1, Mu}, {kP, Dc},   {kP, Dc},   {kP, Ec},   {kP, Mc}}},
    {{{kW1, Iu}, {kW1, Du}, {kW1, Eu}, {kW1, Mu}, {kP, Ic},   {kP, Dc},   {kP, Ec},   {kW3, Mc}}},
    {{{kW1, Iu}, {kW1, Du}, {kW1, Eu}, {kW1, Mu}, {kP, Ec},   {kP, Ec},   {kP, Ec},   {kP, Mc}}},
    {{{kW1, Iu}, {kW1, Du}, {kW1, Eu}, {kW1, Mu}, {kW3a, Ic}, {kW3a, Dc}, {kP, Ec},   {kW3, Mc}}},
    {{{kP, Mu},  {kP, Mu},  {kP, Mu},  {kP, Mu},  {kP, Mc},   {kP, Mc},   {kP, Mc},   {kP, Mc}}},
    {{{kP, Du},  {kP, Du},  {kP, Eu},  {kP, Mu},  {kP, Dc},   {kP, Dc},   {kP, Ec},   {kP, Mc}}},
    {{{kP, Eu},  {kP, Du},  {kP, Eu},  {kP, Mu},  {kP, Ec},   {kP, Ec},   {kP, Ec},   {kP, Mc}}},
    {{{kP, Iu},  {kP, Du},  {kP, Eu},  {kP, Mu},  {kP, Ic},   {kP, Dc},   {kP, Ec},   {kP, Mc}}},
    {{{kN, Ic}, {kN, Ic}, {kN, Ic}, {kN, Mc}, {kO, Ic}, {kO, Dc}, {kO, Ec}, {kO, Mc}}},
    {{{kO, Iu}, {kO, Du}, {kO, Eu}, {kO, Mu}, {kE, Iu}, {kE, Iu}, {kE, Iu}, {kE, Iu}}},
    {{{kNo, Iu}, {kNo, Du}, {kNo, Eu}, {kNo, Mu}, {kTx, Dc}, {kTx, Dc}, {kTx, Ec}, {kTx, Mc}}},
    {{{kNo, Iu}, {kNo, Du}, {kNo, Eu}, {kNo, Mu}, {kTx, Ec}, {kTx, Ec}, {kTx, Ec}, {kTx, Mc}}},
    {{{kTx, Du}, {kTx, Du}, {kTx, Eu}, {kTx, Mu}, {kTx, Dc}, {kTx, Dc}, {kTx, Ec}, {kTx, Mc}}},
    {{{kTx, Eu}, {kTx, Eu}, {kTx, Eu}, {kTx, Mu}, {kTx, Ec}, {kTx, Ec}, {kTx, Ec}, {kTx, Mc}}},
}};
// clang-format on

constexpr std::uint16_t types(std::initializer_list<unsigned> list) {
  std::uint16_t mask = 0;
  for (const unsigned type : list) mask = static_cast<std::uint16_t>(mask | 1u << type);
  return mask;
}

// STANDARD: C.6.1.2(1) allows no type 3 in Ic and Ec, but Tables C-19 and C-23 ask for one.
inline constexpr std::array<std::uint16_t, static_cast<std::size_t>(TransferState::count)> kSends =
    {types({15}),
     types({7, 15}),
     types({8, 15}),
     types({6, 15}),
     types({3, 15}),
     types({0, 1, 2, 3, 7, 8, 15}),
     types({1, 3, 4, 5, 8, 15}),
     types({6, 8, 15})};

}  // namespace transfer_table

constexpr const TransferStep& step_of(TransferState state, TransferEvent event) {
  return transfer_table::kSteps[static_cast<std::size_t>(event)][static_cast<std::size_t>(state)];
}
/// Returns the standard's type that stands for this one in the tables. Our types 9 and 10 count as
/// the types 0 and 1 that they extend.
constexpr std::uint8_t table_type(std::uint8_t dpdu_type) {
  constexpr std::uint8_t kLongData = 9;
  constexpr std::uint8_t kLongAck = 10;
  if (dpdu_type == kLongData) return 0;
  return dpdu_type == kLongAck ? 1 : dpdu_type;
}
/// True if a D_PDU of this type may be sent in that state.
constexpr bool may_send(TransferState state, std::uint8_t dpdu_type) {
  return (transfer_table::kSends[static_cast<std::size_t>(state)] >> table_type(dpdu_type) & 1) !=
         0;
}
constexpr bool is_connected(TransferState state) {
  return state >= TransferState::idle_connected;
}
/// Returns the event of a received D_PDU. Types 11 to 14 are no events.
TransferEvent event_of(std::uint8_t dpdu_type);

/// The work under way with the station. STANDARD: Fig. C-42 draws the transitions back to the idle
/// states, but no table has them; here a state is left when none of its work remains.
struct TransferWork {
  bool management = false;
  bool expedited = false;         // types 4 and 5, to be sent or waited for
  bool expedited_nonarq = false;  // type 8, to be sent
  bool data = false;              // types 0 to 3 and 7
};

/// The data-transfer state of one station.
class TransferMachine {
 public:
  TransferState state() const { return state_; }
  /// Settles the state by `work`, moves to the next state and returns what to do.
  TransferAction on(TransferEvent event, const TransferWork& work);
  /// Moves to the state that the remaining work calls for.
  void settle(const TransferWork& work);
  /// Call when a D_PDU of this type goes out. It must be allowed in a state that the work can be
  /// in.
  void on_sent(std::uint8_t dpdu_type, const TransferWork& work);

 private:
  TransferState same_side(TransferState unconnected) const;

  TransferState state_ = TransferState::idle_unconnected;
};

}  // namespace s5066::dts
