// SPDX-License-Identifier: Apache-2.0
// The mail record of CFTP (F.14.6, Table F-10), before compression: four fields, the first three
// with a LF behind each. The message is as an SMTP receiver gets it, with stuffed dots and the line
// that ends it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "gateways/acp142/mail/mail_types.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"

namespace s5066::acp142 {

inline constexpr std::size_t kCftpIdOctetsMax = 255;            // "less than 256 characters"
inline constexpr std::size_t kCftpRecipientsOctetsMax = 10239;  // "less than 10240"

struct CftpRecord {
  std::string id;  // MessageID; not the Message-ID of the header
  Mail mail;
  std::size_t octets_ignored = 0;  // octets behind the message
};

/// Returns how many of the recipients, from the first on, have room in one record. The list begins
/// with the return path.
std::size_t cftp_recipients_that_fit(const Envelope& envelope);
/// An address with a comma has no place in the list.
bool cftp_can_carry(std::string_view address);

/// The envelope fits, and the content is text.
Bytes encode_cftp_record(const std::string& id, const Mail& mail);
/// Takes addresses with and without angle brackets, and a message with and without its end.
Result<CftpRecord> decode_cftp_record(ByteSpan record, std::size_t recipients_max);

}  // namespace s5066::acp142
