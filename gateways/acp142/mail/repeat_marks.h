// SPDX-License-Identifier: Apache-2.0
// Marks by which a copy of a message is recognised. A mail server that repeats a message changes
// only its trace fields, and so does a message that comes over two ways through the air.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gateways/acp142/mail/mail_types.h"

namespace s5066::acp142 {

/// Returns one mark for each recipient, in their order. Marks are equal for two messages with the
/// same sender, recipient, Message-ID, Resent-Message-ID, Date, Subject and body. Without a
/// Message-ID the whole content except its Received fields must be the same. The marks are empty
/// for a message with neither Message-ID nor Date, because two such messages may both be intended.
/// `way` keeps the marks of different ways apart.
std::vector<std::string> repeat_marks(const Mail& mail, std::string_view way);

}  // namespace s5066::acp142
