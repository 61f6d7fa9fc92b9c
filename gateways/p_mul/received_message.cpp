// SPDX-License-Identifier: Apache-2.0
#include "gateways/p_mul/received_message.h"

#include <utility>

namespace s5066::p_mul {
namespace {

void add(std::vector<BlockRange>& ranges, std::uint16_t number) {
  if (!ranges.empty() && ranges.back().last + 1 == number) {
    ranges.back().last = number;
  } else {
    ranges.push_back({number, number});
  }
}

}  // namespace

void ReceivedMessage::add_block(std::uint16_t number, Bytes block) {
  octets_ += block.size() + kBlockCost;
  blocks.emplace(number, std::move(block));
}

void ReceivedMessage::add_parity(const ParityPdu& row) {
  octets_ += row.parity.size() + kBlockCost;
  parity.emplace(row.number, row);
}

std::size_t ReceivedMessage::drop_blocks_above_total() {
  std::size_t dropped = 0;
  for (auto at = blocks.upper_bound(total); at != blocks.end(); ++dropped) {
    octets_ -= at->second.size() + kBlockCost;
    at = blocks.erase(at);
  }
  return dropped;
}

void ReceivedMessage::drop_parity() {
  for (const auto& [number, row] : parity) octets_ -= row.parity.size() + kBlockCost;
  parity.clear();
}

std::size_t ReceivedMessage::recover_group(std::size_t group) {
  const BlockGroups groups(total);
  std::map<std::size_t, ByteSpan> columns, rows;
  std::uint16_t last_block_octets = 0;
  for (std::size_t row = 0; row < kGroupRowsMax; ++row) {
    const auto at = parity.find(groups.parity_number(group, row));
    if (at == parity.end() || at->second.total != total) continue;
    // All rows of a message have the same length. A row of another length belongs to another
    // message.
    const Bytes& octets = at->second.parity;
    if (!rows.empty() && rows.begin()->second.size() != octets.size()) continue;
    rows[row] = octets;
    last_block_octets = at->second.last_block_octets;
  }
  if (rows.empty()) return 0;
  const std::size_t row_octets = rows.begin()->second.size();
  const std::size_t in_group = groups.blocks(group);
  for (std::size_t column = 0; column < in_group; ++column) {
    const std::uint16_t number = groups.block_number(group, column);
    const auto block = blocks.find(number);
    if (block == blocks.end()) continue;
    const std::size_t wanted = number == total ? last_block_octets : row_octets;
    if (block->second.size() != wanted) return 0;  // this parity belongs to another message
    columns[column] = block->second;
  }
  if (columns.size() == in_group || columns.size() + rows.size() < in_group) return 0;
  std::size_t made = 0;
  for (auto& [column, block] : recover(in_group, columns, rows)) {
    const std::uint16_t number = groups.block_number(group, column);
    if (number == total) block.resize(last_block_octets);
    add_block(number, std::move(block));
    ++made;
  }
  std::erase_if(parity, [&](const auto& entry) {
    if (groups.group_of_parity(entry.first) != group) return false;
    octets_ -= entry.second.parity.size() + kBlockCost;
    return true;
  });
  return made;
}

std::vector<BlockRange> ReceivedMessage::missing() const {
  std::vector<std::size_t> spare;
  std::optional<BlockGroups> groups;
  if (!parity.empty()) {
    groups.emplace(total);
    spare.resize(groups->count());
    for (const auto& [number, row] : parity) {
      if (row.total == total) ++spare[groups->group_of_parity(number)];
    }
  }
  // The search begins at the last block, so that parity makes up for the last missing blocks and
  // the list names the first.
  std::vector<std::uint16_t> numbers;
  for (std::uint32_t n = total; n >= 1; --n) {
    const auto number = static_cast<std::uint16_t>(n);
    if (blocks.contains(number)) continue;
    if (groups) {
      std::size_t& left = spare[groups->group_of_block(number)];
      if (left > 0) {
        --left;
        continue;
      }
    }
    numbers.push_back(number);
  }
  std::vector<BlockRange> ranges;
  for (auto at = numbers.rbegin(); at != numbers.rend(); ++at) add(ranges, *at);
  return ranges;
}

Bytes ReceivedMessage::content() const {
  Bytes all;
  for (const auto& [number, block] : blocks) append(all, block);
  return all;
}

}  // namespace s5066::p_mul
