// SPDX-License-Identifier: Apache-2.0
// These tests cover the type 6 handshake (C.3.9) and the answers to engineering order wire messages
// (C.5).
#include "s5066d/dts/message_exchange.h"

#include <gtest/gtest.h>

#include "s5066d/dts/data_rate.h"
#include "s5066d/dts/peer_control.h"

namespace s5066::dts {
namespace {

using namespace std::chrono_literals;
using pdu::EowType;

std::vector<pdu::Dpdu> burst_of(auto fill) {
  IntervalBudget budget({}, 10s);
  BurstBuilder burst;
  fill(budget, burst);
  return burst.dpdus();
}

/// Returns the D_PDU of a transmission whose D_PDUs are all copies of it.
pdu::Management sent_by(MessageExchange& management) {
  const auto dpdus =
      burst_of([&](auto& budget, auto& burst) { EXPECT_TRUE(management.fill({}, budget, burst)); });
  management.on_transmitted(true);
  for (const auto& dpdu : dpdus) EXPECT_EQ(dpdu, dpdus.front());
  return std::get<pdu::Management>(dpdus.at(0));
}

pdu::Management frame(bool valid, bool ack, std::uint8_t id, pdu::Eow eow = {}) {
  return {.common = {.eow = eow}, .valid = valid, .ack = ack, .frame_id = id};
}

const pdu::Eow kSome = pdu::make_capability(0x55);
const pdu::Eow kOther = pdu::make_capability(0xAA);

// C.3.9(4),(6),(7),(16),(18)-(20)
// C.3.9(26), C.3.9(27)
TEST(Management, each_message_has_the_next_id_from_0_and_is_repeated_until_acknowledged) {
  MessageExchange ours;
  ours.send({kSome});
  const auto first = sent_by(ours);
  EXPECT_EQ(first, frame(true, false, 0, kSome));
  EXPECT_FALSE(ours.has_work());
  ours.make_due();
  EXPECT_EQ(sent_by(ours), first);
  EXPECT_TRUE(ours.outstanding());
  EXPECT_TRUE(ours.on_management(frame(false, true, 0)).acknowledged);
  EXPECT_FALSE(ours.outstanding());
  ours.send({kOther});
  EXPECT_EQ(sent_by(ours), frame(true, false, 1, kOther));
}

TEST(Management, ids_count_on_from_255_at_0) {
  MessageExchange ours;
  for (int i = 0; i < 257; ++i) {
    ours.send({kSome});
    EXPECT_EQ(sent_by(ours).frame_id, i % 256);
    ours.on_management(frame(false, true, 9));
  }
}

// C.3.9(2),(8),(11)-(15),(17),(21)-(25)
// C.3.9(1)(2)
TEST(Management, a_message_is_new_once_whatever_its_id_and_each_copy_is_acknowledged) {
  MessageExchange theirs;
  for (const std::uint8_t id : {std::uint8_t{0}, std::uint8_t{255}, std::uint8_t{7}}) {
    const auto heard = theirs.on_management(frame(true, false, id, kSome));
    EXPECT_EQ(heard.message, (MessageExchange::Message{kSome}));
    const auto answer = sent_by(theirs);
    EXPECT_TRUE(answer.ack && !answer.valid);
    const auto again = theirs.on_management(frame(true, false, id, kSome));
    EXPECT_FALSE(again.message);
    EXPECT_TRUE(again.repeated);
    EXPECT_TRUE(sent_by(theirs).ack);
  }
}

// C.3.9(21)-(25): the peer has begun anew and counts from 0 again.
TEST(Management, another_message_is_new_with_the_id_of_the_last_too) {
  MessageExchange theirs;
  EXPECT_TRUE(theirs.on_management(frame(true, false, 0, kSome)).message);
  EXPECT_EQ(theirs.on_management(frame(true, false, 0, kOther)).message,
            (MessageExchange::Message{kOther}));
  EXPECT_TRUE(theirs.on_management(frame(true, false, 0, kOther)).repeated);
  pdu::Management extended = frame(true, false, 0, kOther);
  extended.extension = {1};
  EXPECT_EQ(theirs.on_management(extended).message, (MessageExchange::Message{kOther, {1}}));
  const pdu::Eow step{.type = 1, .contents = 0};  // drc_request
  EXPECT_TRUE(theirs.on_management(frame(true, false, 0, step)).repeated);
  EXPECT_TRUE(theirs.on_management(extended).repeated);
}

// C.3.9(8): only an acknowledgement may say that it has no message.
TEST(Management, a_frame_that_neither_tells_nor_acknowledges_changes_nothing) {
  MessageExchange ours;
  ours.send({kSome});
  sent_by(ours);
  const auto heard = ours.on_management(frame(false, false, 3, kOther));
  EXPECT_FALSE(heard.message || heard.acknowledged || ours.answer_owed());
  EXPECT_TRUE(ours.outstanding());
}

TEST(Management, the_id_of_a_bare_acknowledgement_hides_no_later_message) {
  MessageExchange ours;
  ours.send({kSome});
  sent_by(ours);
  ours.on_management(frame(false, true, 4));
  EXPECT_TRUE(ours.on_management(frame(true, false, 4, kOther)).message);
}

TEST(Management, an_answer_carries_the_acknowledgement_and_its_copies_acknowledge_once) {
  MessageExchange ours;
  MessageExchange theirs;
  ours.send({kSome}, MessageExchange::Until::stopped);
  const auto asked = sent_by(ours);
  theirs.on_management(asked);
  theirs.send({kOther});
  const auto answer = sent_by(theirs);
  EXPECT_TRUE(answer.valid && answer.ack);
  EXPECT_TRUE(ours.on_management(answer).message);
  EXPECT_TRUE(ours.acknowledged_only());
  ours.send({kSome});
  sent_by(ours);
  EXPECT_FALSE(ours.on_management(answer).acknowledged);
  EXPECT_TRUE(ours.outstanding());
}

TEST(Management, what_asks_for_an_answer_is_not_ended_by_an_acknowledgement) {
  MessageExchange ours;
  ours.send({kSome}, MessageExchange::Until::stopped);
  sent_by(ours);
  EXPECT_FALSE(ours.on_management(frame(false, true, 0)).acknowledged);
  EXPECT_TRUE(ours.acknowledged_only());
  EXPECT_FALSE(ours.on_management(frame(true, true, 1, kOther)).acknowledged);
  EXPECT_TRUE(ours.outstanding());
  ours.stop();
  EXPECT_FALSE(ours.outstanding());
}

TEST(Management, what_waits_for_nothing_is_repeated_only_with_what_it_answers) {
  MessageExchange ours;
  ours.on_management(frame(true, false, 7, kSome));
  ours.send({kOther}, MessageExchange::Until::sent);
  const auto answer = sent_by(ours);
  EXPECT_EQ(answer, frame(true, true, 0, kOther));
  EXPECT_FALSE(ours.outstanding() || ours.has_work());
  EXPECT_TRUE(ours.on_management(frame(true, false, 7, kSome)).repeated);
  ours.make_due();
  EXPECT_EQ(sent_by(ours), answer);
  ours.on_management(frame(true, false, 8, {}));
  EXPECT_EQ(sent_by(ours), frame(false, true, 1));  // only an acknowledgement of that message
}

// Method: an answer to the message before was formed just before ours was keyed. An answer to ours
//         is formed while ours is on the air.
TEST(Management, in_full_duplex_an_answer_counts_by_when_it_was_formed) {
  const auto t = [](int seconds) { return Instant(std::chrono::seconds(seconds)); };
  for (const bool ended : {false, true}) {
    MessageExchange ours;
    ours.send({kSome});
    EXPECT_FALSE(ours.on_management(frame(false, true, 0), t(9)).acknowledged);
    burst_of([&](auto& budget, auto& burst) { ours.fill({}, budget, burst); });
    ours.on_keyed(t(10));
    if (ended) ours.on_transmitted(true);
    EXPECT_FALSE(ours.on_management(frame(false, true, 0), t(9)).acknowledged);
    EXPECT_TRUE(ours.on_management(frame(false, true, 0), t(10)).acknowledged);
    EXPECT_FALSE(ours.outstanding());
  }
}

TEST(Management, nothing_that_was_not_sent_is_acknowledged) {
  MessageExchange ours;
  ours.send({kSome});
  EXPECT_FALSE(ours.on_management(frame(false, true, 0)).acknowledged);
  burst_of([&](auto& budget, auto& burst) { ours.fill({}, budget, burst); });
  ours.on_transmitted(false);
  EXPECT_TRUE(ours.has_work());
  EXPECT_FALSE(ours.on_management(frame(false, true, 0)).acknowledged);
}

// C.6.4.2(15): copies fill the block and no more.
// C.6.4.2(15)-(17)
TEST(Management, copies_fill_the_interleaver_block_and_no_more) {
  const auto copies = [](const modem::Mode& mode) {
    MessageExchange ours;
    ours.send({kSome});
    IntervalBudget budget(mode, 60s);
    BurstBuilder burst;
    ours.fill({}, budget, burst);
    return burst.dpdus().size();
  };
  using modem::Interleaver;
  EXPECT_EQ(copies({.rate_bps = 300, .interleaver = Interleaver::short_}), 1u);
  EXPECT_EQ(copies({.rate_bps = 600, .interleaver = Interleaver::short_}), 1u);
  EXPECT_EQ(copies({.rate_bps = 1200, .interleaver = Interleaver::short_}), 4u);
  EXPECT_EQ(copies({.rate_bps = 2400, .interleaver = Interleaver::long_}), 8u);
}

// --- Answers to messages -------------------------------------------------------------------------

class PeerControlTest : public ::testing::Test {
 protected:
  static constexpr Address kUs{0x01020305};
  static constexpr Address kPeer{0x01020304};

