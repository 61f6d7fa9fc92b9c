// SPDX-License-Identifier: Apache-2.0
#include "s5066d/base/json_text.h"

#include <cstdio>

namespace s5066 {

std::string json_quoted(std::string_view text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      json.push_back('\\');
      json.push_back(c);
    } else if (static_cast<unsigned char>(c) < ' ') {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      json += escape;
    } else {
      json.push_back(c);
    }
  }
  return json + '"';
}

}  // namespace s5066
