// SPDX-License-Identifier: Apache-2.0
// These tests check what counts as an answer, and the report about a node that gave none.
#include "tests/unit/p_mul/p_mul_station.h"

namespace s5066::p_mul {
namespace {

constexpr NodeId kBravo{2};
constexpr NodeId kCharlie{3};

/// Makes an acknowledgement with these two IDs.
Bytes ack(NodeId header, NodeId entry, std::uint32_t message,
          std::vector<BlockRange> missing = {}) {
  return encode(AckPdu{.priority = 6,
                       .sender = header,
                       .entries = {{.name = {entry, message}, .missing = std::move(missing)}}});
}

std::vector<MessageNews> news_of(Station& station, MessageNews::Kind kind) {
  std::vector<MessageNews> all;
  while (const auto event = station.core->poll_event()) {
    const auto* news = std::get_if<MessageNews>(&*event);
    if (news != nullptr && news->kind == kind) all.push_back(*news);
    if (const auto* end = std::get_if<DestinationEnded>(&*event)) station.ended.push_back(*end);
  }
  return all;
}

Submission until(Duration expiry, std::vector<NodeId> to = {kBravo}) {
  Submission submission{.key = {7},
                        .message_id = 7,
                        .priority = 2,
                        .expiry = {kUtc.value + expiry / 1s},
                        .destinations = {}};
  for (const NodeId node : to) submission.destinations.push_back({node, 1});
  submission.content.assign(200, 7);
  return submission;
}

// libjpmul names the acknowledging node in the entry as well.
TEST(PMulAnswers, an_acknowledgement_counts_whichever_way_its_ids_are_written) {
  for (const auto& [header, entry] :
       {std::pair{kBravo, kSender}, {kBravo, kBravo}, {kSender, kBravo}, {kBravo, NodeId{}}}) {
    Station alpha(kSender);
    ASSERT_TRUE(alpha.submit(7, {kBravo, kCharlie}, 1000).ok());
    alpha.pdus();
    alpha.hear(ack(header, entry, 7));
    ASSERT_EQ(alpha.ended.size(), 1u) << header.value << " " << entry.value;
    EXPECT_EQ(alpha.ended[0].node, kBravo);
    EXPECT_EQ(alpha.ended[0].outcome, Outcome::delivered);
    EXPECT_EQ(alpha.core->poll_heard(), kBravo);
    const bool usual = header == kBravo && entry == kSender;
    EXPECT_EQ(alpha.core->sender().counters()[PMulSenderCounter::acks_other_form], usual ? 0u : 1u);
  }
}

TEST(PMulAnswers, a_list_in_another_form_is_served_too) {
  Station alpha(kSender);
  ASSERT_TRUE(alpha.submit(7, {kBravo}, 1000).ok());
  alpha.pdus();
  alpha.now = at(5s);
  alpha.hear(ack(kBravo, kBravo, 7, {{3, 4}}));
  EXPECT_EQ(numbers(alpha.pdus()), (std::vector<std::uint16_t>{3, 4}));
}

TEST(PMulAnswers, an_acknowledgement_that_may_be_for_another_transmitter_does_not_count) {
  Station alpha(kSender);
  ASSERT_TRUE(alpha.submit(7, {kBravo}, 1000).ok());
  alpha.pdus();
  alpha.core->on_datagram(alpha.now, ack(kBravo, {9}, 7));         // number of another sender
  alpha.core->on_datagram(alpha.now, ack(kBravo, kBravo, 8));      // no message of ours
  alpha.core->on_datagram(alpha.now, ack(kCharlie, kCharlie, 7));  // not for this node
  const auto refused = news_of(alpha, MessageNews::Kind::ack_refused);
  ASSERT_EQ(refused.size(), 2u);  // one line for each node
  EXPECT_EQ(refused[0].node, kBravo);
  EXPECT_EQ(refused[0].detail, "the acknowledgement names another transmitter");
  EXPECT_EQ(refused[1].detail, "the message was not sent to the station that acknowledges it");
  EXPECT_TRUE(alpha.ended.empty());
  EXPECT_EQ(alpha.core->sender().counters()[PMulSenderCounter::acks_of_others], 2u);
  EXPECT_EQ(alpha.core->sender().counters()[PMulSenderCounter::acks_not_addressed], 1u);
}

TEST(PMulAnswers, nobody_is_told_that_a_node_did_not_answer_whose_answer_was_refused) {
  Station alpha(kSender);
  ASSERT_TRUE(alpha.submit(7, {kBravo}, 1000).ok());
  alpha.pdus();
  alpha.hear(ack(kBravo, kSender, 7, {{11, 11}}));
  alpha.advance(at(86400s));
  ASSERT_EQ(alpha.ended.size(), 1u);
  EXPECT_EQ(alpha.ended[0].reason,
            "the acknowledgement lists blocks that the message does not have");
  EXPECT_FALSE(alpha.ended[0].unanswered);
}

TEST(PMulAnswers, a_pdu_that_cannot_be_read_is_told_with_its_reason_once_in_a_while) {
  Station alpha(kSender);
  Bytes bad = ack_of(kBravo, 7, {});
  bad[6] ^= 0x55;
  for (int i = 0; i < 5; ++i) alpha.core->on_datagram(alpha.now, bad);
  const auto refused = news_of(alpha, MessageNews::Kind::pdu_refused);
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].node, kBravo);
  EXPECT_NE(refused[0].detail.find("checksum"), std::string::npos);
  alpha.now = at(10min);
  alpha.core->on_datagram(alpha.now, bad);
  EXPECT_EQ(news_of(alpha, MessageNews::Kind::pdu_refused).size(), 1u);
}

