// SPDX-License-Identifier: Apache-2.0
// The lines of a chat as people read them, and as JSON.
#pragma once

#include <string>

#include "gateways/chat/chat_types.h"
#include "s5066d/base/time.h"

namespace s5066::chat {

/// Returns the line with its end, such as "12:31:07Z 1.2.0.2: QSL". Each further line of the text
/// is indented.
std::string as_text(const Line& line, Duration since_1970);

/// Returns one JSON object and the end of the line.
std::string as_json(const Line& line, Duration since_1970);

}  // namespace s5066::chat
