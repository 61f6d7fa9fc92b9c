// SPDX-License-Identifier: Apache-2.0
// Block interleavers. That of MIL-STD-188-110A (5.3.2.3.3) is a matrix filled column by column with
// a row step and read along diagonals. That of STANAG 4539 is filled in steps and read in order.
// Both are stored as one permutation, so that they serve bits and soft bits.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "s5066d/base/assert.h"

namespace s5066::modem::dsp {

class Interleaver {
 public:
  struct Config {
    unsigned rows = 40;
    unsigned columns = 72;
    unsigned row_step = 9;      // load: bit n goes to row (row_step x n) mod rows
    unsigned column_step = 17;  // fetch: row r is read column_step x r columns to the left
  };

  struct Steps {
    unsigned size = 512;
    unsigned increment = 97;  // load: bit n goes to place (increment x n) mod size
  };

  using Memory = std::pmr::memory_resource;
  static constexpr unsigned kRowsMax = 40;

  explicit Interleaver(const Config& config, Memory* memory = std::pmr::get_default_resource());
  explicit Interleaver(const Steps& steps, Memory* memory = std::pmr::get_default_resource());

  std::size_t size() const { return load_index_of_fetch_.size(); }

  /// Returns the load index of the bit that is fetched as number `fetch`.
  std::size_t load_index(std::size_t fetch) const { return load_index_of_fetch_[fetch]; }

  /// Both spans hold size() values.
  template <typename T>
  void interleave(std::span<const T> in, std::span<T> out) const {
    S5066_ASSERT(in.size() == size() && out.size() == size());
    for (std::size_t i = 0; i < size(); ++i) out[i] = in[load_index_of_fetch_[i]];
  }
  template <typename T>
  void deinterleave(std::span<const T> in, std::span<T> out) const {
    S5066_ASSERT(in.size() == size() && out.size() == size());
    for (std::size_t i = 0; i < size(); ++i) out[load_index_of_fetch_[i]] = in[i];
  }

 private:
  std::pmr::vector<std::uint32_t> load_index_of_fetch_;
};

}  // namespace s5066::modem::dsp
