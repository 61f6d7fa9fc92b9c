// SPDX-License-Identifier: Apache-2.0
// The time of a burst on the air, exact to the symbol. Packing, EOT, the simulation and the
// modulators all use these functions.
//
// The data part is a whole number of blocks. A block is what the interleaver holds. Without an
// interleaver it is the fewest frames that carry a whole number of bits. The blocks carry the
// user's bits and a trailer: with MIL-STD-188-110A the 32-bit end-of-message mark and 144 flush
// bits, with STANAG 4539 and 110D the mark alone. STANAG 4285 has no blocks, so a frame counts as
// one; behind the mark and the flush come the bits that empty the interleaver, and the preamble is
// the synchronisation of the first frame.
//
// A time that is no whole number of nanoseconds is rounded up.
#pragma once

#include <cstddef>
#include <cstdint>

#include "modem/api/modes.h"
#include "s5066d/base/time.h"

namespace s5066::modem {

/// Symbol rate of the waveforms for channels of 3 kHz, in Bd.
inline constexpr std::uint64_t kSymbolRate = 2400;

/// Returns the symbol rate of a mode in Bd, an even number.
std::uint64_t symbol_rate(const Mode& mode);
/// Returns the symbols from key-down to the first data symbol.
std::uint64_t preamble_symbols(const Mode& mode);
/// Returns the symbols of the first `blocks` blocks, with the preambles that STANAG 4539 inserts
/// between them.
std::uint64_t data_symbols(const Mode& mode, std::uint64_t blocks);
/// Returns the symbols of a whole burst.
std::uint64_t burst_symbols(const Mode& mode, std::size_t octets);

/// Returns the user bits that one block carries.
std::size_t block_bits(const Mode& mode);
/// Returns the bits that every burst carries behind the user's bits.
std::size_t trailer_bits(const Mode& mode);
/// Returns the blocks that a burst of `octets` octets fills; at least 1.
std::size_t block_count(const Mode& mode, std::size_t octets);
/// Returns the most octets that `blocks` blocks hold; 0 when the trailer fills them.
std::size_t block_capacity(const Mode& mode, std::uint64_t blocks);

/// Returns the time from key-down to the first data symbol.
Duration preamble_duration(const Mode& mode);
/// Returns the time of the first `blocks` blocks.
Duration data_duration_of_blocks(const Mode& mode, std::uint64_t blocks);
/// Returns the time of the data part, without the preamble.
Duration data_duration(const Mode& mode, std::size_t octets);
/// Returns the time from key-down to key-up.
Duration airtime(const Mode& mode, std::size_t octets);
/// Returns the most octets whose data part is at most `data_time_max`; 0 when no block fits.
std::size_t capacity(const Mode& mode, Duration data_time_max);

}  // namespace s5066::modem
