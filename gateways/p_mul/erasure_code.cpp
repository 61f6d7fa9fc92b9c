// SPDX-License-Identifier: Apache-2.0
#include "gateways/p_mul/erasure_code.h"

#include <isa-l/erasure_code.h>

#include <algorithm>

#include "s5066d/base/assert.h"

namespace s5066::p_mul {
namespace {

constexpr std::size_t kTableOctets = 32;  // size of the library's table for each coefficient

std::uint8_t coefficient(std::size_t row, std::size_t column) {
  return gf_inv(static_cast<std::uint8_t>((kGroupBlocksMax + row) ^ column));
}

/// Returns the product of the matrix and the inputs. Each output is the sum of all inputs, weighted
/// by one row of the matrix.
std::vector<Bytes> multiply(std::vector<std::uint8_t>& matrix, std::vector<Bytes>& inputs,
                            std::size_t outputs, std::size_t octets) {
  std::vector<Bytes> results(outputs, Bytes(octets));
  std::vector<std::uint8_t> tables(kTableOctets * inputs.size() * outputs);
  std::vector<std::uint8_t*> in, out;
  for (Bytes& input : inputs) in.push_back(input.data());
  for (Bytes& result : results) out.push_back(result.data());
  ec_init_tables(static_cast<int>(inputs.size()), static_cast<int>(outputs), matrix.data(),
                 tables.data());
  ec_encode_data(static_cast<int>(octets), static_cast<int>(inputs.size()),
                 static_cast<int>(outputs), tables.data(), in.data(), out.data());
  return results;
}

Bytes padded(ByteSpan octets, std::size_t length) {
  Bytes block(octets.begin(), octets.begin() + std::min(octets.size(), length));
  block.resize(length);
  return block;
}

}  // namespace

BlockGroups::BlockGroups(std::uint16_t total)
    : total_(total), count_((total + kGroupBlocksMax - 1) / kGroupBlocksMax) {
  S5066_ASSERT(total > 0);
}

std::size_t BlockGroups::blocks(std::size_t group) const {
  S5066_ASSERT(group < count_);
  return (total_ - group + count_ - 1) / count_;
}

std::uint16_t BlockGroups::block_number(std::size_t group, std::size_t column) const {
  return static_cast<std::uint16_t>(column * count_ + group + 1);
}

std::uint16_t BlockGroups::parity_number(std::size_t group, std::size_t row) const {
  return static_cast<std::uint16_t>(row * count_ + group);
}

Bytes parity_of(const BlockGroups& groups, ByteSpan content, std::size_t block_octets,
                std::uint16_t parity_number) {
  S5066_ASSERT(groups.is_parity(parity_number));
  const std::size_t group = groups.group_of_parity(parity_number);
  std::vector<std::uint8_t> matrix;
  std::vector<Bytes> blocks;
  for (std::size_t column = 0; column < groups.blocks(group); ++column) {
    const std::size_t begin = (groups.block_number(group, column) - 1u) * block_octets;
    blocks.push_back(padded(content.subspan(std::min(begin, content.size())), block_octets));
    matrix.push_back(coefficient(groups.row(parity_number), column));
  }
  return std::move(multiply(matrix, blocks, 1, block_octets).front());
}

std::map<std::size_t, Bytes> recover(std::size_t blocks,
                                     const std::map<std::size_t, ByteSpan>& columns,
                                     const std::map<std::size_t, ByteSpan>& rows) {
  S5066_ASSERT(columns.size() + rows.size() >= blocks && blocks <= kGroupBlocksMax);
  std::vector<std::size_t> missing;
  for (std::size_t column = 0; column < blocks; ++column) {
    if (!columns.contains(column)) missing.push_back(column);
  }
  if (missing.empty()) return {};
  const std::size_t octets = rows.begin()->second.size();

  // The known columns are subtracted from each row, so that only the missing columns remain in it.
  std::vector<Bytes> inputs;
  for (const auto& [column, block] : columns) inputs.push_back(padded(block, octets));
  std::vector<std::uint8_t> square, known;
  auto row = rows.begin();
  for (std::size_t i = 0; i < missing.size(); ++i, ++row) {
    for (const auto& [column, block] : columns) known.push_back(coefficient(row->first, column));
    for (const std::size_t column : missing) square.push_back(coefficient(row->first, column));
  }
  std::vector<Bytes> sums(missing.size(), Bytes(octets));
  if (!inputs.empty()) sums = multiply(known, inputs, missing.size(), octets);
  row = rows.begin();
  for (Bytes& sum : sums) {
    S5066_ASSERT(row->second.size() == octets && row->first < kGroupRowsMax);
    for (std::size_t i = 0; i < octets; ++i) sum[i] ^= row->second[i];
    ++row;
  }

  std::vector<std::uint8_t> inverse(square.size());
  const int singular =
      gf_invert_matrix(square.data(), inverse.data(), static_cast<int>(missing.size()));
  S5066_ASSERT(singular == 0);  // every square part of a Cauchy matrix can be inverted
  auto blocks_made = multiply(inverse, sums, missing.size(), octets);
  std::map<std::size_t, Bytes> made;
  for (std::size_t i = 0; i < missing.size(); ++i) made[missing[i]] = std::move(blocks_made[i]);
  return made;
}

}  // namespace s5066::p_mul
