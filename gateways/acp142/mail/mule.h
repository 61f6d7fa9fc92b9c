// SPDX-License-Identifier: Apache-2.0
// The payload of Multicast Email (RFC 8494 3.1): the envelope as lines of SMTP parameters, an empty
// line, and the content without SMTP's stuffed dots.
#pragma once

#include <cstddef>

#include "gateways/acp142/mail/mail_types.h"

namespace s5066::acp142 {

struct MuleLimits {
  std::size_t recipients_max = 1000;
};

/// Omits SIZE, because the payload gives the size.
Bytes encode_mule(const Envelope& envelope, ByteSpan content);
/// An unknown parameter is kept, because relays need not understand all of them (RFC 8494 3.3).
Result<Mail> decode_mule(ByteSpan payload, const MuleLimits& limits);

}  // namespace s5066::acp142
