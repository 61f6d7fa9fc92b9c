// SPDX-License-Identifier: Apache-2.0
// These tests cover the P_MUL checklist items PM-001 to PM-010.
#include "gateways/p_mul/p_mul_pdu.h"

#include <gtest/gtest.h>

#include "tests/unit/p_mul/p_mul_vectors.h"

namespace s5066::p_mul {
namespace {

constexpr DecodeOptions kStrict{.fletcher = true, .internet = false};

/// Returns the PDU with its checksum corrected.
Bytes mended(Bytes pdu) {
  const std::uint16_t sum = fletcher_checksum(pdu);
  pdu[6] = static_cast<std::uint8_t>(sum >> 8);
  pdu[7] = static_cast<std::uint8_t>(sum);
  return pdu;
}

ErrorCode error_of(ByteSpan octets) {
  const auto pdu = decode(octets);
  return pdu.ok() ? ErrorCode::io : pdu.error().code;
}

Bytes ack_with_list(const std::vector<std::uint16_t>& values) {
  Bytes pdu = *from_hex("001804010000A1F50A0101030001000A0A0101010001E240");
  for (const std::uint16_t value : values) put_u16(pdu, value);
  pdu[1] = static_cast<std::uint8_t>(pdu.size());
  pdu[15] = static_cast<std::uint8_t>(10 + 2 * values.size());
  return mended(pdu);
}

AckEntry entry_of(const std::vector<std::uint16_t>& values) {
  const auto pdu = decode(ack_with_list(values));
  return pdu.ok() ? std::get<AckPdu>(*pdu).entries.at(0) : AckEntry{};
}

// PM-007, PM-008, PM-010, PM-001, PM-002, PM-003
TEST(PMulPdu, every_worked_example_is_written_and_read) {
  for (const auto& example : test::vectors()) {
    SCOPED_TRACE(example.name);
    const Bytes octets = *from_hex(example.hex);
    const auto pdu = decode(octets, kStrict);
    ASSERT_TRUE(pdu.ok()) << to_string(pdu.error());
    EXPECT_TRUE(*pdu == example.pdu);
    if (example.canonical) {
      EXPECT_EQ(to_hex(encode(example.pdu, {.ranges = example.ranges})), to_hex(octets));
    }
  }
}

// PM-004
TEST(PMulPdu, no_prefix_of_a_pdu_is_read) {
  for (const auto& example : test::vectors()) {
    SCOPED_TRACE(example.name);
    const Bytes octets = *from_hex(example.hex);
    for (std::size_t n = 0; n < octets.size(); ++n) {
      EXPECT_EQ(error_of(ByteSpan(octets).first(n)), ErrorCode::truncated) << n;
    }
  }
}

// PM-004, PM-006: length and checksum are correct, so that only the counts are wrong.
TEST(PMulPdu, a_count_beyond_the_pdu_is_refused) {
  for (const auto& example : test::vectors()) {
    SCOPED_TRACE(example.name);
    const Bytes octets = *from_hex(example.hex);
    for (std::size_t n = 12; n < octets.size(); ++n) {
      Bytes cut(octets.begin(), octets.begin() + static_cast<std::ptrdiff_t>(n));
      cut[1] = static_cast<std::uint8_t>(n);
      const auto pdu = decode(mended(cut));
      if (!pdu.ok()) continue;
      // Only data, and the timestamp of an Ack, may be shorter.
      const auto* ack = std::get_if<AckPdu>(&*pdu);
      EXPECT_TRUE(std::holds_alternative<DataPdu>(*pdu) ||
                  (ack != nullptr && !ack->delay_100ms && n + 8 >= octets.size()))
          << n;
    }
  }
}

// PM-005
TEST(PMulPdu, no_single_bit_flip_is_read) {
  for (const auto& example : test::vectors()) {
    SCOPED_TRACE(example.name);
    Bytes octets = *from_hex(example.hex);
    for (std::size_t bit = 0; bit < 8 * octets.size(); ++bit) {
      octets[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
      EXPECT_FALSE(decode(octets, kStrict).ok()) << bit;
      octets[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
    }
  }
}

// PM-001, PM-005
TEST(PMulPdu, random_pdus_survive_both_forms_and_both_checksums) {
  Rng rng(1);
  for (int i = 0; i < 20000; ++i) {
    const Pdu pdu = test::random_pdu(rng);
    const EncodeOptions options{
        .checksum = rng.chance(0.5) ? Checksum::fletcher : Checksum::internet,
        .ranges = rng.chance(0.5)};
    const Bytes octets = encode(pdu, options);
    const bool fletcher = options.checksum == Checksum::fletcher;
    const auto again = decode(octets, {.fletcher = fletcher, .internet = !fletcher});
    ASSERT_TRUE(again.ok()) << to_string(again.error()) << ": " << to_hex(octets);
    ASSERT_TRUE(*again == pdu) << to_hex(octets);
  }
}

// The sums of the longest PDU do not overflow, whatever its octets.
TEST(PMulPdu, the_longest_pdu_has_a_good_checksum) {
  DataPdu data{.name = {{0xFFFFFFFF}, 0xFFFFFFFF}, .number = 65535};
  data.fragment.assign(kPduOctetsMax - kDataHeaderOctets, 0xFF);
  const auto again = decode(encode(data), kStrict);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(*again == Pdu{data});
}

// PM-005
TEST(PMulPdu, either_checksum_is_accepted_and_each_can_be_turned_off) {
  const Bytes internet = *from_hex("0017040000010AE60A0101010001E24048454C4C4F2C20");
  const Bytes fletcher = *from_hex("0017040000011CD40A0101010001E24048454C4C4F2C20");
  const Bytes none = *from_hex(
      "0017040000010000"
      "0A0101010001E24048454C4C4F2C20");
  EXPECT_TRUE(decode(internet).ok());
  EXPECT_TRUE(decode(fletcher).ok());
  EXPECT_EQ(error_of(none), ErrorCode::bad_checksum);
  EXPECT_FALSE(decode(internet, kStrict).ok());
  EXPECT_FALSE(decode(fletcher, {.fletcher = false}).ok());
  const Bytes discard = *from_hex("001004030000CEE80A0101010001E240");
  EXPECT_EQ(internet_checksum(discard), 0x0EA9);
}

TEST(PMulPdu, octets_behind_the_length_are_ignored) {
  Bytes octets = *from_hex("001004030000CEE80A0101010001E240");
  octets.push_back(0x55);
  EXPECT_TRUE(decode(octets).ok());
}

TEST(PMulPdu, an_unknown_type_is_unsupported) {
  Bytes octets = *from_hex("001004030000CEE80A0101010001E240");
  octets[3] = 0x09;
  EXPECT_EQ(error_of(mended(octets)), ErrorCode::unsupported);
}

TEST(PMulPdu, block_0_and_a_message_of_no_blocks_are_refused) {
  Bytes data = *from_hex("0017040000011CD40A0101010001E24048454C4C4F2C20");
  data[5] = 0;
  EXPECT_EQ(error_of(mended(data)), ErrorCode::bad_field);
  Bytes address = *from_hex("00180402000231B40A0101010001E2406553FF1000000000");
  address[5] = 0;
  EXPECT_EQ(error_of(mended(address)), ErrorCode::bad_field);
}

// PM-009
TEST(PMulPdu, a_list_that_makes_no_sense_ends_there_and_leaves_the_rest_unknown) {
  EXPECT_EQ(entry_of({3, 5, 0, 9, 12}).missing,
            (std::vector<BlockRange>{{3, 3}, {5, 9}, {12, 12}}));
  EXPECT_FALSE(entry_of({3, 5, 0, 9, 12}).truncated);
  // The list has the end-of-list indicator.
  EXPECT_EQ(entry_of({3, 5, 0, 9, 9}).missing, (std::vector<BlockRange>{{3, 3}, {5, 9}}));
  EXPECT_TRUE(entry_of({3, 5, 0, 9, 9}).truncated);
  // The lists descend, have a range that ends before it starts, or a delimiter at the end or
  // doubled.
  EXPECT_TRUE(entry_of({7, 6, 8}).truncated);
  EXPECT_EQ(entry_of({7, 6, 8}).missing, (std::vector<BlockRange>{{7, 7}}));
  EXPECT_TRUE(entry_of({2, 9, 0, 4}).truncated);
  EXPECT_EQ(entry_of({2, 9, 0, 4}).missing, (std::vector<BlockRange>{{2, 2}}));
  EXPECT_TRUE(entry_of({4, 0}).truncated);
  EXPECT_EQ(entry_of({4, 0}).missing, (std::vector<BlockRange>{{4, 4}}));
  EXPECT_TRUE(entry_of({4, 0, 0, 7}).truncated || entry_of({4, 0, 0, 7}).missing.empty());
  // An overlap ends the list, too.
  EXPECT_EQ(entry_of({3, 0, 9, 5, 0, 12}).missing, (std::vector<BlockRange>{{3, 9}}));
  EXPECT_TRUE(entry_of({3, 0, 9, 5, 0, 12}).truncated);
}

// A node that sends an unreadable list must not count as complete.
TEST(PMulPdu, an_unreadable_list_is_not_an_empty_one) {
  EXPECT_EQ(error_of(ack_with_list({0, 3})), ErrorCode::bad_field);
  EXPECT_EQ(error_of(ack_with_list({5, 0, 3})), ErrorCode::bad_field);
}

TEST(PMulPdu, an_entry_of_odd_or_too_small_length_is_refused) {
  for (const std::uint8_t length : {std::uint8_t{0}, std::uint8_t{9}, std::uint8_t{11}}) {
    Bytes ack = ack_with_list({2});
    ack[15] = length;
    EXPECT_EQ(error_of(mended(ack)), ErrorCode::bad_field) << int{length};
  }
}

// PM-006: 65535 entries are announced and none is there. Sizes are just at and below the need.
TEST(PMulPdu, lying_counts_cost_nothing) {
  Bytes address = *from_hex("00180402000231B40A0101010001E2406553FF1000000000");
  address[20] = address[21] = 0xFF;
  EXPECT_EQ(error_of(mended(address)), ErrorCode::truncated);
  address[20] = 0;
  address[21] = 1;
  address[22] = address[23] = 0xFF;  // reserved octets
  EXPECT_EQ(error_of(mended(address)), ErrorCode::truncated);
  Bytes ack = ack_with_list({});
  ack[12] = ack[13] = 0xFF;
  EXPECT_EQ(error_of(mended(ack)), ErrorCode::truncated);
  Bytes announce = *from_hex("002000040002E6F70A0101010001E2406553FF10E00002010A0101020A010103");
  announce[5] = 3;
  EXPECT_EQ(error_of(mended(announce)), ErrorCode::truncated);
  announce[5] = 2;
  EXPECT_TRUE(decode(mended(announce)).ok());
}

TEST(PMulPdu, lists_know_their_size) {
  const std::vector<BlockRange> missing{{1, 3}, {5, 8}, {10, 10}};
  EXPECT_EQ(list_values(missing, false), 8u);
  EXPECT_EQ(list_values(missing, true), 7u);
  EXPECT_EQ(block_count(missing), 8u);
}

}  // namespace
}  // namespace s5066::p_mul
