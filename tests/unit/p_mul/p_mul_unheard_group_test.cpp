// SPDX-License-Identifier: Apache-2.0
// These nodes answer under their own address and do not hear transmissions to a group that they are
// in.
#include <map>
#include <memory>

#include "tests/unit/p_mul/p_mul_station.h"

namespace s5066::p_mul {
namespace {

/// Runs a transmitter and nodes, of which some do not hear the group. All answers arrive.
class UnheardGroup : public testing::Test {
 protected:
  explicit UnheardGroup() : alpha(kSender) {
    for (std::uint32_t i = 2; i <= 4; ++i)
      nodes.emplace(NodeId{i}, std::make_unique<Station>(NodeId{i}));
  }
  void carry(Instant now) {
    alpha.now = now;
    alpha.core->on_deadline(now);
    take_events();
    while (auto pdu = alpha.core->poll_pdu(now)) {
      const auto* one = std::get_if<NodeId>(&pdu->target);
      const auto decoded = decode(pdu->octets);
      if (std::holds_alternative<DataPdu>(*decoded)) ++(one != nullptr ? single : by_group);
      for (auto& [node, station] : nodes) {
        if (off.contains(node) || (one != nullptr ? *one != node : deaf.contains(node))) continue;
        station->now = now;
        station->hear(pdu->octets);
      }
    }
    for (auto& [node, station] : nodes) {
      if (off.contains(node)) continue;
      station->advance(now);
      for (const Bytes& pdu : station->pdus()) alpha.core->on_datagram(now, pdu);
    }
    take_events();
  }
  void run(Duration time) {
    for (const Instant until = alpha.now + time; alpha.now < until;) carry(alpha.now + 1s);
  }
  void take_events() {
    while (const auto event = alpha.core->poll_event()) {
      if (const auto* end = std::get_if<DestinationEnded>(&*event)) alpha.ended.push_back(*end);
      const auto* news = std::get_if<MessageNews>(&*event);
      if (news != nullptr && news->kind == MessageNews::Kind::group_unheard) {
        unheard.emplace_back(news->name.message_id, news->node);
      }
    }
  }

