// How long a burst takes on the air, to the symbol. Packing, EOT, simulation and the modulators all
// use these functions.
//
// The data part is a whole number of blocks. A block is what the interleaver holds, or, without
// one, the fewest frames that carry a whole number of bits. In the blocks lie the user's bits and
// behind them, of MIL-STD-188-110A, the 32-bit end-of-message mark and 144 flush bits, of
// STANAG 4539 and 110D the mark alone. STANAG 4285 has no blocks: what counts as one is a frame,
// and mark and flush are followed by what empties the interleaver; its preamble is the
// synchronisation of the first frame.
//
// Times that are no whole number of nanoseconds are rounded up.
#pragma once

#include <cstddef>
#include <cstdint>

#include "modem/api/modes.h"
#include "s5066d/base/time.h"

namespace s5066::modem {

/// Of every waveform, in Bd.
inline constexpr std::uint64_t kSymbolRate = 2400;

/// Symbols from key-down to the first data symbol.
std::uint64_t preamble_symbols(const Mode& mode);
/// Symbols of the first so many blocks, with the preambles that STANAG 4539 inserts between them.
std::uint64_t data_symbols(const Mode& mode, std::uint64_t blocks);
/// Symbols of a whole burst.
std::uint64_t burst_symbols(const Mode& mode, std::size_t octets);

/// User bits that one block carries.
std::size_t block_bits(const Mode& mode);
/// Bits every burst carries behind the user's.
std::size_t trailer_bits(const Mode& mode);
/// Blocks that a burst of that many octets fills; at least 1.
std::size_t block_count(const Mode& mode, std::size_t octets);
/// The most octets that so many blocks hold; 0 when the trailer fills them.
std::size_t block_capacity(const Mode& mode, std::uint64_t blocks);

/// Time from key-down to the first data symbol.
Duration preamble_duration(const Mode& mode);
/// The first so many blocks.
Duration data_duration_of_blocks(const Mode& mode, std::uint64_t blocks);
/// Data part without preamble.
Duration data_duration(const Mode& mode, std::size_t octets);
/// Key-down to key-up.
Duration airtime(const Mode& mode, std::size_t octets);
/// The most octets whose data part is at most `data_time_max`; 0 when not even one block fits.
std::size_t capacity(const Mode& mode, Duration data_time_max);

}  // namespace s5066::modem
