// The symbols of a whole transmission, whatever its waveform.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "modem/api/modes.h"
#include "modem/dsp/complex_math.h"
#include "s5066d/base/bytes.h"

namespace s5066::modem {

struct BurstSymbols {
  std::vector<std::uint8_t> numbers;     // one for each symbol
  std::span<const dsp::Complex> points;  // what the numbers stand for; lives as long as the program
};

/// Octets go out least significant bit first.
BurstSymbols make_symbols(const Mode& mode, ByteSpan bytes);

}  // namespace s5066::modem
