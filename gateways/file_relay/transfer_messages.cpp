// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/transfer_messages.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "gateways/common/octet_reader.h"
#include "s5066d/base/assert.h"

namespace s5066::file_relay {
namespace {

using Type = TransferMessageType;
using Reader = gateways::OctetReader;

constexpr std::uint8_t kAnswerFlag = 0x01;
constexpr std::uint8_t kSignatureFlag = 0x02;
constexpr std::uint8_t kHolesFlag = 0x04;
constexpr std::uint8_t kHeadFlag = 0x08;
constexpr std::uint8_t kFolderFlag = 0x01;
constexpr std::uint8_t kDigestFlag = 0x02;

void begin(Bytes& out, Type type, TransferNumber number) {
  out.push_back(static_cast<std::uint8_t>(type));
  put_u32(out, number.value);
}

/// Appends a text with its length in one octet.
void put_text(Bytes& out, std::string_view text, std::size_t octets_max) {
  text = text.substr(0, octets_max);
  out.push_back(static_cast<std::uint8_t>(text.size()));
  out.insert(out.end(), text.begin(), text.end());
}

// --- Encoding ------------------------------------------------------------------------------------

void put(Bytes& out, const OfferMessage& m) {
  begin(out, Type::offer, m.number);
  out.push_back(kTransferVersion);
  out.push_back(static_cast<std::uint8_t>((m.answer ? kAnswerFlag : 0) |
                                          (m.takes_signature ? kSignatureFlag : 0) |
                                          (m.holes ? kHolesFlag : 0) | (m.head ? kHeadFlag : 0)));
  gateways::encode(m.manifest, out);
}

void put(Bytes& out, const BlockMessage& m) {
  begin(out, Type::block, m.number);
  put_u32(out, m.at);
  append(out, m.octets);
}

void put(Bytes& out, const HaveMessage& m) {
  begin(out, Type::have, m.number);
  out.push_back(m.answer ? kAnswerFlag : 0);
  const std::size_t count = std::min(m.ranges.size(), kHaveRangesMax);
  for (std::size_t i = 0; i < count; ++i) {
    put_u32(out, static_cast<std::uint32_t>(m.ranges[i].begin));
    put_u32(out, static_cast<std::uint32_t>(m.ranges[i].end));
  }
}

void put(Bytes& out, const DoneMessage& m) {
  begin(out, Type::done, m.number);
  out.push_back(m.had_it ? 1 : 0);
  S5066_ASSERT(m.digest.size() == kDoneDigestOctets);
  append(out, m.digest);
}

void put(Bytes& out, const RefuseMessage& m) {
  begin(out, Type::refuse, m.number);
  out.push_back(static_cast<std::uint8_t>(m.reason));
  put_text(out, m.text, kTransferTextMax);
}

void put(Bytes& out, const SignatureMessage& m) {
  S5066_ASSERT(m.base.size() == gateways::kDigestOctets);
  begin(out, Type::signature, m.number);
  put_u32(out, m.total);
  put_u32(out, m.at);
  append(out, m.base);
  append(out, m.octets);
}

void put(Bytes& out, const ControlMessage& m) {
  constexpr Type kTypes[] = {Type::cancel, Type::suspend, Type::resume};
  begin(out, kTypes[static_cast<std::size_t>(m.action)], m.number);
  out.push_back(m.from_sender ? 1 : 0);
  put_text(out, m.text, kTransferTextMax);
}

void put(Bytes& out, const RequestMessage& m) {
  constexpr Type kTypes[] = {Type::get, Type::list, Type::remove, Type::stat};
  begin(out, kTypes[static_cast<std::size_t>(m.request)], m.number);
  put_u32(out, m.first);
  put_text(out, m.path, gateways::kTransferNameMax);
}

void put(Bytes& out, const AnswerMessage& m) {
  begin(out, Type::answer, m.number);
  out.push_back(m.ok ? 1 : 0);
  put_u32(out, m.first);
  put_u32(out, m.total);
  put_text(out, m.text, kTransferTextMax);
  S5066_ASSERT(m.entries.size() <= kEntriesMax);
  for (const InboxEntry& entry : m.entries) {
    out.push_back(static_cast<std::uint8_t>((entry.folder ? kFolderFlag : 0) |
                                            (entry.sha256.empty() ? 0 : kDigestFlag)));
    put_u32(out, entry.size);
    put_u32(out, static_cast<std::uint32_t>(entry.mtime));
    append(out, entry.sha256);
    put_text(out, entry.name, gateways::kTransferNameMax);
  }
}

// --- Decoding ------------------------------------------------------------------------------------

Error bad(const char* what) {
  return Error{ErrorCode::bad_field, std::string("transfer message: ") + what};
}

template <typename Message>
Result<TransferMessage> whole(const Reader& reader, Message message) {
  if (!reader.ok()) return Error{ErrorCode::truncated, "transfer message"};
  if (reader.left() > 0) return bad("octets after its end");
  return TransferMessage(std::move(message));
}

Result<TransferMessage> read_offer(Reader reader, TransferNumber number) {
  if (reader.u8() != kTransferVersion && reader.ok()) {
    return Error{ErrorCode::unsupported, "version of the transfer service"};
  }
  const std::uint8_t flags = reader.u8();
  auto manifest = gateways::decode_manifest(reader.rest());
  if (!manifest) return manifest.error();
  return TransferMessage(OfferMessage{.number = number,
                                      .answer = (flags & kAnswerFlag) != 0,
                                      .takes_signature = (flags & kSignatureFlag) != 0,
                                      .holes = (flags & kHolesFlag) != 0,
                                      .head = (flags & kHeadFlag) != 0,
                                      .manifest = std::move(manifest).value()});
}

Result<TransferMessage> read_block(Reader reader, TransferNumber number) {
  BlockMessage m{.number = number, .at = reader.u32(), .octets = {}};
  m.octets = reader.rest();
  if (reader.ok() && m.octets.empty()) return bad("an empty block");
  if (std::uint64_t{m.at} + m.octets.size() > UINT32_MAX) return bad("range of a block");
  return whole(reader, std::move(m));
}

Result<TransferMessage> read_have(Reader reader, TransferNumber number) {
  HaveMessage m{.number = number, .answer = (reader.u8() & kAnswerFlag) != 0, .ranges = {}};
  if (reader.left() > kHaveRangesMax * 8) return bad("too many ranges");
  std::uint64_t after = 0;
  while (reader.ok() && reader.left() > 0) {
    FileRange range{reader.u32(), 0};
    range.end = reader.u32();
    if (!reader.ok()) break;
    const bool gap = m.ranges.empty() || range.begin > after;
    if (!gap || range.begin >= range.end) return bad("ranges that overlap or are not in order");
    after = range.end;
    m.ranges.push_back(range);
  }
  return whole(reader, std::move(m));
}

Result<TransferMessage> read_refuse(Reader reader, TransferNumber number) {
  RefuseMessage m{.number = number, .text = {}};
  const std::uint8_t reason = reader.u8();
  const bool known = reason >= 1 && reason <= static_cast<std::uint8_t>(RefuseReason::failed);
  m.reason = known ? static_cast<RefuseReason>(reason) : RefuseReason::failed;
  m.text = reader.text();
  if (m.text.size() > kTransferTextMax) return bad("a long text");
  return whole(reader, std::move(m));
}

Result<TransferMessage> read_signature(Reader reader, TransferNumber number) {
  SignatureMessage m{
      .number = number, .total = reader.u32(), .at = reader.u32(), .base = {}, .octets = {}};
  m.base = reader.octets(gateways::kDigestOctets);
  m.octets = reader.rest();
  if (reader.ok() && (m.octets.empty() || std::uint64_t{m.at} + m.octets.size() > m.total)) {
    return bad("range of a signature");
  }
  return whole(reader, std::move(m));
}

Result<TransferMessage> read_control(Reader reader, TransferNumber number, ControlAction action) {
  ControlMessage m{.number = number, .action = action, .from_sender = reader.u8() != 0, .text = {}};
  m.text = reader.text();
  if (m.text.size() > kTransferTextMax) return bad("a long text");
  return whole(reader, std::move(m));
}

Result<TransferMessage> read_request(Reader reader, TransferNumber number, InboxRequest request) {
  RequestMessage m{.number = number, .request = request, .first = reader.u32(), .path = {}};
  m.path = reader.text();
  return whole(reader, std::move(m));
}

Result<TransferMessage> read_answer(Reader reader, TransferNumber number) {
  AnswerMessage m{
      .number = number, .ok = reader.u8() != 0, .first = reader.u32(), .text = {}, .entries = {}};
  m.total = reader.u32();
  m.text = reader.text();
  if (m.text.size() > kTransferTextMax) return bad("a long text");
  while (reader.ok() && reader.left() > 0) {
    if (m.entries.size() == kEntriesMax) return bad("too many entries");
    InboxEntry entry;
    const std::uint8_t flags = reader.u8();
    entry.folder = (flags & kFolderFlag) != 0;
    entry.size = reader.u32();
    entry.mtime = reader.u32();
    if ((flags & kDigestFlag) != 0) entry.sha256 = reader.octets(gateways::kDigestOctets);
    entry.name = reader.text();
    m.entries.push_back(std::move(entry));
  }
  return whole(reader, std::move(m));
}

}  // namespace

std::optional<InboxRequest> parse_inbox_request(std::string_view text) {
  if (text == "get") return InboxRequest::get;
  if (text == "list") return InboxRequest::list;
  if (text == "delete") return InboxRequest::remove;
  if (text == "stat") return InboxRequest::stat;
  return std::nullopt;
}

Bytes encode(const TransferMessage& message) {
  Bytes out;
  std::visit([&](const auto& m) { put(out, m); }, message);
  return out;
}

Result<TransferMessage> decode_transfer_message(ByteSpan from) {
  if (from.size() > kTransferMessageMax) return Error{ErrorCode::too_large, "transfer message"};
  Reader reader(from);
  const std::uint8_t type = reader.u8();
  const TransferNumber number{reader.u32()};
  if (!reader.ok()) return Error{ErrorCode::truncated, "transfer message"};
  switch (static_cast<Type>(type)) {
    case Type::offer:
      return read_offer(reader, number);
    case Type::block:
      return read_block(reader, number);
    case Type::have:
      return read_have(reader, number);
    case Type::done: {
      DoneMessage m{.number = number, .had_it = reader.u8() != 0, .digest = {}};
      m.digest = reader.octets(kDoneDigestOctets);
      return whole(reader, std::move(m));
    }
    case Type::refuse:
      return read_refuse(reader, number);
    case Type::cancel:
      return read_control(reader, number, ControlAction::cancel);
    case Type::suspend:
      return read_control(reader, number, ControlAction::suspend);
    case Type::resume:
      return read_control(reader, number, ControlAction::resume);
    case Type::signature:
      return read_signature(reader, number);
    case Type::get:
      return read_request(reader, number, InboxRequest::get);
    case Type::list:
      return read_request(reader, number, InboxRequest::list);
    case Type::remove:
      return read_request(reader, number, InboxRequest::remove);
    case Type::stat:
      return read_request(reader, number, InboxRequest::stat);
    case Type::answer:
      return read_answer(reader, number);
  }
  return Error{ErrorCode::unsupported, "type of a transfer message"};
}

}  // namespace s5066::file_relay