  Station alpha;
  std::map<NodeId, std::unique_ptr<Station>> nodes;
  std::set<NodeId> deaf;
  std::set<NodeId> off;
  std::vector<std::pair<std::uint32_t, NodeId>> unheard;
  int by_group = 0;  // Data_PDUs to the group
  int single = 0;
};

TEST_F(UnheardGroup, a_group_that_no_receiver_knows_is_replaced_by_their_own_addresses) {
  deaf = {{2}, {3}, {4}};
  ASSERT_TRUE(alpha.submit(7, {{2}, {3}, {4}}, 1000).ok());
  run(30min);
  ASSERT_EQ(alpha.ended.size(), 3u);
  for (const auto& ended : alpha.ended) EXPECT_EQ(ended.outcome, Outcome::delivered);
  EXPECT_EQ(unheard.size(), 3u);  // once for each message and node
  EXPECT_EQ(alpha.core->sender().unheard(alpha.now).size(), 3u);
  // The next message goes by their own addresses from the start.
  by_group = single = 0;
  ASSERT_TRUE(alpha.submit(8, {{2}, {3}, {4}}, 1000).ok());
  run(2min);
  EXPECT_EQ(alpha.ended.size(), 6u);
  EXPECT_EQ(by_group, 0);
  EXPECT_EQ(single, 30);
  EXPECT_EQ(unheard.size(), 6u);
}

TEST_F(UnheardGroup, those_that_hear_the_group_get_it_once_for_all) {
  deaf = {{3}};
  ASSERT_TRUE(alpha.submit(7, {{2}, {3}, {4}}, 1000).ok());
  run(30min);
  EXPECT_EQ(alpha.ended.size(), 3u);
  ASSERT_EQ(unheard.size(), 1u);
  EXPECT_EQ(unheard[0], (std::pair{7u, NodeId{3}}));
  by_group = single = 0;
  ASSERT_TRUE(alpha.submit(8, {{2}, {3}, {4}}, 1000).ok());
  run(2min);
  EXPECT_EQ(alpha.ended.size(), 6u);
  EXPECT_EQ(by_group, 10);
  EXPECT_EQ(single, 10);
}

// A station that is called dead gets no mail for a while, so the verdict needs a chance to answer.
TEST_F(UnheardGroup, a_node_that_had_no_time_to_answer_is_not_called_unanswering) {
  deaf = {{3}};
  ASSERT_TRUE(alpha.submit(7, {{2}, {3}, {4}}, 1000).ok());
  run(30min);
  ASSERT_EQ(alpha.ended.size(), 3u);
  ASSERT_TRUE(alpha.submit(8, {{2}, {3}, {4}}, 1000).ok());
  bool by_its_own_address = false;
  while (!by_its_own_address) {
    const auto pdu = alpha.core->poll_pdu(alpha.now);
    ASSERT_TRUE(pdu);
    by_its_own_address = std::holds_alternative<NodeId>(pdu->target);
  }
  alpha.now = at(86400s);  // the bearer took no more, and the message expires
  alpha.core->on_deadline(alpha.now);
  take_events();
  ASSERT_EQ(alpha.ended.size(), 6u);
  for (std::size_t i = 3; i < alpha.ended.size(); ++i) {
    EXPECT_EQ(alpha.ended[i].outcome, Outcome::expired);
    EXPECT_FALSE(alpha.ended[i].unanswered) << alpha.ended[i].reason;
  }
}

TEST_F(UnheardGroup, a_node_that_was_off_is_not_taken_for_one_that_does_not_hear_the_group) {
  off = {{3}};
  ASSERT_TRUE(alpha.submit(7, {{2}, {3}, {4}}, 1000).ok());
  run(20min);
  EXPECT_EQ(alpha.ended.size(), 2u);
  off.clear();
  run(40min);
  EXPECT_EQ(alpha.ended.size(), 3u);
  EXPECT_TRUE(unheard.empty());
}

TEST_F(UnheardGroup, the_group_is_tried_again_after_a_while) {
  deaf = {{3}};
  ASSERT_TRUE(alpha.submit(7, {{2}, {3}, {4}}, 1000).ok());
  run(30min);
  deaf.clear();
  alpha.now += 6h;
  for (auto& [node, station] : nodes) station->now = alpha.now;
  by_group = single = 0;
  ASSERT_TRUE(alpha.submit(8, {{2}, {3}, {4}}, 1000).ok());
  run(2min);
  EXPECT_EQ(alpha.ended.size(), 6u);
  EXPECT_EQ(by_group, 10);
  EXPECT_EQ(single, 0);
  EXPECT_TRUE(alpha.core->sender().unheard(alpha.now).empty());
}

TEST_F(UnheardGroup, a_message_that_ends_early_is_withdrawn_where_the_group_does_not_reach) {
  deaf = {{3}};
  ASSERT_TRUE(alpha.submit(7, {{2}, {3}, {4}}, 1000).ok());
  run(30min);
  off = {{4}};
  ASSERT_TRUE(alpha.submit(8, {{3}, {4}}, 10'000).ok());
  while (nodes.at({3})->core->receiver().messages() == 0) {
    const auto pdu = alpha.core->poll_pdu(alpha.now);
    ASSERT_TRUE(pdu);
    const auto* one = std::get_if<NodeId>(&pdu->target);
    if (one != nullptr) nodes.at(*one)->hear(pdu->octets);
  }
  ASSERT_TRUE(alpha.core->request_cancel(alpha.now, {8}).ok());
  carry(alpha.now + 1s);
  EXPECT_EQ(nodes.at({3})->core->receiver().messages(), 0u);
}

}  // namespace
}  // namespace s5066::p_mul
