// SPDX-License-Identifier: Apache-2.0
// Deflate streams of mail: in the zlib container (RFC 1950) on P_MUL, and in that of gzip (RFC
// 1952) with CFTP. Limits bound the memory that a few received octets may take.
#pragma once

#include <cstddef>
#include <cstdint>

#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"

namespace s5066::acp142 {

/// Limits for decompressed octets, against a hostile sender.
struct InflateLimits {
  std::size_t octets_max = 64u << 20;
  std::size_t ratio_max = 200;                // decompressed octets for each received one …
  std::size_t octets_always_allowed = 65536;  // … above this number of decompressed octets
};

enum class Container : std::uint8_t { zlib, gzip };

/// Content that would exceed the ratio of InflateLimits{} is compressed less, so that it stays
/// below. gzip output has one member with the shortest header, without name and time.
Bytes deflated(ByteSpan content, Container container);

/// Octets behind the end are ignored. In the zlib container only a zlib stream is accepted; in that
/// of gzip also several members, any legal header, or a zlib stream. Fails with `too_large` over a
/// limit, `bad_checksum` for a stream with a wrong checksum, `truncated` for one without its end.
Result<Bytes> inflated(ByteSpan compressed, const InflateLimits& limits, Container container);

}  // namespace s5066::acp142