TEST(PMulAnswers, every_pdu_of_a_node_that_is_believed_is_a_sign_of_life) {
  Station alpha(kSender, [](auto& config) { config.sources = {kBravo}; });
  alpha.hear(encode(DiscardPdu{.priority = 6, .name = {kBravo, 1}}));
  alpha.hear(encode(DiscardPdu{.priority = 6, .name = {kCharlie, 1}}));
  EXPECT_EQ(alpha.core->poll_heard(), kBravo);
  EXPECT_FALSE(alpha.core->poll_heard());
}

// --- The verdict ---------------------------------------------------------------------------------

TEST(PMulAnswers, a_node_that_nothing_was_sent_to_is_not_said_not_to_answer) {
  Station alpha(kSender);
  ASSERT_TRUE(alpha.core->request_submit(alpha.now, until(100s)).ok());
  alpha.advance(at(100s));
  ASSERT_EQ(alpha.ended.size(), 1u);
  EXPECT_EQ(alpha.ended[0].reason, "nothing could be sent to the station in time");
  EXPECT_FALSE(alpha.ended[0].unanswered);
}

TEST(PMulAnswers, a_node_that_had_the_time_and_said_nothing_did_not_answer) {
  Station alpha(kSender);
  ASSERT_TRUE(alpha.core->request_submit(alpha.now, until(100s)).ok());
  alpha.pdus();
  alpha.advance(at(100s));
  ASSERT_EQ(alpha.ended.size(), 1u);
  EXPECT_EQ(alpha.ended[0].reason, "the station did not answer");
  EXPECT_TRUE(alpha.ended[0].unanswered);
}

// Ack_wait is 30 s and a slot 8 s. The message is sent after 90 s, so the answer may come until 128
// s.
TEST(PMulAnswers, what_was_sent_in_time_is_not_called_lost_before_the_answer_was_due) {
  Station alpha(kSender);
  ASSERT_TRUE(alpha.core->request_submit(alpha.now, until(100s)).ok());
  alpha.now = at(90s);
  alpha.pdus();
  alpha.advance(at(100s));
  alpha.advance(at(128s - 1ns));
  EXPECT_TRUE(alpha.ended.empty());
  EXPECT_TRUE(alpha.pdus().empty());
  EXPECT_EQ(*alpha.core->next_deadline(), at(128s));
  alpha.hear(ack_of(kBravo, 7, {}));
  ASSERT_EQ(alpha.ended.size(), 1u);
  EXPECT_EQ(alpha.ended[0].outcome, Outcome::delivered);
}

