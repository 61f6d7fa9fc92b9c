// SPDX-License-Identifier: Apache-2.0
// The text of HFCHAT messages (F.7.2): one message is one U_PDU of SAP 5, in the alphabet ITA-5
// (ASCII, bit 7 is 0), and ends with CR and LF.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"

namespace s5066::chat {

/// Octets behind the text of each message: CR and LF.
inline constexpr std::size_t kEndOctets = 2;
/// Octets of a received message that are shown; the rest is only counted.
inline constexpr std::size_t kShownOctetsMax = 8192;

/// Returns the text in ITA-5. Accented letters and typographic signs get their usual spelling, such
/// as "oe" for "ö", and a tab becomes a blank. Fails with bad_field for any other character.
Result<std::string> to_ita5(std::string_view utf8);

/// Returns the messages that carry the text, each at most `mtu` octets; cut at blanks where the
/// text has them. `mtu` is larger than kEndOctets. An empty text gives no message.
std::vector<Bytes> messages_of(std::string_view ita5, std::size_t mtu);

/// Returns the number of messages that a text of so many octets becomes at most.
std::size_t messages_max(std::size_t octets, std::size_t mtu);

/// Returns a received message for people, whatever is in it: lines with "\n" between them, and
/// \xNN for each octet that is neither printable ASCII nor the end of a line.
std::string shown(ByteSpan updu);

/// Returns the text of a message of our own, without its CR and LF.
std::string text_of(const Bytes& message);

}  // namespace s5066::chat
