// The symbols of a whole transmission, whatever its waveform.
#pragma once

#include <vector>

#include "modem/api/modes.h"
#include "modem/dsp/complex_math.h"
#include "s5066d/base/bytes.h"

namespace s5066::modem {

/// Octets go out least significant bit first.
std::vector<dsp::Complex> make_symbols(const Mode& mode, ByteSpan bytes);
/// The same with so many super-frames of preamble, of 110D, 1 to 32.
std::vector<dsp::Complex> make_symbols(const Mode& mode, ByteSpan bytes, unsigned super_frames);

}  // namespace s5066::modem
