// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/peers/cftp_record.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "s5066d/base/assert.h"

namespace s5066::acp142 {
namespace {

constexpr std::string_view kEnd = "\r\n.\r\n";
constexpr std::size_t kSizeDigitsMax = 10;

Error bad(const char* what) {
  return {ErrorCode::bad_field, what};
}

/// Takes a field away from the front, without its LF.
std::optional<std::string_view> take_field(std::string_view& rest, std::size_t octets_max) {
  const std::size_t end = rest.substr(0, octets_max + 1).find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view field = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  return field;
}

/// The clause does not say how an address is written, so brackets and blanks around it go.
std::string_view bare(std::string_view address) {
  const auto strip = [&address](auto is) {
    while (!address.empty() && is(address.front())) address.remove_prefix(1);
    while (!address.empty() && is(address.back())) address.remove_suffix(1);
  };
  strip([](char c) { return c == ' ' || c == '\r'; });
  if (address.size() >= 2 && address.front() == '<' && address.back() == '>') {
    address = address.substr(1, address.size() - 2);
  }
  strip([](char c) { return c == ' '; });
  return address;
}

Result<Envelope> envelope_of(std::string_view list, std::size_t recipients_max) {
  Envelope envelope;
  for (bool first = true; first || !list.empty(); first = false) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string address(bare(list.substr(0, comma)));
    list.remove_prefix(std::min(comma + 1, list.size()));
    if (!first && address.empty()) continue;
    auto path = parse_path("<" + address + ">", first ? PathUse::reverse : PathUse::forward);
    if (!path) return path.error();
    if (first) {
      envelope.from = *std::move(path);
    } else if (envelope.recipients.size() == recipients_max) {
      return Error{ErrorCode::too_large, "the message has too many recipients"};
    } else {
      envelope.recipients.push_back(*std::move(path));
    }
  }
  if (envelope.recipients.empty()) return bad("the message has no recipient");
  return envelope;
}

/// Takes the dots and the end away that SMTP has put there. A message without the end has neither.
Bytes content_of(std::string_view message) {
  if (!message.ends_with(kEnd)) return {message.begin(), message.end()};
  message.remove_suffix(kEnd.size() - 2);
  Bytes content;
  content.reserve(message.size());
  while (!message.empty()) {
    const std::size_t end = message.find("\r\n");
    const std::size_t octets = end == std::string_view::npos ? message.size() : end + 2;
    const std::size_t dot = message.front() == '.' ? 1 : 0;
    content.insert(content.end(), message.begin() + dot, message.begin() + octets);
    message.remove_prefix(octets);
  }
  return content;
}

}  // namespace

std::size_t cftp_recipients_that_fit(const Envelope& envelope) {
  std::size_t octets = envelope.from.address.size();
  std::size_t n = 0;
  for (const Path& recipient : envelope.recipients) {
    octets += 1 + recipient.address.size();
    if (octets > kCftpRecipientsOctetsMax) break;
    ++n;
  }
  return n;
}

bool cftp_can_carry(std::string_view address) {
  return address.find(',') == std::string_view::npos;
}

Bytes encode_cftp_record(const std::string& id, const Mail& mail) {
  S5066_ASSERT(!id.empty() && id.size() <= kCftpIdOctetsMax);
  S5066_ASSERT(cftp_recipients_that_fit(mail.envelope) == mail.envelope.recipients.size());
  const std::string message = stuffed(mail.content);
  std::string head = id + '\n' + mail.envelope.from.address;
  for (const Path& recipient : mail.envelope.recipients) head += ',' + recipient.address;
  head += '\n' + std::to_string(message.size()) + '\n';
  Bytes record(head.begin(), head.end());
  record.insert(record.end(), message.begin(), message.end());
  return record;
}

Result<CftpRecord> decode_cftp_record(ByteSpan record, std::size_t recipients_max) {
  std::string_view rest(reinterpret_cast<const char*>(record.data()), record.size());
  const auto id = take_field(rest, kCftpIdOctetsMax);
  if (!id || id->empty()) return bad("the MessageID is missing or too long");
  const bool plain =
      std::all_of(id->begin(), id->end(), [](char c) { return c > ' ' && c <= '~'; });
  if (!plain) return bad("the MessageID has other octets than printable ASCII");
  const auto list = take_field(rest, kCftpRecipientsOctetsMax);
  if (!list) return bad("the RecipientList is missing or too long");
  const auto digits = take_field(rest, kSizeDigitsMax);
  if (!digits) return bad("the MessageSize is missing or too long");
  std::uint64_t size = 0;
  const auto [end, error] = std::from_chars(digits->data(), digits->data() + digits->size(), size);
  if (error != std::errc() || end != digits->data() + digits->size()) {
    return bad("the MessageSize is no number");
  }
  if (size > rest.size()) {
    return Error{ErrorCode::truncated, "the message is shorter than its MessageSize"};
  }
  auto envelope = envelope_of(*list, recipients_max);
  if (!envelope) return envelope.error();
  return CftpRecord{.id = std::string(*id),
                    .mail = {*std::move(envelope), content_of(rest.substr(0, size))},
                    .octets_ignored = rest.size() - static_cast<std::size_t>(size)};
}

}  // namespace s5066::acp142
