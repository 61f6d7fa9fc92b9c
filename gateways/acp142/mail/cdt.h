// SPDX-License-Identifier: Apache-2.0
// The compressed data type around a message on P_MUL (RFC 8494 3.2; STANAG 4406 Annex E): BER of an
// algorithm, a content type and a zlib stream (RFC 1950).
#pragma once

#include <cstddef>
#include <cstdint>

#include "gateways/acp142/mail/compression.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"

namespace s5066::acp142 {

inline constexpr std::uint8_t kContentTypeMule = 25;

/// How the two short forms are tagged: 80 01 00, or A0 03 02 01 00.
enum class CdtTags : std::uint8_t { implicit_, explicit_ };

/// Content that would exceed the ratio of InflateLimits{} is compressed less, so that it does not.
/// Wireshark reads implicit tags only; a decoder made from the ASN.1 module of RFC 8494 as
/// published reads explicit tags only.
Bytes encode_cdt(ByteSpan content, CdtTags tags = CdtTags::implicit_);

/// Takes short forms with implicit and explicit tags, definite and indefinite lengths, octet
/// strings in pieces, and anything behind the end. `unsupported` for another algorithm or content
/// type, `too_large` over a limit, `bad_checksum` for a stream whose Adler-32 is wrong.
Result<Bytes> decode_cdt(ByteSpan octets, const InflateLimits& limits,
                         std::uint8_t content_type = kContentTypeMule);

}  // namespace s5066::acp142
