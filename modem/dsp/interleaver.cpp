#include "modem/dsp/interleaver.h"

#include <numeric>

namespace s5066::modem::dsp {

Interleaver::Interleaver(const Config& config) {
  S5066_ASSERT(config.rows > 0 && config.columns > 0);
  const unsigned rows = config.rows;
  const unsigned columns = config.columns;

  std::vector<std::uint32_t> load_index_at(std::size_t{rows} * columns);  // by row, then column
  for (unsigned n = 0; n < rows * columns; ++n) {
    const unsigned row = (config.row_step * n) % rows;
    load_index_at[row * columns + n / rows] = n;
  }
  load_index_of_fetch_.reserve(load_index_at.size());
  for (unsigned first = 0; first < columns; ++first) {
    for (unsigned row = 0; row < rows; ++row) {
      const unsigned back = (config.column_step * row) % columns;
      const unsigned column = (first + columns - back) % columns;
      load_index_of_fetch_.push_back(load_index_at[row * columns + column]);
    }
  }
}

Interleaver::Interleaver(const Steps& steps) : load_index_of_fetch_(steps.size) {
  S5066_ASSERT(steps.size > 0 && std::gcd(steps.size, steps.increment) == 1);
  std::uint64_t place = 0;
  for (std::uint32_t n = 0; n < steps.size; ++n) {
    load_index_of_fetch_[place] = n;
    place = (place + steps.increment) % steps.size;
  }
}

}  // namespace s5066::modem::dsp
