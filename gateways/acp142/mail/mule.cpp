// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/mail/mule.h"

#include <algorithm>

namespace s5066::acp142 {
namespace {

void put_line(Bytes& out, std::string_view line) {
  out.insert(out.end(), line.begin(), line.end());
  out.insert(out.end(), {'\r', '\n'});
}

}  // namespace

Bytes encode_mule(const Envelope& envelope, ByteSpan content) {
  Bytes out;
  Path from = envelope.from;
  std::erase_if(from.parameters, [](const Parameter& p) { return p.keyword == "SIZE"; });
  put_line(out, to_string(from));
  for (const Path& recipient : envelope.recipients) put_line(out, to_string(recipient));
  put_line(out, "");
  append(out, content);
  return out;
}

Result<Mail> decode_mule(ByteSpan payload, const MuleLimits& limits) {
  const std::string_view text(reinterpret_cast<const char*>(payload.data()), payload.size());
  Mail mail;
  bool first = true;
  for (std::size_t at = 0;;) {
    const std::size_t end = text.substr(at, kPathLineOctetsMax + 2).find("\r\n");
    if (end == std::string_view::npos)
      return Error{ErrorCode::truncated, "a line of the envelope has no end"};
    const std::string_view line = text.substr(at, end);
    at += end + 2;
    if (line.empty()) {
      if (mail.envelope.recipients.empty())
        return Error{ErrorCode::bad_field, "the envelope has no recipient"};
      mail.content.assign(payload.begin() + static_cast<std::ptrdiff_t>(at), payload.end());
      return mail;
    }
    auto path = parse_path(line, first ? PathUse::reverse : PathUse::forward);
    if (!path) return path.error();
    if (first) {
      mail.envelope.from = std::move(path).value();
      first = false;
      continue;
    }
    if (mail.envelope.recipients.size() == limits.recipients_max) {
      return Error{ErrorCode::too_large, "the envelope has too many recipients"};
    }
    mail.envelope.recipients.push_back(std::move(path).value());
  }
}

}  // namespace s5066::acp142
