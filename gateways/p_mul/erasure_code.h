// SPDX-License-Identifier: Apache-2.0
// Parity across the blocks of one message. Any row of parity of a group can replace any lost block
// of the group (docs/decisions/0005).
//
// The blocks of a message are assigned in turn to G = ceil(total / 160) groups: block number n is
// column (n - 1) / G of group (n - 1) mod G. Parity number p is row p / G of group p mod G. An
// octet of row r is the sum over the columns c of inverse((160 + r) XOR c) times the octet of the
// block, in GF(2^8) with the polynomial 0x11D. A block that is too short is filled with octets of
// 0. Every square part of that matrix can be inverted (Cauchy matrix). Any k blocks and rows
// therefore recover a group of k blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "s5066d/base/bytes.h"

namespace s5066::p_mul {

inline constexpr std::size_t kGroupBlocksMax = 160;
inline constexpr std::size_t kGroupRowsMax = 96;

/// Maps block and parity numbers to groups, columns and rows.
class BlockGroups {
 public:
  /// `total` is the number of blocks. It is at least 1.
  explicit BlockGroups(std::uint16_t total);

  std::size_t count() const { return count_; }
  /// Returns the number of blocks of one group.
  std::size_t blocks(std::size_t group) const;
  std::size_t group_of_block(std::uint16_t number) const { return (number - 1u) % count_; }
  std::size_t column(std::uint16_t number) const { return (number - 1u) / count_; }
  std::uint16_t block_number(std::size_t group, std::size_t column) const;
  std::size_t group_of_parity(std::uint16_t number) const { return number % count_; }
  std::size_t row(std::uint16_t number) const { return number / count_; }
  /// Returns false for a number beyond the last row of its group.
  bool is_parity(std::uint16_t number) const { return row(number) < kGroupRowsMax; }
  std::uint16_t parity_number(std::size_t group, std::size_t row) const;

 private:
  std::size_t total_;
  std::size_t count_;
};

/// Returns the octets of one parity PDU. `content` is the whole message, which is cut into blocks
/// of `block_octets`.
Bytes parity_of(const BlockGroups& groups, ByteSpan content, std::size_t block_octets,
                std::uint16_t parity_number);

/// Computes the missing blocks of a group. `columns` and `rows` give octets by column and row;
/// together they are at least as many as the group has blocks. All rows have one length, to which
/// shorter columns are filled with 0. Returns the missing columns, all as long as a row.
std::map<std::size_t, Bytes> recover(std::size_t blocks,
                                     const std::map<std::size_t, ByteSpan>& columns,
                                     const std::map<std::size_t, ByteSpan>& rows);

}  // namespace s5066::p_mul
