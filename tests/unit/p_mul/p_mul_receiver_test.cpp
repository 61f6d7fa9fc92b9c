// SPDX-License-Identifier: Apache-2.0
// These tests check the receiver's rules one by one.
#include <set>

#include "tests/unit/p_mul/p_mul_station.h"

namespace s5066::p_mul {
namespace {

Bytes address_of(const MessageName& name, std::uint16_t total, std::int64_t expiry_s = 3600) {
  return encode(AddressPdu{
      .name = name, .total = total, .expiry = {kUtc.value + expiry_s}, .destinations = {{{2}, 1}}});
}

Bytes block_of(const MessageName& name, std::uint16_t number) {
  return encode(DataPdu{
      .name = name, .number = number, .fragment = Bytes(10, static_cast<std::uint8_t>(number))});
}

constexpr MessageName kName{kSender, 7};

/// Returns the list of the next acknowledgement, and when it leaves.
struct Ack {
  std::vector<BlockRange> missing;
  Duration after{};
};
Ack next_ack(Station& station) {
  const Instant before = station.now;
  for (int i = 0; i < 100; ++i) {
    station.advance(*station.core->next_deadline());
    const auto acks = only<AckPdu>(station.pdus());
    if (!acks.empty()) return {acks[0].entries.at(0).missing, station.now - before};
  }
  ADD_FAILURE() << "no acknowledgement";
  return {};
}

// PM-020
TEST(PMulReceiver, one_number_of_two_sources_names_two_messages) {
  Station bravo({2});
  const MessageName other{{3}, 7};
  bravo.hear(address_of(kName, 2));
  bravo.hear(address_of(other, 1));
  bravo.hear(block_of(kName, 1));
  bravo.hear(block_of(other, 1));
  ASSERT_EQ(bravo.received.size(), 1u);
  EXPECT_EQ(bravo.received[0].name, other);
  bravo.hear(encode(DiscardPdu{.name = other}));
  bravo.hear(block_of(kName, 2));
  EXPECT_EQ(bravo.received.size(), 2u);
}

// PM-050, PM-051: blocks that came before their address are forgotten if the message is not for us.
TEST(PMulReceiver, what_is_announced_to_others_is_dropped) {
  Station bravo({2});
  bravo.hear(block_of(kName, 1));
  EXPECT_EQ(bravo.core->receiver().messages(), 1u);
  bravo.hear(encode(AddressPdu{
      .name = kName, .total = 2, .expiry = {kUtc.value + 3600}, .destinations = {{{3}, 1}}}));
  EXPECT_EQ(bravo.core->receiver().messages(), 0u);
  EXPECT_EQ(bravo.core->receiver().octets(), 0u);
  bravo.hear(block_of(kName, 2));
  EXPECT_EQ(bravo.core->receiver().messages(), 0u);
  EXPECT_EQ(bravo.core->receiver().counters()[PMulReceiverCounter::not_for_us], 2u);
}

// PM-050, PM-051: a node that has reported a complete message reports it again when it is listed,
// and when blocks come before it was left out of the list. After it has been left out it sends
// nothing more.
TEST(PMulReceiver, who_has_all_says_so_again_until_it_is_left_out) {
  Station bravo({2});
  bravo.hear(address_of(kName, 3));
  for (std::uint16_t n = 1; n <= 3; ++n) bravo.hear(block_of(kName, n));
  EXPECT_TRUE(next_ack(bravo).missing.empty());
  bravo.hear(address_of(kName, 3));
  auto ack = next_ack(bravo);
  EXPECT_TRUE(ack.missing.empty());
  EXPECT_LT(ack.after, 30s);
  bravo.hear(block_of(kName, 2));
  EXPECT_TRUE(next_ack(bravo).missing.empty());
  bravo.hear(encode(AddressPdu{
      .name = kName, .total = 3, .expiry = {kUtc.value + 3600}, .destinations = {{{3}, 1}}}));
  bravo.hear(block_of(kName, 2));
  bravo.advance(bravo.now + 50min);
  EXPECT_TRUE(bravo.pdus().empty());
  EXPECT_EQ(bravo.received.size(), 1u);
}

// PM-053, PM-084: the answer goes to the transmitter alone, after a random part of a slot.
TEST(PMulReceiver, the_moment_of_an_answer_is_random_and_it_goes_to_the_transmitter_alone) {
  std::set<Instant> moments;
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    Station bravo({2});
    bravo.rng = Rng(seed);
    bravo.hear(address_of(kName, 2));
    bravo.hear(block_of(kName, 2));
    const Instant due = *bravo.core->next_deadline();
    EXPECT_LT(due, at(2s));
    moments.insert(due);
    bravo.advance(due);
    const auto ack = bravo.core->poll_pdu(bravo.now);
    EXPECT_EQ(ack->target, Target{kSender});
    EXPECT_EQ(ack->use, Use::ack);
  }
  EXPECT_EQ(moments.size(), 20u);
}

// PM-023
TEST(PMulReceiver, a_message_without_an_expiry_is_not_taken) {
  Station bravo({2});
  bravo.hear(encode(AddressPdu{.name = kName, .destinations = {{{2}, 1}}}));  // 0
  EXPECT_EQ(bravo.core->receiver().messages(), 0u);
  EXPECT_EQ(bravo.core->receiver().counters()[PMulReceiverCounter::without_expiry], 1u);
}

// PM-023: no node sends a message that has expired by its own clock.
TEST(PMulReceiver, a_message_that_has_expired_by_our_clock_is_delivered_once_and_acknowledged) {
  for (const std::int64_t apart : {60L, 7200L, 3L * 86400, 30L * 366 * 86400}) {
    Station bravo({2});
    const MessageName name{kSender, 8};
    const Bytes address = address_of(name, 1, -apart);
    bravo.hear(address);
    bravo.hear(block_of(name, 1));
    ASSERT_EQ(bravo.received.size(), 1u) << apart;
    EXPECT_GT(bravo.received[0].expiry.value, kUtc.value);
    ASSERT_TRUE(bravo.core->next_deadline());
    bravo.advance(at(2min));
    EXPECT_FALSE(bravo.pdus().empty()) << apart;
    // This goes on for hours, because the acknowledgements are not heard.
    for (int i = 1; i <= 12; ++i) {
      bravo.advance(at(i * 30min));
      bravo.pdus();
      bravo.hear(address);
      bravo.hear(block_of(name, 1));
      bravo.advance(at(i * 30min + 3min));
      EXPECT_FALSE(bravo.pdus().empty()) << apart << " " << i;
    }
    EXPECT_EQ(bravo.received.size(), 1u) << apart;
    EXPECT_EQ(bravo.core->receiver().counters()[PMulReceiverCounter::clock_apart], 1u);
    const auto& clocks = bravo.core->receiver().clocks_apart();
    ASSERT_EQ(clocks.count(kSender), 1u);
    EXPECT_EQ(clocks.at(kSender).at_least, std::chrono::seconds(apart));
  }
}

// PM-023
TEST(PMulReceiver, within_the_tolerance_of_clocks_nothing_is_said_of_them) {
  Station bravo({2});
  bravo.hear(address_of({kSender, 9}, 1, -59));
  EXPECT_EQ(bravo.core->receiver().messages(), 1u);
  EXPECT_EQ(bravo.core->receiver().counters()[PMulReceiverCounter::clock_apart], 0u);
  bravo.hear(address_of({kSender, 10}, 1, -60));
  EXPECT_EQ(bravo.core->receiver().messages(), 2u);
  EXPECT_EQ(bravo.core->receiver().counters()[PMulReceiverCounter::clock_apart], 1u);
}

// PM-052: the node reports after the last block, and after the last of a repair, whatever is
// missing.
TEST(PMulReceiver, says_what_is_missing_after_the_last_block_and_after_a_repair) {
  Station bravo({2});
  bravo.hear(address_of(kName, 6));
  for (const int n : {1, 4, 5}) bravo.hear(block_of(kName, static_cast<std::uint16_t>(n)));
  EXPECT_GT(*bravo.core->next_deadline() - bravo.now, 60s);
  bravo.hear(block_of(kName, 6));
  auto ack = next_ack(bravo);
  EXPECT_LT(ack.after, 30s);
  EXPECT_EQ(ack.missing, (std::vector<BlockRange>{{2, 3}}));
  bravo.hear(block_of(kName, 3));
  ack = next_ack(bravo);
  EXPECT_LT(ack.after, 30s);
  EXPECT_EQ(ack.missing, (std::vector<BlockRange>{{2, 2}}));
  bravo.hear(block_of(kName, 2));
  EXPECT_EQ(next_ack(bravo).missing, std::vector<BlockRange>{});
}

// PM-052: a fade of six minutes before the last block does not delay the answer for more than 90 s.
TEST(PMulReceiver, answers_soon_after_its_last_block_whatever_fade_was_before_it) {
  Station bravo({2});
  bravo.hear(address_of(kName, 6));
  bravo.hear(block_of(kName, 1));
  bravo.advance(at(6min));
  bravo.pdus();
  bravo.advance(at(12min));
  bravo.pdus();
  bravo.hear(block_of(kName, 6));  // the last of the round
  auto ack = next_ack(bravo);
  EXPECT_EQ(ack.missing, (std::vector<BlockRange>{{2, 5}}));
  EXPECT_GE(ack.after, 90s);
  EXPECT_LT(ack.after, 93s);

  bravo.advance(bravo.now + 6min);
  bravo.pdus();
  bravo.hear(block_of(kName, 5));  // the last requested block of the repair
  ack = next_ack(bravo);
  EXPECT_EQ(ack.missing, (std::vector<BlockRange>{{2, 4}}));
  EXPECT_LT(ack.after, 93s);

  bravo.advance(bravo.now + 6min);
  bravo.pdus();
  for (const int n : {2, 3}) bravo.hear(block_of(kName, static_cast<std::uint16_t>(n)));
  bravo.advance(bravo.now + 6min);
  bravo.pdus();
  bravo.hear(block_of(kName, 4));  // the last block of all
  ack = next_ack(bravo);
  EXPECT_EQ(ack.missing, std::vector<BlockRange>{});
  EXPECT_LT(ack.after, 93s);

  bravo.advance(bravo.now + 6min);
  bravo.pdus();
  bravo.hear(address_of(kName, 6));  // the sender has not heard that
  EXPECT_LT(next_ack(bravo).after, 93s);
}

// PM-052: at 300 bit/s and above the node lets blocks for others pass after the last block for us.
TEST(PMulReceiver, lets_the_rest_of_a_round_pass_where_its_pace_shows_that_it_goes_on) {
  Station bravo({2});
  bravo.hear(address_of(kName, 9));
  for (std::uint16_t n = 1; n <= 9; ++n) {
    bravo.advance(bravo.now + 54s);
    EXPECT_TRUE(bravo.pdus().empty());
    if (n == 3 || n == 6) continue;
    bravo.hear(block_of(kName, n));
  }
  EXPECT_GT(next_ack(bravo).after, 80s);
  for (const int n : {6, 7, 9}) {  // a repair: one for us, two for others
    bravo.advance(bravo.now + 54s);
    EXPECT_TRUE(bravo.pdus().empty());
    bravo.hear(block_of(kName, static_cast<std::uint16_t>(n)));
  }
  EXPECT_EQ(next_ack(bravo).missing, (std::vector<BlockRange>{{3, 3}}));
}

// PM-052: while more blocks for us are to come, the node waits for a fade to end, even if a fade
// has stretched the time before it.
TEST(PMulReceiver, slow_blocks_that_are_still_to_come_are_waited_for) {
  Station bravo({2});
  bravo.hear(address_of(kName, 6));
  for (std::uint16_t n = 1; n <= 3; ++n) {
    bravo.advance(bravo.now + 4min);
    bravo.pdus();
    bravo.hear(block_of(kName, n));
  }
  EXPECT_GE(next_ack(bravo).after, 6min);
}

// PM-052
TEST(PMulReceiver, can_say_in_the_middle_that_much_is_missing) {
  Station bravo({2}, [](auto& config) { config.receiver.ack_when_missing = 3; });
  bravo.hear(address_of(kName, 20));
  bravo.hear(block_of(kName, 1));
  bravo.hear(block_of(kName, 4));
  EXPECT_GT(*bravo.core->next_deadline() - bravo.now, 60s);
  bravo.hear(block_of(kName, 7));
  EXPECT_LT(next_ack(bravo).after, 30s);
}

// PM-054: the end of the round was lost, too.
TEST(PMulReceiver, says_again_what_is_missing_while_nothing_comes_ever_less_often) {
  Station bravo({2});
  bravo.hear(address_of(kName, 3));
  bravo.hear(block_of(kName, 1));
  std::vector<Duration> waits;
  for (int i = 0; i < 4; ++i) {
    const Ack ack = next_ack(bravo);
    EXPECT_EQ(ack.missing, (std::vector<BlockRange>{{2, 3}}));
    waits.push_back(ack.after);
  }
  for (const Duration wait : waits) EXPECT_GE(wait, 120s);
  EXPECT_GT(waits[2], waits[1] * 5 / 4);
  EXPECT_GT(waits[3], waits[2] * 5 / 4);
}

// PM-058
TEST(PMulReceiver, an_incomplete_message_is_dropped_when_it_expires) {
  Station bravo({2});
  bravo.hear(address_of(kName, 3, 100));
  bravo.hear(block_of(kName, 1));
  bravo.advance(at(160s - 1ns));
  EXPECT_EQ(bravo.core->receiver().messages(), 1u);
  bravo.pdus();
  bravo.advance(at(160s));
  EXPECT_EQ(bravo.core->receiver().messages(), 0u);
  EXPECT_EQ(bravo.core->receiver().octets(), 0u);
  EXPECT_EQ(bravo.core->receiver().counters()[PMulReceiverCounter::expired], 1u);
  EXPECT_TRUE(bravo.pdus().empty());
}

// PM-056: the rule holds also for a message of which only blocks have come.
TEST(PMulReceiver, a_withdrawn_message_leaves_nothing_behind) {
  Station bravo({2});
  bravo.hear(block_of(kName, 1));
  bravo.hear(address_of({kSender, 8}, 2));
  bravo.hear(block_of({kSender, 8}, 1));
  EXPECT_EQ(bravo.core->receiver().messages(), 2u);
  bravo.hear(encode(DiscardPdu{.name = kName}));
  bravo.hear(encode(DiscardPdu{.name = {kSender, 8}}));
  EXPECT_EQ(bravo.core->receiver().messages(), 0u);
  EXPECT_EQ(bravo.core->receiver().octets(), 0u);
  bravo.hear(address_of(kName, 2));  // the block is gone, too
  bravo.hear(block_of(kName, 2));
  EXPECT_EQ(next_ack(bravo).missing, (std::vector<BlockRange>{{1, 1}}));
}

// Four sources may each hold four messages of the largest size. A message has 20 blocks.
void small_memory(PMulCore::Config& config) {
  config.receiver.octets_max = 80'000;
  config.receiver.source_octets_max = 20'000;
  config.receiver.message_octets_max = 20'000;
  config.receiver.messages_max = 32;
  config.receiver.source_messages_max = 8;
}

Bytes large_block_of(const MessageName& name, std::uint16_t number) {
  return encode(
      DataPdu{.name = name, .number = number, .fragment = Bytes(1000 - PMulReceiver::kBlockCost)});
}

// Sends from `source` more blocks than any message has, and with the highest priority.
void flood(Station& station, NodeId source) {
  for (std::uint32_t id = 1; id <= 40; ++id) {
    const MessageName name{source, id};
    station.hear(encode(AddressPdu{.priority = 0,
                                   .name = name,
                                   .total = 65535,
                                   .expiry = {kUtc.value + 3600},
                                   .destinations = {{{2}, 1}}}));
    for (std::uint16_t n = 1; n <= 15; ++n) station.hear(large_block_of(name, n));
  }
}

TEST(PMulReceiver, a_source_that_sends_without_end_takes_no_room_from_others) {
  Station bravo({2}, small_memory);
  bravo.hear(encode(AddressPdu{.priority = 6,
                               .name = kName,
                               .total = 20,
                               .expiry = {kUtc.value + 3600},
                               .destinations = {{{2}, 1}}}));
  for (std::uint16_t n = 1; n <= 10; ++n) bravo.hear(large_block_of(kName, n));
  flood(bravo, {3});
  EXPECT_EQ(bravo.core->receiver().octets(), 30'000u);
  EXPECT_EQ(bravo.core->receiver().messages(), 9u);
  EXPECT_GT(bravo.core->receiver().counters()[PMulReceiverCounter::no_room], 0u);
  for (std::uint16_t n = 11; n <= 20; ++n) bravo.hear(large_block_of(kName, n));
  ASSERT_EQ(bravo.received.size(), 1u);
  EXPECT_EQ(bravo.received[0].name, kName);
}

TEST(PMulReceiver, however_many_sources_do_so_another_gets_its_share) {
  Station bravo({2}, small_memory);
  for (std::uint32_t source = 11; source <= 16; ++source) flood(bravo, {source});
  EXPECT_LE(bravo.core->receiver().octets(), 80'000u);
  EXPECT_LE(bravo.core->receiver().messages(), 32u);
  bravo.hear(address_of(kName, 10));
  for (std::uint16_t n = 1; n <= 5; ++n) bravo.hear(large_block_of(kName, n));
  for (std::uint32_t source = 11; source <= 16; ++source) flood(bravo, {source});
  for (std::uint16_t n = 6; n <= 10; ++n) bravo.hear(large_block_of(kName, n));
  ASSERT_EQ(bravo.received.size(), 1u);
  EXPECT_EQ(bravo.received[0].name, kName);
}

TEST(PMulReceiver, the_largest_message_of_each_of_four_sources_fits) {
  Station bravo({2}, small_memory);
  for (std::uint32_t source = 11; source <= 14; ++source) bravo.hear(address_of({{source}, 7}, 20));
  for (std::uint16_t n = 1; n <= 20; ++n) {
    for (std::uint32_t source = 11; source <= 14; ++source) {
      bravo.hear(large_block_of({{source}, 7}, n));
    }
  }
  EXPECT_EQ(bravo.received.size(), 4u);
  EXPECT_EQ(bravo.core->receiver().counters()[PMulReceiverCounter::crowded_out], 0u);
  EXPECT_EQ(bravo.core->receiver().counters()[PMulReceiverCounter::no_room], 0u);
}

// The rule holds however few and large its messages are, and however many and small those of
// others.
TEST(PMulReceiver, a_source_that_has_its_share_pushes_out_nothing_of_others) {
  Station bravo({2}, small_memory);
  for (std::uint32_t id = 1; id <= 4; ++id) {
    bravo.hear(address_of({kSender, id}, 2));
    bravo.hear(large_block_of({kSender, id}, 1));
  }
  for (std::uint32_t id = 1; id <= 2; ++id) bravo.hear(address_of({{3}, id}, 20));
  for (std::uint16_t n = 1; n <= 12; ++n) {
    for (std::uint32_t id = 1; id <= 2; ++id) bravo.hear(large_block_of({{3}, id}, n));
  }
  EXPECT_LE(bravo.core->receiver().octets(), 24'000u);
  for (std::uint32_t id = 1; id <= 4; ++id) bravo.hear(large_block_of({kSender, id}, 2));
  ASSERT_EQ(bravo.received.size(), 4u);
  for (const auto& message : bravo.received) EXPECT_EQ(message.name.source, kSender);
}

// The blocks come, although there is no room for them now.
TEST(PMulReceiver, what_finds_no_room_is_not_taken_for_left) {
  Station bravo({2}, small_memory);
  for (std::uint32_t id = 1; id <= 2; ++id) {
    bravo.hear(address_of({kSender, id}, 11));
    for (std::uint16_t n = 1; n <= 10; ++n) bravo.hear(large_block_of({kSender, id}, n));
  }
  for (int minute = 0; minute < 40; ++minute) {
    bravo.advance(bravo.now + 1min);
    bravo.hear(large_block_of({kSender, 1}, 10));
    bravo.hear(large_block_of({kSender, 2}, 11));
  }
  const auto refused = bravo.core->receiver().counters()[PMulReceiverCounter::no_room];
  EXPECT_EQ(refused, 40u);
  bravo.hear(address_of({kSender, 3}, 2));
  bravo.hear(large_block_of({kSender, 3}, 1));
  EXPECT_GT(bravo.core->receiver().counters()[PMulReceiverCounter::no_room], refused);
  EXPECT_EQ(bravo.core->receiver().counters()[PMulReceiverCounter::crowded_out], 0u);
}

// A block that was reported as received and had to go is asked for again.
TEST(PMulReceiver, more_than_its_share_of_one_source_becomes_complete_one_after_the_other) {
  Station bravo({2}, small_memory);
  for (int round = 0; round < 3; ++round) {
    bravo.advance(bravo.now + 1min);
    for (std::uint32_t id = 1; id <= 3; ++id) bravo.hear(address_of({kSender, id}, 15));
    for (std::uint16_t n = 1; n <= 15; ++n) {
      for (std::uint32_t id = 1; id <= 3; ++id) {
        bravo.hear(large_block_of({kSender, id}, n));
        bravo.now += 1s;
      }
    }
  }
  EXPECT_EQ(bravo.received.size(), 3u);
  EXPECT_EQ(bravo.core->receiver().octets(), 0u);
}

// A large message that its source has stopped sending does not block the same source.
TEST(PMulReceiver, what_a_source_has_left_gives_way_to_what_it_sends_now) {
  Station bravo({2}, small_memory);
  bravo.hear(address_of({kSender, 1}, 20));
  for (std::uint16_t n = 1; n <= 19; ++n) bravo.hear(large_block_of({kSender, 1}, n));
  bravo.hear(address_of({kSender, 2}, 2));
  for (std::uint16_t n = 1; n <= 2; ++n) bravo.hear(large_block_of({kSender, 2}, n));
  EXPECT_TRUE(bravo.received.empty());
  EXPECT_EQ(bravo.core->receiver().counters()[PMulReceiverCounter::no_room], 1u);
  bravo.now += 30min;
  bravo.hear(large_block_of({kSender, 2}, 2));
  ASSERT_EQ(bravo.received.size(), 1u);
  EXPECT_EQ(bravo.received[0].name.message_id, 2u);
  EXPECT_EQ(bravo.core->receiver().counters()[PMulReceiverCounter::crowded_out], 1u);
}

Bytes one_way_address(std::uint16_t total, std::vector<Destination> to) {
  return encode(AddressPdu{
      .name = kName, .total = total, .expiry = {kUtc.value + 3600}, .destinations = std::move(to)});
}

TEST(PMulReceiver, a_message_with_sequence_0_is_never_answered_and_its_part_is_handed_up) {
  for (const char* end : {"address", "discard", "quiet", "expiry"}) {
    SCOPED_TRACE(end);
    PMulCore::Config config;
    config.sender.node = config.receiver.node = {2};
    config.receiver.one_way_by_sequence = true;
    if (std::string(end) == "expiry") config.receiver.orphan_max = std::chrono::hours(9);
    Rng rng(1);
    PMulCore core(config, rng);
    Instant now{};
    core.on_clock(now, kUtc);
    core.on_datagram(now, one_way_address(3, {{{2}, 0}}));
    core.on_datagram(now, block_of(kName, 1));
    core.on_datagram(now, block_of(kName, 3));
    if (std::string(end) == "address") core.on_datagram(now, one_way_address(3, {}));
    if (std::string(end) == "discard") core.on_datagram(now, encode(DiscardPdu{.name = kName}));
    for (int i = 0; i < 9 && core.next_deadline(); ++i) {
      now = std::max(now, *core.next_deadline());
      core.on_deadline(now);
      EXPECT_FALSE(core.has_pdu());
    }
    std::vector<ReceivedPart> parts;
    while (const auto event = core.poll_event()) {
      EXPECT_FALSE(std::holds_alternative<Received>(*event));
      if (const auto* part = std::get_if<ReceivedPart>(&*event)) parts.push_back(*part);
    }
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_EQ(parts[0].name, kName);
    EXPECT_EQ(parts[0].blocks.size(), 2u);
    EXPECT_EQ(core.receiver().messages(), 0u);
  }
}

TEST(PMulReceiver, a_whole_message_with_sequence_0_is_not_acknowledged_when_it_is_committed) {
  PMulCore::Config config;
  config.sender.node = config.receiver.node = {2};
  config.receiver.one_way_by_sequence = true;
  Rng rng(1);
  PMulCore core(config, rng);
  core.on_clock({}, kUtc);
  core.on_datagram({}, one_way_address(1, {{{2}, 0}}));
  core.on_datagram({}, block_of(kName, 1));
  const auto event = core.poll_event();
  ASSERT_TRUE(event && std::holds_alternative<Received>(*event));
  EXPECT_TRUE(std::get<Received>(*event).one_way);
  EXPECT_EQ(std::get<Received>(*event).block_octets, 10u);
  core.on_committed({}, kName);
  core.on_datagram({}, one_way_address(1, {{{2}, 0}}));
  core.on_deadline(Instant{} + std::chrono::minutes(20));
  EXPECT_FALSE(core.has_pdu());
}

}  // namespace
}  // namespace s5066::p_mul
