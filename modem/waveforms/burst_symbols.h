// The symbols of a whole transmission, whatever its waveform.
#pragma once

#include <vector>

#include "modem/api/modes.h"
#include "modem/dsp/complex_math.h"
#include "s5066d/base/bytes.h"

namespace s5066::modem {

/// Octets go out least significant bit first.
std::vector<dsp::Complex> make_symbols(const Mode& mode, ByteSpan bytes);

}  // namespace s5066::modem
