// SPDX-License-Identifier: Apache-2.0
#include "modem/dsp/interleaver.h"

#include <array>
#include <numeric>

namespace s5066::modem::dsp {

Interleaver::Interleaver(const Config& config, Memory* memory) : load_index_of_fetch_(memory) {
  S5066_ASSERT(config.rows > 0 && config.rows <= kRowsMax && config.columns > 0);
  S5066_ASSERT(std::gcd(config.rows, config.row_step) == 1);
  const unsigned rows = config.rows;
  const unsigned columns = config.columns;

  std::array<unsigned, kRowsMax> place_in_column{};  // place in the order of loading, for each row
  for (unsigned n = 0; n < rows; ++n) place_in_column[(config.row_step * n) % rows] = n;
  load_index_of_fetch_.reserve(std::size_t{rows} * columns);
  for (unsigned first = 0; first < columns; ++first) {
    for (unsigned row = 0; row < rows; ++row) {
      const unsigned back = (config.column_step * row) % columns;
      const unsigned column = (first + columns - back) % columns;
      load_index_of_fetch_.push_back(column * rows + place_in_column[row]);
    }
  }
}

Interleaver::Interleaver(const Steps& steps, Memory* memory)
    : load_index_of_fetch_(steps.size, memory) {
  S5066_ASSERT(steps.size > 0 && std::gcd(steps.size, steps.increment) == 1);
  std::uint64_t place = 0;
  for (std::uint32_t n = 0; n < steps.size; ++n) {
    load_index_of_fetch_[place] = n;
    place = (place + steps.increment) % steps.size;
  }
}

}  // namespace s5066::modem::dsp