  PeerControlTest() { ours.on_connected(true); }
  /// Returns our transmission after this message of the peer in a type 6, if there is one.
  std::optional<pdu::Management> answer_to(pdu::Eow eow, Bytes extension = {}, bool ack = false) {
    auto dpdu = frame(true, ack, next_id++, eow);
    dpdu.extension = std::move(extension);
    ours.on_management(dpdu);
    return transmission();
  }
  std::optional<pdu::Management> transmission() {
    const auto dpdus = burst_of([&](auto& budget, auto& burst) { ours.fill(budget, burst); });
    ours.on_transmitted(true);
    if (dpdus.empty()) return std::nullopt;
    return std::get<pdu::Management>(dpdus[0]);
  }
  std::vector<pdu::DrcReason> refusals() {
    std::vector<pdu::DrcReason> reasons;
    while (auto event = ours.poll_event()) {
      if (auto* refused = std::get_if<DataRateRefused>(&*event)) reasons.push_back(refused->reason);
    }
    return reasons;
  }
  static pdu::Eow drc(pdu::DrcRequest request) {
    return pdu::make_eow(EowType::drc_request, request);
  }
  static pdu::Eow drc(pdu::DrcAnswer answer, pdu::DrcReason reason = pdu::DrcReason::none) {
    return pdu::make_eow(EowType::drc_response, pdu::DrcResponse{answer, reason});
  }

