// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/bftp.h"

#include "s5066d/base/assert.h"

namespace s5066::file_relay {
namespace {

constexpr std::size_t kFixedBytes = 5;  // octets of SIZE_OF_FILENAME and SIZE_OF_FILE

Bytes single_segment(const gateways::RcopHeader& header) {
  Bytes updu;
  gateways::encode(header, updu);
  return updu;
}

}  // namespace

std::size_t encoded_bytes(const BftpHeader& header) {
  return kFixedBytes + header.name.size();
}

void encode(const BftpHeader& header, Bytes& out) {
  S5066_ASSERT(header.name.size() <= kNameBytesMax);
  out.push_back(static_cast<std::uint8_t>(header.name.size()));
  out.insert(out.end(), header.name.begin(), header.name.end());
  put_u32(out, header.size);
}

Result<BftpHeader> decode_bftp_header(ByteSpan from) {
  if (from.empty()) return Error{ErrorCode::truncated, "the data end inside the BFTP header"};
  const std::size_t n = from[0];
  if (from.size() < kFixedBytes + n)
    return Error{ErrorCode::truncated, "the data end inside the BFTP header"};
  const ByteSpan name = from.subspan(1, n);
  return BftpHeader{.name = std::string(name.begin(), name.end()), .size = get_u32(from, 1 + n)};
}

Bytes bftp_pdu(const BftpHeader& header, ByteSpan content) {
  S5066_ASSERT(content.size() == header.size);
  Bytes pdu;
  pdu.reserve(encoded_bytes(header) + content.size());
  encode(header, pdu);
  append(pdu, content);
  return pdu;
}

Bytes frap_updu(std::uint8_t connection_id, std::uint8_t updu_id) {
  return single_segment({.connection_id = connection_id,
                         .updu_id = updu_id,
                         .segment = 0,
                         .application_id = kFrapApplication});
}

// STANDARD: F.10.2.4 asks only for the header copy; we repeat the IDs as FRAP does, so that a
// sender may match on either.
Bytes frap_v2_updu(std::uint8_t connection_id, std::uint8_t updu_id, const BftpHeader& header) {
  Bytes updu = single_segment({.connection_id = connection_id,
                               .updu_id = updu_id,
                               .segment = 0,
                               .application_id = kFrapV2Application});
  encode(header, updu);
  return updu;
}

Result<std::optional<std::uint64_t>> application_length(std::uint16_t application_id,
                                                        ByteSpan prefix) {
  if (application_id == kFrapApplication) return std::optional<std::uint64_t>(0);
  if (application_id != kBftpApplication && application_id != kFrapV2Application) {
    return Error{ErrorCode::unsupported, "application"};
  }
  const auto header = decode_bftp_header(prefix);
  if (!header) return std::optional<std::uint64_t>();
  const std::uint64_t content = application_id == kBftpApplication ? header->size : 0;
  return std::optional<std::uint64_t>(encoded_bytes(*header) + content);
}

}  // namespace s5066::file_relay
