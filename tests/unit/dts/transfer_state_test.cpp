// SPDX-License-Identifier: Apache-2.0
// These tests compare the tables of the data-transfer states (C.6.1) with a transcription of the
// clause, and put a station in each of the states before each event.
#include "s5066d/dts/transfer_state.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "s5066d/base/crc.h"
#include "tests/support/lone_station.h"

namespace s5066::dts {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kStates[] = {"Iu", "Du", "Eu", "Mu", "Ic", "Dc", "Ec", "Mc"};
constexpr std::size_t kStateCount = std::size(kStates);

/// A row belongs to an event and a cell to a state: action and next state. The cells follow the
/// clause. The choices that are marked STANDARD in transfer_state.h have a "!".
constexpr std::string_view kTables[] = {
    "W1:Iu W1:Du W1:Eu W1:Mu P:Dc P:Dc P:Ec P:Mc",         // 0
    "W1:Iu W1:Du W1:Eu W1:Mu W3?:Ic! P:Dc P:Ec P:Mc",      // 1
    "W1:Iu W1:Du W1:Eu W1:Mu P:Dc P:Dc P:Ec P:Mc",         // 2
    "W1:Iu W1:Du W1:Eu W1:Mu P:Ic P:Dc P:Ec! W3:Mc",       // 3
    "W1:Iu W1:Du W1:Eu W1:Mu P:Ec P:Ec P:Ec P:Mc",         // 4
    "W1:Iu W1:Du W1:Eu W1:Mu W3?:Ic! W3?:Dc! P:Ec W3:Mc",  // 5
    "P:Mu P:Mu P:Mu P:Mu P:Mc P:Mc P:Mc P:Mc",             // 6
    "P:Du P:Du P:Eu P:Mu P:Dc P:Dc P:Ec P:Mc",             // 7
    "P:Eu P:Du P:Eu P:Mu P:Ec P:Ec P:Ec P:Mc",             // 8
    "P:Iu P:Du P:Eu P:Mu P:Ic P:Dc P:Ec P:Mc",             // 15
    "new:Ic new:Ic new:Ic new:Mc -:Ic -:Dc -:Ec -:Mc",     // D_CONNECTION_MADE
    "-:Iu -:Du -:Eu -:Mu end:Iu end:Iu end:Iu end:Iu",     // D_CONNECTION_TERMINATED
    "no:Iu no:Du no:Eu no:Mu tx:Dc tx:Dc tx:Ec tx:Mc",     // ARQ request
    "no:Iu no:Du no:Eu no:Mu tx:Ec tx:Ec tx:Ec tx:Mc",     // expedited ARQ
    "tx:Du tx:Du tx:Eu tx:Mu tx:Dc tx:Dc tx:Ec tx:Mc",     // non-ARQ
    "tx:Eu tx:Eu tx:Eu tx:Mu tx:Ec tx:Ec tx:Ec tx:Mc",     // expedited non-ARQ
};
constexpr std::string_view kMaySend[] = {"15",   "7 15",           "8 15",         "6 15",
                                         "3 15", "0 1 2 3 7 8 15", "1 3 4 5 8 15", "6 8 15"};

std::string_view name_of(TransferAction action) {
  switch (action) {
    case TransferAction::process:
      return "P";
    case TransferAction::warn_not_connected:
      return "W1";
    case TransferAction::warn_wrong_state:
      return "W3";
    case TransferAction::warn_unless_known:
      return "W3?";
    case TransferAction::initialise:
      return "new";
    case TransferAction::clear:
      return "end";
    case TransferAction::ignore:
      return "-";
    case TransferAction::reject:
      return "no";
    case TransferAction::send:
      return "tx";
  }
  return "?";
}

// C.6.1(1), C.6.1.1(1)(2)(5): Tables C-10 to C-25
// C.6.1.1.1(1), C.6.1.1.2(1), C.6.1.1.3(1), C.6.1.1.4(1), C.6.1.1.5(1), C.6.1.1.6(1),
// C.6.1.1.7(1), C.6.1.1.8(1), C.6.1.1.1(2), C.6.1.1.2(2), C.6.1.1.3(2), C.6.1.1.4(2),
// C.6.1.1.5(2), C.6.1.1.6(2), C.6.1.1.7(2), C.6.1.1.8(2)
TEST(TransferTable, every_cell_is_that_of_the_clause) {
  ASSERT_EQ(std::size(kTables), static_cast<std::size_t>(TransferEvent::count));
  ASSERT_EQ(kStateCount, static_cast<std::size_t>(TransferState::count));
  for (std::size_t event = 0; event < std::size(kTables); ++event) {
    std::istringstream cells{std::string(kTables[event])};
    for (std::size_t state = 0; state < kStateCount; ++state) {
      SCOPED_TRACE("event " + std::to_string(event) + " in " + std::string(kStates[state]));
      std::string cell;
      ASSERT_TRUE(cells >> cell);
      if (cell.back() == '!') cell.pop_back();
      const auto& step =
          step_of(static_cast<TransferState>(state), static_cast<TransferEvent>(event));
      EXPECT_EQ(std::string(name_of(step.action)) + ":" +
                    std::string(kStates[static_cast<std::size_t>(step.next)]),
                cell);
    }
  }
}

// C.6.1.2(1)
TEST(TransferTable, every_state_sends_the_types_of_the_clause_and_no_others) {
  for (std::size_t state = 0; state < kStateCount; ++state) {
    std::set<unsigned> wanted;
    std::istringstream list{std::string(kMaySend[state])};
    for (unsigned type; list >> type;) wanted.insert(type);
    // Our types 9 and 10 may go in the states of the types 0 and 1 that they extend.
    if (wanted.count(0) > 0) wanted.insert(9);
    if (wanted.count(1) > 0) wanted.insert(10);
    for (std::uint8_t type = 0; type < 16; ++type) {
      EXPECT_EQ(may_send(static_cast<TransferState>(state), type), wanted.count(type) > 0)
          << kStates[state] << " " << int{type};
    }
  }
}

// Goal:   the machine goes where the table says, and leaves a state when its work is done.
// Method: all states, all events, and all work.
TEST(TransferMachine, takes_every_step_of_the_table_and_stays_only_where_there_is_work) {
  for (unsigned bits = 0; bits < 16; ++bits) {
    const TransferWork work{.management = (bits & 1) != 0,
                            .expedited = (bits & 2) != 0,
                            .expedited_nonarq = (bits & 4) != 0,
                            .data = (bits & 8) != 0};
    for (const bool connected : {false, true}) {
      TransferMachine machine;
      if (connected) machine.on(TransferEvent::connection_made, {});
      machine.settle(work);
      const TransferState at = machine.state();
      EXPECT_EQ(is_connected(at), connected);
      const auto kind = static_cast<unsigned>(at) % 4;
      EXPECT_EQ(kind, work.management                                           ? 3u
                      : work.expedited || (work.expedited_nonarq && !work.data) ? 2u
                      : work.data                                               ? 1u
                                                                                : 0u);
      for (std::size_t event = 0; event < static_cast<std::size_t>(TransferEvent::count); ++event) {
        TransferMachine copy = machine;
        const auto& step = step_of(at, static_cast<TransferEvent>(event));
        EXPECT_EQ(copy.on(static_cast<TransferEvent>(event), work), step.action);
        EXPECT_EQ(copy.state(), step.next);
        copy.settle({});
        EXPECT_EQ(copy.state(), is_connected(step.next) ? TransferState::idle_connected
                                                        : TransferState::idle_unconnected);
      }
    }
  }
}

// --- A station in each state ---------------------------------------------------------------------

constexpr Address kUs{0x01020305};
constexpr Address kPeer{0x01020304};
constexpr Address kThird{0x01020306};

pdu::Common common(Address to = kUs, Address from = kPeer) {
  return {.eow = {}, .eot_half_s = 1, .destination = to, .source = from};
}

pdu::Dpdu dpdu_of(std::size_t event) {
  using namespace pdu;
  switch (event) {
    case 0:
      return Data{common(), {.start = true, .end = true}, {0}, {1, 2}};
    case 1:
      return AckOnly{common(), {{0}, {}}};
    case 2:
      return DataAck{common(), {.start = true, .end = true}, {0}, {{0}, {}}, {1, 2}};
    case 3:
      return Reset{.common = common(), .full_reset = true, .frame_id = 9};
    case 4:
      return ExpeditedData{common(), true, true, 1, {0}, {3}};
    case 5:
      return ExpeditedAck{common(), {{0}, {}}};
    case 6:
      return pdu::Management{.common = common(), .valid = true, .frame_id = 77};
    case 7:
    case 8: {
      Nonarq nonarq{.common = common(), .expedited = event == 8, .cpdu_id = 5};
      nonarq.cpdu_size = 1;
      nonarq.window_half_s = 10;
      nonarq.segment = {7};
      return nonarq;
    }
    default:
      return Warning{common(), 0, 3};
  }
}

CpduRequest request_of(Service service) {
  return {.id = {1}, .service = service, .destination = kPeer, .cpdu = {0x55}};
}

/// Brings a station to this state towards kPeer. Its reason for the state is on the air or waits.
void bring_to(test::LoneStation& station, std::size_t state) {
  using enum TransferState;
  const auto wanted = static_cast<TransferState>(state);
  if (is_connected(wanted)) station.made(kPeer);
  // No time passes in here, so that nothing leaves yet.
  switch (wanted) {
    case data_unconnected:
      station.request(request_of(Service::nonarq));
      break;
    case expedited_unconnected:
      station.request(request_of(Service::expedited_nonarq));
      break;
    case data_connected:
      station.request(request_of(Service::arq));
      break;
    case expedited_connected:
      station.request(request_of(Service::expedited_arq));
      break;
    case management_unconnected:
    case management_connected:
      station.hear({pdu::Management{
          .common = {.eow = {5, 0x40}, .eot_half_s = 1, .destination = kUs, .source = kPeer},
          .valid = true,
          .frame_id = 3}});
      break;
    default:
      break;
  }
  ASSERT_EQ(station.dts().transfer_state(kPeer), wanted);
}

std::set<int> warned(const std::vector<pdu::Dpdu>& sent) {
  std::set<int> reasons;
  for (const auto& dpdu : sent) {
    if (const auto* warning = std::get_if<pdu::Warning>(&dpdu)) reasons.insert(warning->reason);
  }
  return reasons;
}

std::set<int> types_of(const std::vector<pdu::Dpdu>& sent) {
  std::set<int> types;
  for (const auto& dpdu : sent) types.insert(pdu::type_of(dpdu));
  return types;
}

// C.6.1.2(2), C.3.12(9): in every state a D_PDU that the table admits is processed. Any other D_PDU
// draws the WARNING with its reason and type.
TEST(TransferStation, each_d_pdu_in_each_state_is_processed_or_draws_its_warning) {
  for (std::size_t state = 0; state < kStateCount; ++state) {
    for (std::size_t event = 0; event <= static_cast<std::size_t>(TransferEvent::warning);
         ++event) {
      SCOPED_TRACE("event " + std::to_string(event) + " in " + std::string(kStates[state]));
      test::LoneStation station({.address = kUs});
      bring_to(station, state);
      if (::testing::Test::HasFailure()) return;
      const auto action =
          step_of(static_cast<TransferState>(state), static_cast<TransferEvent>(event)).action;
      station.take_actions();
      station.hear({dpdu_of(event)});
      station.run_for(5s);
      const auto sent = station.take_sent();
      const auto actions = station.take_actions();
      std::set<int> reasons;
      if (action == TransferAction::warn_not_connected) reasons = {1};
      if (action == TransferAction::warn_wrong_state) reasons = {3};
      EXPECT_EQ(warned(sent), reasons);
      for (const auto& dpdu : sent) {
        const auto* warning = std::get_if<pdu::Warning>(&dpdu);
        if (warning) {
          EXPECT_EQ(warning->received_type, event);
        }
      }
      std::size_t indicated = 0;
      std::size_t told = 0;
      for (const auto& up : actions) {
        indicated += std::holds_alternative<CpduIndication>(up);
        told += std::holds_alternative<WarningReceived>(up);
      }
      const bool carries_data = event == 0 || event == 2 || event == 4 || event == 7 || event == 8;
      EXPECT_EQ(indicated, carries_data && reasons.empty() ? 1u : 0u);
      EXPECT_EQ(told, event == 9 ? 1u : 0u);
    }
  }
}

// C.6.1.2(1): in MANAGEMENT acknowledgements are deferred, in EXPEDITED-DATA they are of type 1.
TEST(TransferStation, acknowledgements_wait_for_a_state_that_may_send_them) {
  test::LoneStation station({.address = kUs});
  bring_to(station, static_cast<std::size_t>(TransferState::management_connected));
  station.hear({dpdu_of(0)});
  station.run_for(3s);
  EXPECT_EQ(types_of(station.take_sent()), std::set<int>{6});
  station.hear({pdu::Management{.common = common(), .ack = true, .frame_id = 4}});
  station.run_for(3s);
  EXPECT_EQ(types_of(station.take_sent()), std::set<int>{1});

  test::LoneStation expediting({.address = kUs});
  bring_to(expediting, static_cast<std::size_t>(TransferState::expedited_connected));
  expediting.request({.id = {2}, .service = Service::arq, .destination = kPeer, .cpdu = {1}});
  expediting.run_for(2s);
  expediting.hear({dpdu_of(0)});
  expediting.run_for(3s);
  const auto types = types_of(expediting.take_sent());
  EXPECT_EQ(types, (std::set<int>{1, 4}));
}

// C.6.1.1(3)(4): each state belongs to one station, and D_PDUs of other stations do not count.
TEST(TransferStation, the_state_of_one_station_is_not_that_of_another) {
  test::LoneStation station({.address = kUs});
  station.made(kPeer);
  station.made(kThird);
  station.request(request_of(Service::expedited_arq));
  EXPECT_EQ(station.dts().transfer_state(kPeer), TransferState::expedited_connected);
  EXPECT_EQ(station.dts().transfer_state(kThird), TransferState::idle_connected);
  station.terminated(kPeer);
  EXPECT_EQ(station.dts().transfer_state(kPeer), TransferState::idle_unconnected);
  EXPECT_EQ(station.dts().transfer_state(kThird), TransferState::idle_connected);

  auto foreign = dpdu_of(0);
  std::get<pdu::Data>(foreign).common.destination = kThird;
  station.take_actions();
  station.hear({foreign});
  station.run_for(30s);
  EXPECT_TRUE(warned(station.take_sent()).empty());
  EXPECT_TRUE(station.take_actions().empty());
}

TEST(TransferStation, requests_without_a_connection_are_rejected_but_for_non_arq) {
  for (const Service service :
       {Service::arq, Service::expedited_arq, Service::nonarq, Service::expedited_nonarq}) {
    test::LoneStation station({.address = kUs});
    station.request(request_of(service));
    station.run_for(10s);
    const auto actions = station.take_actions();
    ASSERT_EQ(actions.size(), 1u);
    const bool arq = service == Service::arq || service == Service::expedited_arq;
    EXPECT_EQ(std::holds_alternative<CpduRejected>(actions[0]), arq);
  }
}

// C.3.12(9), condition 2
TEST(TransferStation, in_a_broadcast_session_who_wants_an_answer_is_told_that_it_is_invalid) {
  for (std::size_t event = 0; event <= 8; ++event) {
    test::LoneStation station({.address = kUs});
    station.dts().set_broadcast(true);
    station.hear({dpdu_of(event)});
    station.run_for(5s);
    const auto reasons = warned(station.take_sent());
    EXPECT_EQ(reasons, event >= 7 ? std::set<int>{} : std::set<int>{2}) << event;
  }
}

// C.3.12(9), condition 1, and C.3.12(10)
TEST(TransferStation, reserved_types_are_not_recognised_and_warnings_never_answered) {
  for (std::uint8_t type = 9; type <= 15; ++type) {
    // This is a WARNING with another type and a new header CRC.
    Bytes octets;
    pdu::encode(pdu::Warning{common(), 0, 1}, octets);
    octets[2] = static_cast<std::uint8_t>(type << 4);
    const auto crc = header_crc(ByteSpan(octets).subspan(2, octets.size() - 4));
    octets[octets.size() - 2] = static_cast<std::uint8_t>(crc);
    octets[octets.size() - 1] = static_cast<std::uint8_t>(crc >> 8);
    test::LoneStation station({.address = kUs});
    station.hear(octets);
    station.run_for(5s);
    const auto sent = station.take_sent();
    if (type == 15) {
      EXPECT_TRUE(sent.empty());
      continue;
    }
    ASSERT_EQ(sent.size(), 1u);
    const auto& warning = std::get<pdu::Warning>(sent[0]);
    EXPECT_EQ(warning.received_type, type);
    EXPECT_EQ(warning.reason, 0);
  }
}

}  // namespace
}  // namespace s5066::dts