  static constexpr modem::Mode kMode{.rate_bps = 300, .interleaver = modem::Interleaver::short_};
  static constexpr modem::Mode kFast{.rate_bps = 2400, .interleaver = modem::Interleaver::long_};
  Counters counters;
  PeerControl ours{kPeer, {.self = kUs, .mode = kMode}, counters};
  std::uint8_t next_id = 0;
};

// C.5(2)-(5), C.5.3(1)-(4)
TEST_F(PeerControlTest, a_type_of_message_that_is_not_known_is_named_to_its_sender) {
  for (std::uint8_t type = 8; type < 16; ++type) {
    SCOPED_TRACE(int{type});
    const auto answer = answer_to({type, 0x5A});
    ASSERT_TRUE(answer);
    EXPECT_TRUE(answer->ack && !answer->valid);
    EXPECT_EQ(answer->common.eow, (pdu::Eow{3, type}));
    EXPECT_FALSE(ours.open());

    ours.on_eow({type, 0x5A});
    EXPECT_EQ(ours.eow_for(1), (pdu::Eow{3, type}));
    ours.on_eow_sent();
    EXPECT_EQ(ours.eow_for(0).type, 4);
  }
  EXPECT_EQ(counters[Counter::eows_unrecognised], 16u);
}

TEST_F(PeerControlTest, what_needs_no_answer_is_acknowledged_and_no_more) {
  const pdu::Eow quiet[] = {{}, {3, 9}, {4, 0xB0}, {6, 0x26}, drc(pdu::DrcAnswer::confirm)};
  for (const auto& eow : quiet) {
    const auto answer = answer_to(eow);
    ASSERT_TRUE(answer);
    EXPECT_TRUE(answer->ack && !answer->valid);
    EXPECT_EQ(answer->common.eow, pdu::Eow{});
    EXPECT_FALSE(ours.open());
  }
  EXPECT_EQ(ours.capabilities(), 0xB0);
}

// C.5.4(1)(2)
TEST_F(PeerControlTest, capabilities_are_told_until_the_peer_says_that_it_knows_no_such_message) {
  EXPECT_EQ(ours.eow_for(0), pdu::make_capability(0xB0));
  PeerControl without(kPeer, {.self = kUs, .mode = kMode, .rate_change = false}, counters);
  EXPECT_EQ(without.eow_for(0), pdu::make_capability(0x30));  // C.6.4(1)(2)
  PeerControl duplex(kPeer, {.self = kUs, .mode = kMode, .full_duplex = true}, counters);
  EXPECT_EQ(duplex.eow_for(0), pdu::make_capability(0xBC));  // Table C-9
  ours.on_eow(pdu::make_unrecognised(4));
  EXPECT_EQ(ours.eow_for(0), pdu::Eow{});
}

TEST_F(PeerControlTest, a_change_of_frequency_is_refused_for_that_reason) {
  const auto refused = pdu::make_eow(
      EowType::frequency_response,
      pdu::DrcResponse{pdu::DrcAnswer::refuse, pdu::DrcReason::cannot_change_frequency});
  const auto answer = answer_to({5, 0x40});
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->valid && answer->ack);
  EXPECT_EQ(answer->common.eow, refused);
  ours.on_management(frame(false, true, 99));
  EXPECT_FALSE(ours.open());
  ours.on_eow({5, 0x40});
  EXPECT_EQ(ours.eow_for(0), refused);
}

// C.6.4.2(19)-(23), Table C-8
// C.6.4.2(18)-(23)
TEST_F(PeerControlTest, a_request_is_answered_with_the_reason_that_applies) {
  using pdu::DrcReason;
  struct Row {
    pdu::DrcRequest request;
    std::optional<DrcReason> refused;
  };
  ours.advise(kMode, kMode);  // 300 bit/s, short
  const Row rows[] = {
      {{.rate = 2, .interleaver = 1}, {}},
      {{.rate = 2, .interleaver = 2}, {}},  // more robust than advised
      {{.rate = 0, .interleaver = 1}, {}},
      {{.rate = 3, .interleaver = 2}, DrcReason::not_consistent_with_conditions},
      {{.rate = 2, .interleaver = 0}, DrcReason::cannot_change_interleaver},  // taken for short
      {{.rate = 7, .interleaver = 1}, DrcReason::cannot_change_rate},         // 3600 bit/s
      {{.rate = 12, .interleaver = 1}, DrcReason::cannot_change_rate},
      {{.rate = 4, .interleaver = 3}, DrcReason::cannot_change_interleaver},
      {{.rate = 15, .interleaver = 3}, DrcReason::cannot_change_either},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(int{row.request.rate} * 4 + row.request.interleaver);
    const auto answer = answer_to(drc(row.request));
    ASSERT_TRUE(answer);
    EXPECT_TRUE(answer->valid && answer->ack);
    EXPECT_EQ(answer->common.eow, row.refused ? drc(pdu::DrcAnswer::refuse, *row.refused)
                                              : drc(pdu::DrcAnswer::accept));
  }
}

TEST_F(PeerControlTest, without_data_rate_change_or_a_connection_every_request_is_refused) {
  const auto refused = drc(pdu::DrcAnswer::refuse, pdu::DrcReason::cannot_change_either);
  ours.on_connected(false);
  EXPECT_EQ(answer_to(drc({.rate = 2, .interleaver = 1}))->common.eow, refused);
  PeerControl without(kPeer, {.self = kUs, .mode = kMode, .rate_change = false}, counters);
  without.on_connected(true);
  without.on_management(frame(true, false, 0, drc({.rate = 2, .interleaver = 1})));
  const auto dpdus = burst_of([&](auto& budget, auto& burst) { without.fill(budget, burst); });
  EXPECT_EQ(std::get<pdu::Management>(dpdus.at(0)).common.eow, refused);
  EXPECT_FALSE(without.request_mode(kFast).ok());
}

// C.6.4.2(24)-(27), Table C-27
TEST_F(PeerControlTest, a_refusal_is_cancelled_and_what_cannot_change_is_not_asked_for_again) {
  ASSERT_TRUE(ours.request_mode(kFast).ok());
  EXPECT_EQ(transmission()->common.eow, drc({.rate = 5, .interleaver = 2}));  // C.6.4.2(7)
  const auto cancel =
      answer_to(drc(pdu::DrcAnswer::refuse, pdu::DrcReason::cannot_change_rate), {}, true);
  EXPECT_EQ(cancel->common.eow, drc(pdu::DrcAnswer::cancel));
  EXPECT_TRUE(cancel->valid && cancel->ack);
  ours.on_management(frame(false, true, 99));
  EXPECT_FALSE(ours.open());
  EXPECT_EQ(refusals(), std::vector{pdu::DrcReason::cannot_change_rate});
  EXPECT_EQ(ours.mode(), kMode);  // C.6.4.2(30)
  EXPECT_EQ(ours.request_mode(kFast).error().code, ErrorCode::unsupported);
  EXPECT_TRUE(ours.request_mode({.rate_bps = 300, .interleaver = modem::Interleaver::long_}).ok());
}

TEST_F(PeerControlTest, a_peer_that_does_not_know_the_request_stops_the_procedure_at_once) {
  ASSERT_TRUE(ours.request_mode(kFast).ok());
  transmission();
  auto unknown = frame(false, true, 0, pdu::make_unrecognised(1));
  ours.on_management(unknown);
  EXPECT_FALSE(ours.open());
  EXPECT_EQ(refusals(), std::vector{pdu::DrcReason::cannot_change_either});
  EXPECT_EQ(ours.request_mode(kFast).error().code, ErrorCode::refused);
}

// C.5.5(2)-(11)
TEST_F(PeerControlTest, a_mode_that_type_1_cannot_name_is_asked_for_by_type_7) {
  const modem::Mode hdr{modem::Waveform::stanag4539, 9600, modem::Interleaver::very_long};
  ASSERT_TRUE(ours.request_mode(hdr).ok());
  const auto request = transmission();
  EXPECT_EQ(request->common.eow, (pdu::Eow{7, 3 << 3 | 1}));
  EXPECT_EQ(request->extension, (Bytes{0, 0, 0x25, 0x80, 0x03, 0x60}));
  EXPECT_TRUE(request->valid);

  PeerControl theirs(kUs, {.self = kPeer, .mode = kMode}, counters);
  theirs.on_connected(true);
  theirs.on_management(*request);
  const auto dpdus = burst_of([&](auto& budget, auto& burst) { theirs.fill(budget, burst); });
  EXPECT_EQ(std::get<pdu::Management>(dpdus.at(0)).common.eow, drc(pdu::DrcAnswer::accept));
}

// C.5.5(6)(7)
TEST_F(PeerControlTest, a_request_of_type_7_is_refused_for_what_cannot_be_done) {
  const auto reason = [&](pdu::HdrRequest request) {
    Bytes extension;
    const auto eow = pdu::make_hdr_request(request, extension);
    return static_cast<int>(pdu::read_drc_response(answer_to(eow, extension)->common.eow).reason);
  };
  const auto bare = answer_to({7, 0x19});  // without its extension
  EXPECT_EQ(bare->common.eow, (pdu::Eow{3, 7}));
  const pdu::HdrRequest good{.waveform = 3, .channels = 1, .rate_bps = 9600, .interleaver_cs = 432};
  auto changed = good;
  changed.waveform = 9;
  EXPECT_EQ(reason(changed), 2);
  changed = good;
  changed.channels = 2;
  EXPECT_EQ(reason(changed), 3);
  changed = good;
  changed.interleaver_cs = 431;
  EXPECT_EQ(reason(changed), 4);
  EXPECT_EQ(reason(good), 0);
}

// Goal:   no peer is left in a waveform that this station does not receive.
TEST_F(PeerControlTest, a_request_of_type_7_for_a_waveform_not_listened_to_is_refused) {
  const modem::Mode unheard{modem::Waveform::stanag4285, 2400, modem::Interleaver::long_};
  ASSERT_TRUE(modem::is_supported(unheard));
  Bytes extension;
  const auto eow = pdu::make_hdr_request(hdr_request(unheard), extension);
  const auto answer = pdu::read_drc_response(answer_to(eow, extension)->common.eow);
  EXPECT_EQ(answer.answer, pdu::DrcAnswer::refuse);
  EXPECT_EQ(static_cast<int>(answer.reason), 2);
}

TEST(DataRate, each_mode_is_named_on_the_air_so_that_its_like_understands_it) {
  std::size_t by_type_1 = 0;
  for (const modem::Mode& mode : modem::all_modes()) {
    SCOPED_TRACE(modem::to_string(mode));
    EXPECT_EQ(mode_of(hdr_request(mode), mode.waveform), mode);
    const auto request = drc_request(mode);
    if (!request) continue;
    ++by_type_1;
    EXPECT_EQ(mode_of(*request, mode.waveform), mode);
    const auto elsewhere = mode_of(*request, modem::Waveform::stanag4285);
    EXPECT_EQ(elsewhere.value_or(modem::Mode{.waveform = modem::Waveform::stanag4285}).waveform,
              modem::Waveform::stanag4285);
  }
  EXPECT_GE(by_type_1, 30u);
}

TEST_F(PeerControlTest, of_two_requests_that_cross_that_of_the_higher_address_stands) {
  PeerControl theirs(kUs, {.self = kPeer, .mode = kMode}, counters);
  theirs.on_connected(true);
  ASSERT_TRUE(ours.request_mode(kFast).ok());
  ASSERT_TRUE(theirs.request_mode({.rate_bps = 75, .interleaver = modem::Interleaver::long_}).ok());
  const auto send = [](PeerControl& from, PeerControl& to) {
    for (auto& dpdu : burst_of([&](auto&budget, auto&burst) { from.fill(budget, burst); })) {
      to.on_management(std::get<pdu::Management>(dpdu));
    }
    from.on_transmitted(true);
  };
  burst_of([&](auto& budget, auto& burst) { theirs.fill(budget, burst); });
  theirs.on_transmitted(true);
  send(ours, theirs);  // the peer's message was lost during this
  for (int i = 0; i < 10 && (ours.open() || theirs.open()); ++i) {
    send(theirs, ours);
    send(ours, theirs);
  }
  EXPECT_EQ(ours.mode(), kFast);
  EXPECT_EQ(theirs.mode(), kMode);
  EXPECT_FALSE(ours.open() || theirs.open());
}

// C.6.4.2(9)-(11)
TEST_F(PeerControlTest, a_request_is_repeated_three_times_and_then_the_link_is_lost) {
  ASSERT_TRUE(ours.request_mode(kFast).ok());
  const auto first = transmission();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ours.on_reply_missing(), PeerControl::Missed::again);
    EXPECT_EQ(transmission(), first);
  }
  EXPECT_EQ(ours.on_reply_missing(), PeerControl::Missed::link_lost);
  EXPECT_FALSE(ours.open());
}

