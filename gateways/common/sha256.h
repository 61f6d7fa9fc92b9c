// SPDX-License-Identifier: Apache-2.0
// The hash by which stored content is recognised and checked.
#pragma once

#include "s5066d/base/bytes.h"

namespace s5066::gateways {

/// Returns the 32 octets of the hash.
Bytes sha256_of(ByteSpan content);

}  // namespace s5066::gateways
