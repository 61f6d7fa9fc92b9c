// SPDX-License-Identifier: Apache-2.0
// Text in JSON, for programs that write JSON without Protobuf.
#pragma once

#include <string>
#include <string_view>

namespace s5066 {

/// Returns UTF-8 text as a JSON string with its quotation marks (RFC 8259 section 7).
std::string json_quoted(std::string_view text);

}  // namespace s5066
