// SPDX-License-Identifier: Apache-2.0
// Marks by which a copy of a message is recognised: a mail server that repeats a message, and a
// message that comes over two ways through the air, change its trace fields and nothing that
// matters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gateways/acp142/mail/mail_types.h"

namespace s5066::acp142 {

/// Returns one mark for each recipient, in their order: equal for two messages with the same
/// sender, recipient, Message-ID, Resent-Message-ID, Date, Subject and body. Without a Message-ID
/// the whole content but for its Received fields must be the same. Empty for a message that has
/// neither Message-ID nor Date: two of these may well be meant. `way` keeps the marks of different
/// ways apart.
std::vector<std::string> repeat_marks(const Mail& mail, std::string_view way);

}  // namespace s5066::acp142
