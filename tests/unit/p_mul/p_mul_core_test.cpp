// SPDX-License-Identifier: Apache-2.0
// These tests run the machines of P_MUL PDU by PDU. Tags: checklist items PM-020 to PM-058.
#include "tests/unit/p_mul/p_mul_station.h"

namespace s5066::p_mul {
namespace {

// PM-030, PM-033, PM-034, PM-035
TEST(PMulCore, sends_again_what_is_missing_to_those_who_miss_it) {
  Station alpha(kSender);
  ASSERT_TRUE(alpha.submit(7, {{2}, {3}, {4}}, 1000).ok());
  auto round = alpha.pdus();
  EXPECT_EQ(numbers(round), (std::vector<std::uint16_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(only<AddressPdu>(round).front().destinations.size(), 3u);
  EXPECT_FALSE(only<AddressPdu>({round.at(0)}).empty());  // before the blocks
  alpha.now = at(5s);
  alpha.hear(ack_of({2}, 7, {}));
  alpha.hear(ack_of({3}, 7, {{2, 2}, {5, 6}}));
  EXPECT_TRUE(alpha.pdus().empty());  // the third has not answered yet
  alpha.hear(ack_of({4}, 7, {{6, 6}}));
  round = alpha.pdus();
  EXPECT_EQ(numbers(round), (std::vector<std::uint16_t>{2, 5, 6}));
  EXPECT_FALSE(only<AddressPdu>({round.at(0)}).empty());
  const auto addresses = only<AddressPdu>(round);
  EXPECT_EQ(addresses.front().total, 10u);
  EXPECT_EQ(addresses.front().destinations, (std::vector<Destination>{{{3}, 1}, {{4}, 1}}));
  alpha.hear(ack_of({3}, 7, {}));
  alpha.hear(ack_of({4}, 7, {}));
  round = alpha.pdus();
  ASSERT_EQ(round.size(), 1u);
  EXPECT_TRUE(only<AddressPdu>(round).at(0).destinations.empty());
  ASSERT_EQ(alpha.ended.size(), 3u);
  for (const auto& ended : alpha.ended) EXPECT_EQ(ended.outcome, Outcome::delivered);
  EXPECT_EQ(alpha.core->sender().messages(), 0u);
  EXPECT_EQ(alpha.core->sender().content_octets(), 0u);
}

// ARQ is used if one destination is left and has lost a tenth of the blocks or more.
TEST(PMulCore, the_last_lossy_destination_is_sent_its_blocks_reliably) {
  const auto repair = [](std::vector<BlockRange> missing) {
    Station alpha(kSender);
    EXPECT_TRUE(alpha.submit(7, {{2}, {3}}, 2000).ok());
    alpha.pdus();
    alpha.now = at(5s);
    alpha.hear(ack_of({2}, 7, {}));
    alpha.hear(ack_of({3}, 7, std::move(missing)));
    return *alpha.core->poll_pdu(alpha.now);
  };
  const OutgoingPdu lossy = repair({{4, 5}});
  EXPECT_TRUE(lossy.reliable);
  EXPECT_EQ(lossy.target, Target{NodeId{3}});
  const OutgoingPdu good = repair({{4, 4}});
  EXPECT_FALSE(good.reliable);
  EXPECT_EQ(good.target, Target{GroupId{1}});
}

TEST(PMulCore, an_acknowledgement_from_a_station_not_addressed_changes_nothing) {
  Station alpha(kSender);
  ASSERT_TRUE(alpha.submit(7, {{2}, {3}}, 1000).ok());
  alpha.pdus();
  alpha.hear(ack_of({4}, 7, {}));
  alpha.hear(ack_of({2}, 7, {{11, 11}}));  // a block that does not exist
  EXPECT_EQ(alpha.core->sender().counters()[PMulSenderCounter::acks_not_addressed], 1u);
  EXPECT_EQ(alpha.core->sender().counters()[PMulSenderCounter::acks_nonsense], 1u);
  EXPECT_TRUE(alpha.ended.empty());
  EXPECT_TRUE(alpha.pdus().empty());
}

// PM-032
TEST(PMulCore, who_does_not_answer_is_asked_and_not_sent_everything_again) {
  Station alpha(kSender);
  ASSERT_TRUE(alpha.submit(7, {{2}}, 1000).ok());
  alpha.pdus();
  const Instant first = *alpha.core->next_deadline();
  alpha.advance(first);
  auto round = alpha.pdus();
  ASSERT_EQ(round.size(), 1u);
  EXPECT_TRUE(only<AddressPdu>(round).at(0).extra);
  const Instant second = *alpha.core->next_deadline();
  EXPECT_GT(second - first, first - Instant{});  // it waits longer each time
  alpha.advance(second);
  EXPECT_EQ(numbers(alpha.pdus()), (std::vector<std::uint16_t>{10}));
}

// PM-024
TEST(PMulCore, an_urgent_message_goes_between_the_blocks_of_another) {
  Station alpha(kSender);
  ASSERT_TRUE(alpha.submit(7, {{2}}, 1000, 8).ok());
  alpha.pdus(4);
  ASSERT_TRUE(alpha.submit(8, {{3}}, 100, 2).ok());
  const auto next = alpha.pdus();
  const auto data = only<DataPdu>(next);
  EXPECT_EQ(data.at(0).name.message_id, 8u);
  EXPECT_EQ(data.at(1).name.message_id, 7u);
  EXPECT_EQ(data.at(1).number, 4u);
  EXPECT_EQ(alpha.core->sender().counters()[PMulSenderCounter::pre_emptions], 1u);
}

// PM-036
TEST(PMulCore, an_expired_message_is_withdrawn_and_reported) {
  Station alpha(kSender);
  Station bravo({2});
  ASSERT_TRUE(alpha.submit(7, {{2}}, 1000).ok());
  bravo.hear(alpha.pdus(3).at(0));
  EXPECT_EQ(bravo.core->receiver().messages(), 1u);
  alpha.advance(at(86400s - 1ns));
  EXPECT_TRUE(alpha.ended.empty());
  alpha.advance(at(86400s));
  ASSERT_EQ(alpha.ended.size(), 1u);
  EXPECT_EQ(alpha.ended[0].outcome, Outcome::expired);
  const auto discards = alpha.pdus();
  EXPECT_EQ(only<DiscardPdu>(discards).size(), 2u);
  EXPECT_EQ(discards.size(), 2u);
  bravo.hear(discards[0]);
  EXPECT_EQ(bravo.core->receiver().messages(), 0u);
  EXPECT_EQ(bravo.core->receiver().octets(), 0u);
}

TEST(PMulCore, a_cancelled_message_is_withdrawn) {
  Station alpha(kSender);
  ASSERT_TRUE(alpha.submit(7, {{2}}, 1000).ok());
  alpha.pdus(3);
  ASSERT_TRUE(alpha.core->request_cancel(alpha.now, {7}).ok());
  alpha.collect();
  EXPECT_EQ(alpha.ended.at(0).outcome, Outcome::cancelled);
  EXPECT_EQ(only<DiscardPdu>(alpha.pdus()).size(), 2u);
  EXPECT_FALSE(alpha.core->request_cancel(alpha.now, {7}).ok());
}

// A receiver that has the message reports so again, whatever it was told about the end.
TEST(PMulCore, a_message_that_was_cancelled_comes_back_under_its_number_and_is_delivered_once) {
  for (const bool said : {false, true}) {
    Station alpha(kSender);
    Station bravo({2});
    ASSERT_TRUE(alpha.submit(7, {{2}}, 250).ok());
    for (const Bytes& pdu : alpha.pdus()) bravo.hear(pdu);
    bravo.advance(at(20s));
    bravo.pdus();  // the acknowledgement is lost
    alpha.now = at(20s);
    ASSERT_TRUE(alpha.core->request_cancel(alpha.now, {7}).ok());
    alpha.collect();
    if (said) {
      const auto goodbye = alpha.pdus();
      EXPECT_EQ(only<DiscardPdu>(goodbye).size(), 2u);
      for (const Bytes& pdu : goodbye) bravo.hear(pdu);
    }
    ASSERT_TRUE(alpha.submit(7, {{2}}, 250).ok());
    EXPECT_EQ(alpha.core->sender().content_octets(), 250u);
    const auto asked = alpha.pdus();
    EXPECT_TRUE(only<DiscardPdu>(asked).empty());
    for (const Bytes& pdu : asked) bravo.hear(pdu);
    bravo.advance(at(60s));
    for (const Bytes& pdu : bravo.pdus()) alpha.hear(pdu);
    EXPECT_EQ(alpha.ended.at(1).outcome, Outcome::delivered);
    EXPECT_EQ(bravo.received.size(), 1u);
  }
}

// PM-057: nothing is acknowledged that is not safe.
TEST(PMulCore, nothing_is_acknowledged_before_it_is_committed) {
  Station alpha(kSender);
  Station bravo({2});
  ASSERT_TRUE(alpha.submit(7, {{2}}, 250).ok());
  for (const Bytes& pdu : alpha.pdus()) bravo.hear(pdu, false);
  ASSERT_EQ(bravo.received.size(), 1u);
  EXPECT_EQ(bravo.received[0].content, Bytes(250, 7));
  bravo.advance(at(10min), false);
  EXPECT_TRUE(bravo.pdus().empty());
  bravo.core->on_not_committed(bravo.now, bravo.received[0].name);
  bravo.advance(at(11min), false);
  ASSERT_EQ(bravo.received.size(), 2u);  // offered again
  EXPECT_TRUE(bravo.pdus().empty());
  bravo.core->on_committed(bravo.now, bravo.received[0].name);
  bravo.advance(at(12min));
  const auto acks = only<AckPdu>(bravo.pdus());
  ASSERT_EQ(acks.size(), 1u);
  EXPECT_TRUE(acks[0].entries.at(0).missing.empty());
}

// PM-035, PM-050, PM-057
TEST(PMulCore, what_is_known_is_acknowledged_again_and_not_delivered_again) {
  Station alpha(kSender);
  Station bravo({2});
  // The sender then gives it more time.
  bravo.core->on_known(bravo.now, {kSender, 7}, {kUtc.value + 3600});
  ASSERT_TRUE(alpha.submit(7, {{2}}, 250).ok());
  for (const Bytes& pdu : alpha.pdus()) bravo.hear(pdu);
  bravo.advance(at(10s));
  EXPECT_TRUE(bravo.received.empty());
  const auto acks = bravo.pdus();
  ASSERT_EQ(acks.size(), 1u);
  alpha.hear(acks[0]);
  EXPECT_EQ(alpha.ended.at(0).outcome, Outcome::delivered);
  // The transmitter leaves us out of its list, so no further answer is due.
  for (const Bytes& pdu : alpha.pdus()) bravo.hear(pdu);
  bravo.advance(at(10h));
  EXPECT_TRUE(bravo.pdus().empty() && bravo.core->receiver().known() == 1);
}

TEST(PMulCore, of_more_than_can_be_remembered_those_that_end_first_are_forgotten) {
  Station bravo({2}, [](PMulCore::Config& config) { config.receiver.known_max = 3; });
  const auto know = [&](std::uint32_t id, std::int64_t seconds) {
    bravo.core->on_known(bravo.now, {kSender, id}, {kUtc.value + seconds});
  };
  const auto is_known = [&](std::uint32_t id) {
    const auto before = bravo.core->receiver().counters()[PMulReceiverCounter::repeated];
    Station alpha(kSender);
    EXPECT_TRUE(alpha.submit(id, {{2}}, 50).ok());
    for (const Bytes& pdu : alpha.pdus()) bravo.hear(pdu);
    EXPECT_LE(bravo.core->receiver().known(), 3u);
    return bravo.core->receiver().counters()[PMulReceiverCounter::repeated] > before;
  };
  know(1, 100);
  know(2, 200);
  know(3, 300);
  know(1, 50);               // a repeat is not counted, and its new end applies
  EXPECT_TRUE(is_known(2));  // it is now known for a day
  know(4, 400);
  know(5, 500);
  EXPECT_TRUE(is_known(2) && is_known(4) && is_known(5));
  bravo.advance(at(50h));
  EXPECT_EQ(bravo.core->receiver().known(), 0u);
}

// At the start of a program the air may be faster than the spool.
TEST(PMulCore, what_turns_out_to_be_known_after_a_part_has_come_is_not_asked_for) {
  Station alpha(kSender);
  Station bravo({2});
  ASSERT_TRUE(alpha.submit(7, {{2}}, 250).ok());
  auto round = alpha.pdus();
  bravo.hear(round.at(0));
  bravo.hear(round.at(1));
  bravo.core->on_known(bravo.now, {kSender, 7}, {kUtc.value + 86400});
  EXPECT_EQ(bravo.core->receiver().octets(), 0u);
  alpha.advance(at(10min));
  for (const Bytes& pdu : alpha.pdus()) bravo.hear(pdu);
  bravo.advance(at(11min));
  const auto acks = bravo.pdus();
  ASSERT_EQ(acks.size(), 1u);
  alpha.hear(acks[0]);
  ASSERT_EQ(alpha.ended.size(), 1u);
  EXPECT_EQ(alpha.ended[0].outcome, Outcome::delivered);
  EXPECT_TRUE(bravo.received.empty());
}

// PM-087: the estimate may be many times too late as long as no rate has been measured.
TEST(PMulCore, who_has_the_last_block_shows_that_the_round_has_left) {
  Station alpha(kSender);
  ASSERT_TRUE(alpha.submit(7, {{2}}, 300).ok());
  EXPECT_EQ(numbers(alpha.pdus()), (std::vector<std::uint16_t>{1, 2, 3}));
  alpha.core->on_clear_at(alpha.now, 6, at(10min));
  alpha.now = at(5s);
  alpha.hear(ack_of({2}, 7, {{2, 2}}));
  EXPECT_EQ(numbers(alpha.pdus()), (std::vector<std::uint16_t>{2}));
  alpha.core->on_clear_at(alpha.now, 6, at(20min));
  // The next list has no answer to that round in it, so it may be an old one.
  alpha.now = at(10s);
  alpha.hear(ack_of({2}, 7, {{2, 2}}));
  EXPECT_TRUE(alpha.pdus().empty());
  // If nothing else comes, the list counts after all, because a node is not asked for a known
  // answer.
  alpha.advance(at(30min));
  EXPECT_EQ(numbers(alpha.pdus()), (std::vector<std::uint16_t>{2}));
}

// PM-087
TEST(PMulCore, traffic_of_others_puts_off_a_question_only_once) {
  Station alpha(kSender);
  ASSERT_TRUE(alpha.submit(7, {{2}}, 300).ok());
  alpha.pdus();
  alpha.core->on_clear_at(alpha.now, 6, alpha.now);
  std::size_t questions = 0;
  for (std::uint64_t key = 8; key < 70; ++key) {
    alpha.advance(alpha.now + 10s);
    ASSERT_TRUE(alpha.submit(key, {{3}}, 300).ok());
    for (const AddressPdu& address : only<AddressPdu>(alpha.pdus())) {
      questions += address.name.message_id == 7;
    }
    alpha.core->on_clear_at(alpha.now, 6, alpha.now + 60s);
    alpha.hear(ack_of({3}, static_cast<std::uint32_t>(key), {}));
  }
  EXPECT_GE(questions, 2u);
}

// PM-024, PM-087
TEST(PMulCore, traffic_of_lower_precedence_puts_off_no_question) {
  constexpr std::uint8_t kFlash = 2, kRoutine = 8;
  Station alpha(kSender);
  ASSERT_TRUE(alpha.submit(7, {{2}}, 100, kFlash).ok());
  alpha.pdus();
  alpha.core->on_clear_at(alpha.now, kFlash, alpha.now);
  std::vector<Instant> questions;
  for (std::uint64_t key = 8; alpha.now < at(150s); ++key) {
    alpha.advance(alpha.now + 1s);
    ASSERT_TRUE(alpha.submit(key, {{3}}, 100, kRoutine).ok());
    while (const auto pdu = alpha.core->poll_pdu(alpha.now)) {
      const bool flash = pdu->priority == kFlash;
      if (flash) questions.push_back(alpha.now);
      alpha.core->on_clear_at(alpha.now, pdu->priority, alpha.now + (flash ? 1s : 60s));
    }
    alpha.hear(ack_of({3}, static_cast<std::uint32_t>(key), {}));
  }
  // 30 s of waiting and a slot of 8 s come first, and then one and a half times that wait.
  ASSERT_GE(questions.size(), 2u);
  EXPECT_EQ(questions.at(0), at(38s));
  EXPECT_EQ(questions.at(1), at(92s));
}

// PM-024, PM-087
TEST(PMulCore, traffic_of_higher_precedence_puts_off_a_question) {
  Station alpha(kSender);
  ASSERT_TRUE(alpha.submit(7, {{2}}, 100, 8).ok());
  alpha.pdus();
  alpha.core->on_clear_at(alpha.now, 8, alpha.now);
  alpha.advance(at(37s));
  ASSERT_TRUE(alpha.submit(8, {{3}}, 100, 2).ok());
  alpha.pdus();
  alpha.core->on_clear_at(alpha.now, 2, at(97s));
  alpha.hear(ack_of({3}, 8, {}));
  alpha.pdus();
  alpha.advance(at(38s));
  alpha.advance(at(134s));
  EXPECT_TRUE(only<AddressPdu>(alpha.pdus()).empty());
  alpha.advance(at(135s));
  EXPECT_EQ(only<AddressPdu>(alpha.pdus()).at(0).name.message_id, 7u);
}

// PM-053
TEST(PMulCore, receivers_answer_in_the_order_of_the_list) {
  Station alpha(kSender);
  std::vector<NodeId> to;
  for (std::uint32_t i = 2; i <= 9; ++i) to.push_back({i});
  ASSERT_TRUE(alpha.submit(7, to, 1000).ok());
  auto round = alpha.pdus();
  std::vector<Instant> due;
  for (const NodeId node : to) {
    Station receiver(node);
    for (std::size_t i = 0; i < round.size(); ++i) {
      if (i != 3) receiver.hear(round[i]);  // all miss the same block
    }
    due.push_back(*receiver.core->next_deadline());
  }
  for (std::size_t i = 1; i < due.size(); ++i) EXPECT_GE(due[i] - due[i - 1], 6s);
}

// A message of so few blocks has no marked end, but its receiver needs no pause to see that it is
// complete.
TEST(PMulCore, the_only_receiver_of_a_small_message_answers_at_once) {
  for (const std::size_t octets : {50u, 200u, 300u}) {
    SCOPED_TRACE(octets);
    Station alpha(kSender), bravo({2}), charlie({3});
    ASSERT_TRUE(alpha.submit(7, {{2}}, octets).ok());
    ASSERT_TRUE(alpha.submit(8, {{2}, {3}}, octets).ok());
    const auto pdus = alpha.pdus();
    bravo.now = charlie.now = at(5s);
    for (const Bytes& pdu : pdus) {
      bravo.hear(pdu);
      charlie.hear(pdu);
    }
    bravo.advance(at(5s));
    charlie.advance(at(5s));
    const auto acks = only<AckPdu>(bravo.pdus());
    ASSERT_EQ(acks.size(), octets <= 200 ? 1u : 0u);
    if (!acks.empty()) {
      ASSERT_EQ(acks[0].entries.size(), 1u);
      EXPECT_EQ(acks[0].entries[0].name.message_id, 7u);
    }
    EXPECT_TRUE(charlie.pdus().empty());
  }
}

// A block takes 215 s at 75 bit/s. No receiver may interrupt between two of them.
TEST(PMulCore, slow_blocks_draw_no_list_in_mid_round) {
  Station alpha(kSender), bravo({2});
  ASSERT_TRUE(alpha.submit(7, {{2}}, 1000).ok());
  for (const Bytes& pdu : alpha.pdus()) {
    const auto blocks = only<DataPdu>({pdu});
    for (int i = 0; !blocks.empty() && i < 43; ++i) bravo.advance(bravo.now + 5s);
    // The time of a block is not known before the first block.
    EXPECT_TRUE(bravo.pdus().empty() || blocks.empty() || blocks[0].number == 1);
    bravo.hear(pdu);
    bravo.pdus();
    if (!blocks.empty() && blocks[0].number == 10) break;
  }
  bravo.advance(bravo.now + 325s);
  EXPECT_EQ(only<AckPdu>(bravo.pdus()).size(), 1u);
}

TEST(PMulCore, parity_ahead_makes_up_for_losses_where_nobody_can_ask) {
  Station alpha(kSender, [](auto& config) {
    config.sender.coded = true;
    config.sender.parity_ahead = 0.3;
  });
  Station bravo({2});
  bravo.core->on_own_silence(bravo.now, true);
  ASSERT_TRUE(alpha.submit(7, {{2}, {3}}, 1950, 6, false).ok());
  const auto round = alpha.pdus();
  EXPECT_EQ(only<ParityPdu>(round).size(), 6u);
  for (std::size_t i = 0; i < round.size(); ++i) {
    if (i < 15 || i > 20) bravo.hear(round[i]);  // six blocks are lost, the last one among them
  }
  ASSERT_EQ(bravo.received.size(), 1u);
  EXPECT_EQ(bravo.received[0].content, Bytes(1950, 7));
  EXPECT_EQ(bravo.core->receiver().counters()[PMulReceiverCounter::recovered], 6u);
}

// A receiver that knows neither parity nor Extra_Address_PDUs still gets the message.
TEST(PMulCore, an_ordinary_receiver_ignores_the_extensions_and_gets_its_blocks) {
  Station alpha(kSender, [](auto& config) { config.sender.coded = true; });
  Station bravo({2});
  ASSERT_TRUE(alpha.submit(7, {{2}, {3}}, 1000).ok());
  Rng rng(5);
  for (int minute = 0; minute < 600 && bravo.received.empty(); ++minute) {
    for (const Bytes& pdu : alpha.pdus()) {
      const auto type = static_cast<PduType>(pdu[3] & 0x3F);
      if (type == PduType::parity || type == PduType::extra_address || rng.chance(0.3)) continue;
      bravo.hear(pdu);
    }
    alpha.advance(at(minute * 1min + 30s));
    bravo.advance(at(minute * 1min + 30s));
    for (const Bytes& pdu : bravo.pdus()) alpha.hear(pdu);
    alpha.hear(ack_of({3}, 7, {{1, 1}}));
  }
  EXPECT_EQ(bravo.received.size(), 1u);
}

// PM-003, PM-031, PM-006: the list has 600 destinations in several parts, and ours is in the last.
TEST(PMulCore, a_divided_list_of_destinations_reaches_the_last_of_them) {
  const auto big_group = [](auto& config) {
    Group group{.id = {1}, .members = {}};
    for (std::uint32_t i = 1; i <= 601; ++i) group.members.push_back({i});
    config.sender.groups = {group};
  };
  Station alpha(kSender, big_group);
  Station last({601});
  Station outsider({700});
  std::vector<NodeId> to;
  for (std::uint32_t i = 601; i >= 2; --i) to.push_back({i});
  ASSERT_TRUE(alpha.submit(7, to, 250).ok());
  const auto round = alpha.pdus();
  const auto parts = only<AddressPdu>(round);
  EXPECT_EQ(parts.at(0).part, ListPart::first);
  EXPECT_EQ(parts.at(1).part, ListPart::middle);
  EXPECT_EQ(parts.at(2).part, ListPart::last);
  std::uint32_t next = 2;
  for (std::size_t i = 0; i < 3; ++i) {
    for (const Destination& one : parts[i].destinations) EXPECT_EQ(one.node.value, next++);
  }
  EXPECT_EQ(next, 602u);
  for (const Bytes& pdu : round) {
    last.hear(pdu);
    outsider.hear(pdu);
  }
  EXPECT_EQ(last.received.size(), 1u);
  EXPECT_TRUE(outsider.received.empty());
  EXPECT_EQ(outsider.core->receiver().octets(), 0u);
}

// PM-050, PM-051
TEST(PMulCore, blocks_before_their_address_are_kept_for_a_while) {
  Station alpha(kSender);
  Station bravo({2}), charlie({3});
  ASSERT_TRUE(alpha.submit(7, {{2}}, 150).ok());
  auto round = alpha.pdus();
  for (std::size_t i = 1; i < round.size(); ++i) bravo.hear(round[i]);
  for (std::size_t i = 1; i < round.size(); ++i) charlie.hear(round[i]);
  EXPECT_TRUE(bravo.received.empty());
  bravo.advance(at(30min - 1ns));
  bravo.hear(round[0]);
  EXPECT_EQ(bravo.received.size(), 1u);
  charlie.advance(at(30min));
  EXPECT_EQ(charlie.core->receiver().messages(), 0u);
  EXPECT_EQ(charlie.core->receiver().octets(), 0u);
}

TEST(PMulCore, memory_is_bounded_whatever_is_announced) {
  Station bravo({2}, [](auto& config) {
    config.receiver.octets_max = 100'000;
    config.receiver.message_octets_max = 20'000;
    config.receiver.messages_max = 10;
  });
  Rng rng(1);
  for (int i = 0; i < 20'000; ++i) {
    const MessageName name{{100 + rng.below(50)}, rng.below(50)};
    Pdu pdu = DataPdu{.name = name,
                      .number = static_cast<std::uint16_t>(1 + rng.below(65535)),
                      .fragment = Bytes(rng.below(200))};
    if (rng.chance(0.2)) {
      pdu = AddressPdu{
          .name = name, .total = 65535, .expiry = {kUtc.value + 3600}, .destinations = {{{2}, 1}}};
    } else if (rng.chance(0.2)) {
      pdu = ParityPdu{.name = name,
                      .number = static_cast<std::uint16_t>(rng.below(65536)),
                      .total = static_cast<std::uint16_t>(1 + rng.below(65535)),
                      .parity = Bytes(1 + rng.below(200))};
    }
    bravo.hear(encode(pdu));
    ASSERT_LE(bravo.core->receiver().octets(), 100'000u);
    ASSERT_LE(bravo.core->receiver().messages(), 10u);
  }
  EXPECT_GT(bravo.core->receiver().counters()[PMulReceiverCounter::crowded_out], 0u);
}

// PM-050, PM-051
TEST(PMulCore, another_block_under_a_known_number_changes_nothing) {
  Station alpha(kSender);
  Station bravo({2});
  ASSERT_TRUE(alpha.submit(7, {{2}}, 250).ok());
  auto round = alpha.pdus();
  bravo.hear(round[0]);
  bravo.hear(round[1]);
  bravo.hear(encode(DataPdu{.name = {kSender, 7}, .number = 1, .fragment = Bytes(100, 0xEE)}));
  bravo.hear(encode(DataPdu{.name = {kSender, 7}, .number = 4, .fragment = Bytes(1)}));
  bravo.hear(encode(AddressPdu{
      .name = {kSender, 7}, .total = 1, .expiry = {kUtc.value + 60}, .destinations = {{{2}, 1}}}));
  EXPECT_EQ(bravo.core->receiver().counters()[PMulReceiverCounter::contradictions], 1u);
  EXPECT_EQ(bravo.core->receiver().counters()[PMulReceiverCounter::bad_number], 1u);
  EXPECT_EQ(bravo.core->receiver().counters()[PMulReceiverCounter::changed_total], 1u);
  for (const Bytes& pdu : round) bravo.hear(pdu);
  EXPECT_EQ(bravo.received.at(0).content, Bytes(250, 7));
}

TEST(PMulCore, who_acknowledges_what_is_over_is_told_so_once_in_a_while) {
  Station alpha(kSender);
  alpha.hear(ack_of({2}, 99, {}));
  EXPECT_TRUE(alpha.pdus().empty());  // we may have been restarted just now
  alpha.now = at(3min);
  alpha.hear(ack_of({2}, 99, {}));
  alpha.hear(ack_of({2}, 99, {{1, 1}}));
  EXPECT_EQ(only<DiscardPdu>(alpha.pdus()).size(), 1u);
  EXPECT_EQ(alpha.core->sender().counters()[PMulSenderCounter::acks_unknown], 3u);
}

TEST(PMulCore, a_submission_is_refused_at_its_limits) {
  Station alpha(kSender, [](auto& config) {
    config.sender.messages_max = 2;
    config.sender.content_octets_max = 7'000'000;
  });
  EXPECT_FALSE(alpha.submit(1, {}, 10).ok());
  EXPECT_FALSE(alpha.submit(1, {kSender}, 10).ok());
  EXPECT_FALSE(alpha.submit(1, {{2}, {2}}, 10).ok());
  EXPECT_FALSE(alpha.submit(1, {{2}, {99}}, 10).ok());  // no group has both
  EXPECT_EQ(alpha.submit(1, {{2}}, 6'553'501).error().code, ErrorCode::too_large);
  EXPECT_TRUE(alpha.submit(1, {{2}}, 6'553'500).ok());
  EXPECT_EQ(alpha.submit(2, {{2}}, 446'501).error().code, ErrorCode::queue_full);
  EXPECT_EQ(alpha.submit(1, {{2}}, 10).error().code, ErrorCode::already_exists);
  EXPECT_TRUE(alpha.submit(2, {{2}}, 0).ok());
  EXPECT_EQ(alpha.submit(3, {{2}}, 10).error().code, ErrorCode::queue_full);
}

// PM-114
TEST(PMulCore, a_source_that_is_not_believed_is_counted_only) {
  Station alpha(kSender);
  Station bravo({2}, [](auto& config) { config.sources = {{9}}; });
  ASSERT_TRUE(alpha.submit(7, {{2}}, 250).ok());
  for (const Bytes& pdu : alpha.pdus()) bravo.hear(pdu);
  EXPECT_TRUE(bravo.received.empty());
  EXPECT_EQ(bravo.core->receiver().messages(), 0u);
  EXPECT_GT(bravo.core->counters()[PMulCounter::source_refused], 0u);
}

}  // namespace
}  // namespace s5066::p_mul