TEST_F(PeerControlTest, a_peer_that_acknowledges_a_request_and_says_no_more_is_not_lost) {
  ASSERT_TRUE(ours.request_mode(kFast).ok());
  for (std::uint8_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(transmission());
    EXPECT_FALSE(ours.on_management(frame(false, true, i)));
    const auto missed = ours.on_reply_missing();
    EXPECT_EQ(missed, i < 3 ? PeerControl::Missed::again : PeerControl::Missed::given_up);
  }
  EXPECT_EQ(refusals(), std::vector{pdu::DrcReason::cannot_change_either});
}

// C.5.2, C.5.3: type 2 answers a request, or type 3 that names it.
TEST_F(PeerControlTest, what_acknowledges_a_request_and_is_no_answer_leaves_it_open) {
  const pdu::Eow no_answers[] = {{},
                                 pdu::make_capability(0x80),
                                 pdu::make_unrecognised(9),
                                 {6, 0x26},
                                 drc({.rate = 3, .interleaver = 1, .advisory = true}),
                                 {5, 0x40},
                                 {7, 0x19}};
  for (const auto& eow : no_answers) {
    SCOPED_TRACE(int{eow.type});
    ours.on_connected(true);
    ASSERT_TRUE(ours.request_mode(kFast).ok());
    const auto request = transmission();
    const auto repeated = answer_to(eow, {}, true);
    ours.make_due();
    ASSERT_TRUE(repeated);
    EXPECT_EQ(transmission()->common.eow, request->common.eow);
    EXPECT_TRUE(answer_to(drc(pdu::DrcAnswer::accept), {}, true));
    EXPECT_EQ(ours.mode(), kFast);
    answer_to(drc(pdu::DrcAnswer::confirm));
    if (eow.type == 5) ours.make_due();
    EXPECT_EQ(ours.open(), eow.type == 5);
  }
}

