// SPDX-License-Identifier: Apache-2.0
#include "gateways/p_mul/erasure_code.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "s5066d/base/rng.h"

namespace s5066::p_mul {
namespace {

/// Multiplies in GF(2^8) with 0x11D, bit by bit, as the format says and without the library.
std::uint8_t times(std::uint8_t a, std::uint8_t b) {
  unsigned product = 0, shifted = a;
  for (unsigned bits = b; bits != 0; bits >>= 1) {
    if (bits & 1) product ^= shifted;
    shifted <<= 1;
    if (shifted & 0x100) shifted ^= 0x11D;
  }
  return static_cast<std::uint8_t>(product);
}

std::uint8_t inverse(std::uint8_t a) {
  for (unsigned b = 1; b < 256; ++b) {
    if (times(a, static_cast<std::uint8_t>(b)) == 1) return static_cast<std::uint8_t>(b);
  }
  return 0;
}

Bytes random_content(Rng& rng, std::size_t octets) {
  Bytes content(octets);
  for (auto& octet : content) octet = static_cast<std::uint8_t>(rng.next());
  return content;
}

ByteSpan block(const Bytes& content, std::size_t number, std::size_t octets) {
  const std::size_t begin = (number - 1) * octets;
  return ByteSpan(content).subspan(begin, std::min(octets, content.size() - begin));
}

TEST(BlockGroups, deal_blocks_like_cards) {
  EXPECT_EQ(BlockGroups(1).count(), 1u);
  EXPECT_EQ(BlockGroups(160).count(), 1u);
  EXPECT_EQ(BlockGroups(161).count(), 2u);
  for (const std::uint16_t total :
       {std::uint16_t{1}, std::uint16_t{7}, std::uint16_t{160}, std::uint16_t{161},
        std::uint16_t{1000}, std::uint16_t{65535}}) {
    const BlockGroups groups(total);
    std::vector<std::size_t> blocks(groups.count());
    for (std::uint32_t n = 1; n <= total; ++n) {
      const auto number = static_cast<std::uint16_t>(n);
      const std::size_t group = groups.group_of_block(number);
      ASSERT_EQ(groups.block_number(group, groups.column(number)), number);
      ++blocks[group];
    }
    for (std::size_t group = 0; group < groups.count(); ++group) {
      ASSERT_EQ(groups.blocks(group), blocks[group]);
      ASSERT_LE(blocks[group], kGroupBlocksMax);
      const auto last = groups.parity_number(group, kGroupRowsMax - 1);
      ASSERT_TRUE(groups.is_parity(last));
      ASSERT_EQ(groups.group_of_parity(last), group);
    }
    ASSERT_FALSE(groups.is_parity(groups.parity_number(0, kGroupRowsMax)));
  }
}

// The test computes the documented format without the library: three blocks, the last one short.
TEST(ErasureCode, parity_is_what_the_format_says) {
  const Bytes content = {1, 2, 3, 4, 5};
  const BlockGroups groups(3);
  for (const std::uint16_t row : {std::uint16_t{0}, std::uint16_t{1}, std::uint16_t{95}}) {
    const Bytes parity = parity_of(groups, content, 2, row);
    const auto a = [&](unsigned c) { return inverse(static_cast<std::uint8_t>((160u + row) ^ c)); };
    EXPECT_EQ(parity[0], times(a(0), 1) ^ times(a(1), 3) ^ times(a(2), 5));
    EXPECT_EQ(parity[1], times(a(0), 2) ^ times(a(1), 4));
  }
}

TEST(ErasureCode, any_losses_are_made_up_for_by_as_many_rows) {
  Rng rng(1);
  for (int i = 0; i < 300; ++i) {
    const std::size_t octets = 1 + rng.below(100);
    const auto total = static_cast<std::uint16_t>(1 + rng.below(kGroupBlocksMax));
    const Bytes content =
        random_content(rng, octets * total - rng.below(static_cast<std::uint32_t>(octets)));
    const BlockGroups groups(total);
    const double loss = rng.uniform();
    std::map<std::size_t, ByteSpan> columns;
    std::vector<std::size_t> lost;
    for (std::size_t column = 0; column < total; ++column) {
      if (lost.size() < kGroupRowsMax && rng.chance(loss)) {
        lost.push_back(column);
      } else {
        columns[column] = block(content, column + 1, octets);
      }
    }
    std::map<std::size_t, Bytes> parity;
    while (parity.size() < lost.size()) {
      const auto row = static_cast<std::uint16_t>(rng.below(kGroupRowsMax));
      if (!parity.contains(row)) parity[row] = parity_of(groups, content, octets, row);
    }
    std::map<std::size_t, ByteSpan> rows;
    for (const auto& [row, octets_of_row] : parity) rows[row] = octets_of_row;
    const auto made = recover(total, columns, rows);
    ASSERT_EQ(made.size(), lost.size());
    for (const std::size_t column : lost) {
      const ByteSpan wanted = block(content, column + 1, octets);
      const Bytes& got = made.at(column);
      ASSERT_EQ(got.size(), octets);
      ASSERT_TRUE(std::equal(wanted.begin(), wanted.end(), got.begin()));
    }
  }
}

}  // namespace
}  // namespace s5066::p_mul
