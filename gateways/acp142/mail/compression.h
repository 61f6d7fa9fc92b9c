// SPDX-License-Identifier: Apache-2.0
// Deflate streams of mail: in the zlib container (RFC 1950) on P_MUL, in that of gzip (RFC 1952)
// with CFTP. What a few octets of others may become in memory is limited.
#pragma once

#include <cstddef>
#include <cstdint>

#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"

namespace s5066::acp142 {

/// Limits for what a hostile sender can make of few octets.
struct InflateLimits {
  std::size_t octets_max = 64u << 20;
  std::size_t ratio_max = 200;                // octets out for one octet in …
  std::size_t octets_always_allowed = 65536;  // … beyond this many
};

enum class Container : std::uint8_t { zlib, gzip };

/// Content that would exceed the ratio of InflateLimits{} is compressed less, so that it does not.
/// gzip has one member with the shortest header: no name, no time.
Bytes deflated(ByteSpan content, Container container);

/// Octets behind the end are ignored. A zlib stream is of one kind only; gzip may have several
/// members, any legal header, or be a zlib stream. `too_large` over a limit, `bad_checksum` for a
/// stream with a wrong checksum, `truncated` for one without its end.
Result<Bytes> inflated(ByteSpan compressed, const InflateLimits& limits, Container container);

}  // namespace s5066::acp142