// Goal:   a refusal of another kind does not replace a step of a change.
TEST_F(PeerControlTest, a_change_of_frequency_is_refused_after_what_is_under_way) {
  ASSERT_TRUE(ours.request_mode(kFast).ok());
  const auto request = transmission();
  EXPECT_EQ(answer_to({5, 0x40})->common.eow, request->common.eow);
  EXPECT_EQ(answer_to(drc(pdu::DrcAnswer::refuse), {}, true)->common.eow,
            drc(pdu::DrcAnswer::cancel));
  ours.on_management(frame(false, true, 99));
  const auto refusal = transmission();
  ASSERT_TRUE(refusal && refusal->valid);
  EXPECT_EQ(refusal->common.eow.type, 6);
  ours.on_management(frame(false, true, 99));
  EXPECT_FALSE(ours.open());
}

// Table C-27
TEST_F(PeerControlTest, an_answer_that_is_neither_yes_nor_no_is_taken_for_a_no) {
  using pdu::DrcAnswer;
  for (const auto said : {DrcAnswer::cancel, DrcAnswer::confirm, DrcAnswer{4}, DrcAnswer{7}}) {
    SCOPED_TRACE(static_cast<int>(said));
    ASSERT_TRUE(ours.request_mode(kFast).ok());  // a refusal of that kind fixes nothing
    transmission();
    EXPECT_EQ(answer_to(drc(said, pdu::DrcReason::cannot_change_rate), {}, true)->common.eow,
              drc(DrcAnswer::cancel));
    ours.on_management(frame(false, true, 99));
    EXPECT_FALSE(ours.open());
    EXPECT_EQ(ours.mode(), kMode);
    EXPECT_EQ(refusals(), std::vector{pdu::DrcReason::cannot_change_either});
  }
}