TEST(PMulAnswers, the_verdict_comes_when_the_answer_was_due) {
  Station alpha(kSender);
  ASSERT_TRUE(alpha.core->request_submit(alpha.now, until(100s)).ok());
  alpha.now = at(90s);
  alpha.pdus();
  alpha.advance(at(128s));
  ASSERT_EQ(alpha.ended.size(), 1u);
  EXPECT_EQ(alpha.ended[0].outcome, Outcome::expired);
  EXPECT_EQ(only<DiscardPdu>(alpha.pdus()).size(), 2u);
}

TEST(PMulAnswers, an_answer_that_misses_blocks_after_the_expiry_ends_the_message) {
  Station alpha(kSender);
  ASSERT_TRUE(alpha.core->request_submit(alpha.now, until(100s)).ok());
  alpha.now = at(90s);
  alpha.pdus();
  alpha.advance(at(100s));
  alpha.now = at(110s);
  alpha.hear(ack_of(kBravo, 7, {{2, 2}}));
  ASSERT_EQ(alpha.ended.size(), 1u);
  EXPECT_EQ(alpha.ended[0].reason, "the station received only a part of the message");
  EXPECT_TRUE(only<DataPdu>(alpha.pdus()).empty());
}

TEST(PMulAnswers, a_bearer_that_is_away_keeps_no_verdict_and_no_room) {
  Station alpha(kSender, [](auto& config) { config.sender.messages_max = 1; });
  ASSERT_TRUE(alpha.core->request_submit(alpha.now, until(100s)).ok());
  alpha.pdus(2);  // the Address_PDU and a block of two
  alpha.advance(at(100s));
  ASSERT_EQ(alpha.ended.size(), 1u);
  EXPECT_TRUE(alpha.core->has_pdu());  // Discard_PDUs
  EXPECT_TRUE(alpha.submit(8, {kBravo}, 10).ok());
}

TEST(PMulAnswers, what_is_suspended_keeps_its_parts_and_goes_on) {
  Station alpha(kSender);
  Station bravo(kBravo);
  alpha.now = at(5min);
  auto first = until(3600s);
  ASSERT_TRUE(alpha.core->request_submit(alpha.now, first).ok());
  alpha.pdus();
  ASSERT_TRUE(alpha.core->request_suspend(alpha.now, {7}).ok());
  alpha.collect();
  ASSERT_EQ(alpha.ended.size(), 1u);
  EXPECT_EQ(alpha.ended[0].outcome, Outcome::suspended);
  EXPECT_EQ(alpha.core->sender().messages(), 0u);
  alpha.hear(ack_of(kBravo, 7, {{1, 1}}));
  EXPECT_TRUE(alpha.pdus().empty());  // the node may keep what it has
  EXPECT_EQ(alpha.core->poll_heard(), kBravo);
  first.block_octets = 100;
  ASSERT_TRUE(alpha.core->request_submit(alpha.now, first).ok());
  // Asks the node what it misses.
  EXPECT_EQ(numbers(alpha.pdus()), (std::vector<std::uint16_t>{2}));
  alpha.hear(ack_of(kBravo, 7, {}));
  EXPECT_EQ(alpha.ended.back().outcome, Outcome::delivered);
}

