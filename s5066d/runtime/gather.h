// SPDX-License-Identifier: Apache-2.0
// Chooses how much of a client's waiting output goes out in one write.
#pragma once

#include <cstddef>

#include "s5066d/base/bytes.h"

namespace s5066::runtime {

/// Returns the octets of as many whole frames at the start of `frames` as `octets_max` holds, at
/// least one. So no header is split between segments, which tshark 4.0 would not reassemble.
std::size_t octets_of_whole_frames(ByteSpan frames, std::size_t octets_max);

}  // namespace s5066::runtime
