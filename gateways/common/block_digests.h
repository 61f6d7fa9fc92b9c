// SPDX-License-Identifier: Apache-2.0
// Digests of the blocks of a file, by which its receiver finds the damaged ones.
#pragma once

#include <cstdint>
#include <vector>

#include "s5066d/base/bytes.h"

namespace s5066::gateways {

/// Returns the digests for the manifest of this image; none if the logarithm is 0.
std::vector<Bytes> block_digests_of(ByteSpan image, std::uint8_t block_size_log2);

}  // namespace s5066::gateways
