// SPDX-License-Identifier: Apache-2.0
// Converts octets to the symbols of a whole STANAG 4539 transmission: preamble, frames of coded and
// interleaved data with probes, and the preambles inserted between them. All functions are pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "modem/api/modes.h"
#include "modem/waveforms/stanag4539/parameters.h"
#include "s5066d/base/bytes.h"

namespace s5066::modem::stanag4539 {

/// Returns the numbers of the symbols of the transmission, see points(). Octets are sent with the
/// least significant bit first.
std::vector<std::uint8_t> symbols(const Mode& mode, ByteSpan bytes);

}  // namespace s5066::modem::stanag4539
