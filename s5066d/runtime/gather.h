// How much of what waits for a client goes out in one write.
#pragma once

#include <cstddef>

#include "s5066d/base/bytes.h"

namespace s5066::runtime {

/// Of `frames`, which begin with a whole frame of ours: as many whole ones as `octets_max` holds,
/// at least one. So no header is cut in two between segments, which tshark 4.0 would not put
/// together again.
std::size_t octets_of_whole_frames(ByteSpan frames, std::size_t octets_max);

}  // namespace s5066::runtime
