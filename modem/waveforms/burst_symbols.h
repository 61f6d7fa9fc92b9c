// SPDX-License-Identifier: Apache-2.0
// The symbols of a whole transmission of any waveform.
#pragma once

#include <vector>

#include "modem/api/modes.h"
#include "modem/dsp/complex_math.h"
#include "modem/waveforms/ms110d/parameters.h"
#include "s5066d/base/bytes.h"

namespace s5066::modem {

/// The preamble of a 110D burst announces these choices of the sender besides its mode.
struct Ms110dChoice {
  unsigned constraint = ms110d::kConstraint;     // 7 or 9
  unsigned super_frames = ms110d::kSuperFrames;  // 1 to ms110d::kSuperFramesMax
};

/// Octets are sent with the least significant bit first. `choice` applies only to 110D.
std::vector<dsp::Complex> make_symbols(const Mode& mode, ByteSpan bytes,
                                       const Ms110dChoice& choice = {});

}  // namespace s5066::modem
