// SPDX-License-Identifier: Apache-2.0
#include "gateways/chat/chat_output.h"

#include <string_view>

#include "s5066d/base/json_text.h"
#include "s5066d/control/log_fields.h"

namespace s5066::chat {
namespace {

std::string indented(std::string_view text) {
  std::string lines;
  for (const char c : text) {
    lines.push_back(c);
    if (c == '\n') lines += "    ";
  }
  return lines;
}

std::string what(const Line& line) {
  const std::string number = '#' + std::to_string(line.number);
  const std::string to = to_string(line.to);
  switch (line.kind) {
    case LineKind::received:
      // The destination matters only if others have the message, too.
      return to_string(line.from) + (line.to.group ? " to " + to : "") + ": " + line.text;
    case LineKind::sent:
      return number + " to " + to + ": " + line.text;
    case LineKind::delivered:
      return number + " delivered to " + to;
    case LineKind::on_air:
      return number + " handed to the node for " + to + "; without ARQ no station confirms it";
    case LineKind::failed:
      return number + " NOT delivered to " + to + ": " + line.reason;
    case LineKind::unknown:
      return number + " to " + to + " may be LOST: " + line.reason;
    case LineKind::refused:
      return "NOT sent: " + line.text + ": " + line.reason;
    case LineKind::notice:
      break;
  }
  return "* " + line.text;
}

void add(std::string& json, std::string_view key, const std::string& value) {
  json.append(", \"").append(key).append("\": ").append(value);
}

}  // namespace

std::string as_text(const Line& line, Duration since_1970) {
  constexpr std::size_t kTimeAt = 11;
  constexpr std::size_t kTimeOctets = 8;
  const std::string utc = control::utc_text(since_1970);
  return utc.substr(kTimeAt, kTimeOctets) + "Z " + indented(what(line)) + '\n';
}

std::string as_json(const Line& line, Duration since_1970) {
  std::string json = "{\"event\": " + json_quoted(to_string(line.kind));
  add(json, "time", json_quoted(control::utc_text(since_1970)));
  if (line.number != 0) add(json, "id", std::to_string(line.number));
  if (line.kind == LineKind::received) add(json, "from", json_quoted(to_string(line.from)));
  if (line.kind != LineKind::notice && line.kind != LineKind::refused) {
    add(json, "to", json_quoted(to_string(line.to)));
    add(json, "group", line.to.group ? "true" : "false");
  }
  if (!line.text.empty()) add(json, "text", json_quoted(line.text));
  if (!line.reason.empty()) add(json, "reason", json_quoted(line.reason));
  return json + "}\n";
}

}  // namespace s5066::chat
