// How long a burst takes on the air, to the sample. Packing, EOT, simulation and the modulator all
// use these functions. MIL-STD-188-110A serial tone: the data part is a whole number of interleaver
// blocks that hold the user bits, the 32-bit end-of-message mark and 144 flush bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "modem/api/modes.h"
#include "s5066d/base/time.h"

namespace s5066::modem {

/// Time from key-down to the first data symbol.
Duration preamble_duration(const Mode& mode);
/// One interleaver block.
Duration block_duration(const Mode& mode);
/// User bits that one block carries.
std::size_t block_bits(const Mode& mode);
/// Bits every burst carries behind the user's: end-of-message mark and flush.
std::size_t trailer_bits(const Mode& mode);
/// Blocks that a burst of that many octets fills; at least 1.
std::size_t block_count(const Mode& mode, std::size_t octets);
/// Data part without preamble.
Duration data_duration(const Mode& mode, std::size_t octets);
/// Key-down to key-up.
Duration airtime(const Mode& mode, std::size_t octets);
/// The most octets whose data part is at most `data_time_max`; 0 when not even one block fits.
std::size_t capacity(const Mode& mode, Duration data_time_max);

}  // namespace s5066::modem
