// SPDX-License-Identifier: Apache-2.0
// These tests check what accompanies the blocks of a message, by which rules, and what is counted.
#include "tests/unit/p_mul/p_mul_station.h"

namespace s5066::p_mul {
namespace {

// PM-107: a relay must know which stations have the message.
TEST(PMulRules, a_message_says_to_whom_it_was_announced) {
  Station alpha(kSender), bravo({2});
  ASSERT_TRUE(alpha.submit(7, {{2}, {3}, {9}}, 10).ok());
  for (const Bytes& pdu : alpha.pdus()) bravo.hear(pdu);
  ASSERT_EQ(bravo.received.size(), 1u);
  EXPECT_EQ(bravo.received[0].destinations, (std::vector<NodeId>{{2}, {3}, {9}}));
}

// PM-133, PM-032: a message to a group with its own rules follows these rules.
TEST(PMulRules, a_group_can_have_rules_of_its_own) {
  Station alpha(kSender, [](auto& config) {
    RoundRules rules;
    rules.pdu_octets_max = 80;
    rules.block_octets = 50;
    rules.checksum = Checksum::internet;
    rules.ack_wait = 100s;
    rules.back_off = 3;
    rules.emcon_interval = 20min;
    rules.emcon_repeats_max = 1;
    rules.extra_address = false;
    config.sender.groups.push_back({.id = {2}, .members = {{2}, {3}}, .rules = rules});
    config.sender.ack_slot = 0s;
  });
  ASSERT_TRUE(alpha.submit(1, {{2}, {3}}, 100).ok());
  ASSERT_TRUE(alpha.submit(2, {{4}, {5}}, 100).ok());
  const auto own = alpha.pdus(3);
  EXPECT_EQ(numbers(own), (std::vector<std::uint16_t>{1, 2}));
  for (const Bytes& pdu : own) {
    EXPECT_FALSE(decode(pdu, {.fletcher = true, .internet = false}).ok());
    EXPECT_LE(pdu.size(), 80u);
  }
  const auto rest = alpha.pdus();
  EXPECT_EQ(numbers(rest), std::vector<std::uint16_t>{1});
  EXPECT_EQ(only<AddressPdu>(rest).size(), 2u);  // the second one marks the end
  EXPECT_EQ(*alpha.core->next_deadline(), at(30s));
  alpha.advance(at(30s));
  alpha.pdus();
  EXPECT_EQ(*alpha.core->next_deadline(), at(75s));  // 1.5 times as long
  for (std::uint32_t node : {4, 5}) alpha.hear(ack_of({node}, 2, {}));
  alpha.pdus();
  EXPECT_EQ(*alpha.core->next_deadline(), at(100s));
  alpha.advance(at(100s));
  alpha.pdus();
  EXPECT_EQ(*alpha.core->next_deadline(), at(400s));  // 3 times

  alpha.core->on_silence_of(alpha.now, {2}, true);
  alpha.core->on_silence_of(alpha.now, {3}, true);
  for (const Duration repeat : {20min, 40min}) {
    EXPECT_EQ(*alpha.core->next_deadline(), at(100s) + repeat);
    alpha.advance(at(100s) + repeat);
    EXPECT_EQ(numbers(alpha.pdus()), (std::vector<std::uint16_t>{1, 2}));
  }
  EXPECT_EQ(*alpha.core->next_deadline(), at(86400s));  // one repeat, and then only its end
}

// PM-033: the sender can behave as ACP 142 describes.
TEST(PMulRules, who_has_never_answered_can_be_sent_everything_again) {
  Station alpha(kSender, [](auto& config) { config.sender.resend_all = true; });
  ASSERT_TRUE(alpha.submit(7, {{2}, {3}}, 300).ok());
  const std::vector<std::uint16_t> all{1, 2, 3};
  EXPECT_EQ(numbers(alpha.pdus()), all);
  alpha.hear(ack_of({2}, 7, {{2, 2}}));
  for (int round = 0; round < 3; ++round) {
    alpha.advance(*alpha.core->next_deadline());
    EXPECT_EQ(numbers(alpha.pdus()), all);
  }
  alpha.hear(ack_of({3}, 7, {{3, 3}}));
  alpha.hear(ack_of({2}, 7, {{2, 2}}));
  EXPECT_EQ(numbers(alpha.pdus()), (std::vector<std::uint16_t>{2, 3}));
}

// PM-085: no PDU is worth sending after its message has ended.
TEST(PMulRules, pdus_are_worth_sending_as_long_as_their_message) {
  Station alpha(kSender);
  ASSERT_TRUE(alpha.submit(7, {{2}}, 300).ok());
  alpha.now = at(86390s);
  EXPECT_EQ(alpha.core->poll_pdu(alpha.now)->lifetime, 10s);
  alpha.now = at(86399s);
  EXPECT_EQ(alpha.core->poll_pdu(alpha.now)->lifetime, 1s);
}

// PM-131
TEST(PMulRules, what_comes_and_goes_is_counted) {
  Station alpha(kSender), bravo({2});
  ASSERT_TRUE(alpha.submit(7, {{2}}, 300).ok());
  auto round = alpha.pdus();
  Bytes damaged = round.at(1);
  damaged.back() = static_cast<std::uint8_t>(damaged.back() ^ 1);
  bravo.hear(damaged);
  Bytes unknown(16, 0);
  unknown[1] = 16;
  unknown[3] = 0x3F;
  unknown[2] = 1;
  const std::uint16_t sum = fletcher_checksum(unknown);
  unknown[6] = static_cast<std::uint8_t>(sum >> 8);
  unknown[7] = static_cast<std::uint8_t>(sum);
  bravo.hear(unknown);
  bravo.hear(Bytes(5));
  EXPECT_EQ(bravo.core->counters()[PMulCounter::pdus], 3u);
  EXPECT_EQ(bravo.core->counters()[PMulCounter::bad_checksum], 1u);
  EXPECT_EQ(bravo.core->counters()[PMulCounter::unknown_type], 1u);
  EXPECT_EQ(bravo.core->counters()[PMulCounter::malformed], 1u);
  bravo.hear(round[1]);  // without its address
  bravo.advance(at(31min));
  EXPECT_EQ(bravo.core->receiver().counters()[PMulReceiverCounter::data_pdus], 1u);
  EXPECT_EQ(bravo.core->receiver().counters()[PMulReceiverCounter::orphans_dropped], 1u);
  alpha.hear(ack_of({2}, 7, {{2, 2}}));
  alpha.pdus();
  EXPECT_EQ(alpha.core->sender().counters()[PMulSenderCounter::data_pdus], 4u);
  EXPECT_EQ(alpha.core->sender().counters()[PMulSenderCounter::data_pdus_again], 1u);
  alpha.advance(at(86400s));
  EXPECT_EQ(alpha.core->sender().counters()[PMulSenderCounter::expired], 1u);
}

}  // namespace
}  // namespace s5066::p_mul