// Goal:   any message that acknowledges a step of the slave ends that step.
TEST_F(PeerControlTest, a_step_of_the_slave_ends_with_any_message_that_acknowledges_it) {
  const pdu::Eow others[] = {pdu::make_capability(0x80),
                             drc({.rate = 3, .interleaver = 1, .advisory = true}),
                             {7, 0x19},  // without its extension
                             drc(pdu::DrcAnswer::accept)};
  for (const auto& eow : others) {
    SCOPED_TRACE(int{eow.type});
    ours.on_connected(true);
    EXPECT_EQ(answer_to(drc({.rate = 2, .interleaver = 1}))->common.eow,
              drc(pdu::DrcAnswer::accept));
    EXPECT_EQ(answer_to(eow, {}, true)->common.eow, drc(pdu::DrcAnswer::confirm));
    EXPECT_FALSE(answer_to(eow, {}, true)->valid);
    EXPECT_FALSE(ours.open());
  }
}

TEST_F(PeerControlTest, a_change_that_is_broken_off_before_it_is_confirmed_is_undone) {
  ASSERT_TRUE(ours.request_mode(kFast).ok());
  transmission();
  EXPECT_TRUE(answer_to(drc(pdu::DrcAnswer::accept)));
  EXPECT_EQ(ours.mode(), kFast);
  ours.make_due();
  EXPECT_TRUE(transmission());  // a repetition is not a second change
  ours.on_warning();
  EXPECT_EQ(ours.mode(), kMode);
  EXPECT_FALSE(ours.open());
}

}  // namespace
}  // namespace s5066::dts