TEST(PMulAnswers, a_node_without_an_answer_is_named_once_and_so_is_one_in_emcon) {
  Station alpha(kSender, [](auto& config) { config.sender.silent = {kCharlie}; });
  ASSERT_TRUE(alpha.submit(7, {kBravo, kCharlie}, 200).ok());
  std::vector<NodeId> unanswered;
  for (int i = 0; i < 40; ++i) {
    alpha.pdus();
    alpha.now = alpha.core->next_deadline().value_or(alpha.now);
    alpha.core->on_deadline(alpha.now);
    while (const auto event = alpha.core->poll_event()) {
      if (const auto* one = std::get_if<Unanswered>(&*event)) unanswered.push_back(one->node);
    }
    if (i == 1) {
      EXPECT_EQ(unanswered, std::vector{kBravo});
    }
  }
  EXPECT_EQ(unanswered, (std::vector{kBravo, kCharlie}));
}

// --- Turns ---------------------------------------------------------------------------------------

TEST(PMulTurns, a_large_message_to_one_node_does_not_hold_up_a_small_one_to_another) {
  Station alpha(kSender, [](auto& config) { config.sender.turn_octets_max = 1000; });
  ASSERT_TRUE(alpha.submit(7, {kBravo}, 100'000).ok());
  alpha.pdus(4);
  ASSERT_TRUE(alpha.submit(8, {kCharlie}, 200).ok());
  std::vector<std::uint32_t> messages;
  for (const DataPdu& data : only<DataPdu>(alpha.pdus(20)))
    messages.push_back(data.name.message_id);
  const auto first = std::find(messages.begin(), messages.end(), 8u);
  ASSERT_NE(first, messages.end());
  EXPECT_LE(first - messages.begin(), 10);
  EXPECT_EQ(*(first + 1), 8u);  // the round is short and goes in one turn
  EXPECT_EQ(messages.back(), 7u);
}

TEST(PMulTurns, a_turn_ends_by_time_on_a_slow_bearer) {
  Station alpha(kSender);
  ASSERT_TRUE(alpha.submit(7, {kBravo}, 100'000).ok());
  ASSERT_TRUE(alpha.submit(8, {kCharlie}, 100'000).ok());
  const auto number = [&] {
    const auto pdu = decode(alpha.core->poll_pdu(alpha.now)->octets);
    const auto* data = std::get_if<DataPdu>(&*pdu);
    return data != nullptr ? data->name.message_id : std::get<AddressPdu>(*pdu).name.message_id;
  };
  std::vector<std::uint32_t> turns;
  for (int i = 0; i < 40; ++i, alpha.now += 15s) {
    const std::uint32_t one = number();
    if (turns.empty() || turns.back() != one) turns.push_back(one);
  }
  EXPECT_EQ(turns, (std::vector<std::uint32_t>{7, 8, 7, 8, 7}));
}

TEST(PMulTurns, messages_to_one_node_go_one_after_the_other) {
  Station alpha(kSender, [](auto& config) { config.sender.turn_octets_max = 300; });
  for (std::uint64_t key = 1; key <= 3; ++key) ASSERT_TRUE(alpha.submit(key, {kBravo}, 1000).ok());
  std::vector<std::uint32_t> messages;
  for (const DataPdu& data : only<DataPdu>(alpha.pdus())) messages.push_back(data.name.message_id);
  EXPECT_TRUE(std::is_sorted(messages.begin(), messages.end()));
  EXPECT_EQ(messages.size(), 30u);
}

TEST(PMulTurns, a_node_that_takes_no_more_by_arq_holds_up_nobody_else) {
  Station alpha(kSender);
  ASSERT_TRUE(alpha.submit(7, {kBravo}, 2000).ok());
  alpha.pdus();
  alpha.now = at(5s);
  alpha.hear(ack_of(kBravo, 7, {{1, 10}}));
  alpha.core->on_arq_full({kBravo});
  EXPECT_FALSE(alpha.core->has_pdu());
  ASSERT_TRUE(alpha.submit(8, {kCharlie}, 100, 8).ok());
  for (const DataPdu& data : only<DataPdu>(alpha.pdus())) EXPECT_EQ(data.name.message_id, 8u);
  alpha.core->on_arq_full({});
  EXPECT_EQ(numbers(alpha.pdus()).size(), 10u);
}

}  // namespace
}  // namespace s5066::p_mul
