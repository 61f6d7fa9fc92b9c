// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/peers/cftp_pdu.h"

#include <algorithm>

#include "s5066d/base/assert.h"

namespace s5066::acp142 {
namespace {

constexpr std::uint8_t kDle = 0x10;
constexpr std::uint8_t kFile = 0x02;
constexpr std::uint8_t kAcknowledgement = 0x0B;
constexpr std::size_t kSizeOctets = 4;

}  // namespace

void encode(const RcopV1Header& header, Bytes& out) {
  S5066_ASSERT(header.connection_id < 16);
  out.push_back(static_cast<std::uint8_t>(header.connection_id << 4));
  out.push_back(header.updu_id);
  out.push_back(static_cast<std::uint8_t>(header.segment >> 8));
  out.push_back(static_cast<std::uint8_t>(header.segment));
}

Result<RcopV1Header> decode_rcop_v1(ByteSpan updu) {
  if (updu.size() < kRcopV1HeaderOctets) return Error{ErrorCode::truncated, "RCOPv1 header"};
  return RcopV1Header{.connection_id = static_cast<std::uint8_t>(updu[0] >> 4),
                      .updu_id = updu[1],
                      .segment = static_cast<std::uint16_t>(updu[2] << 8 | updu[3])};
}

Bytes bftp_v1_file(const std::string& name, ByteSpan content) {
  S5066_ASSERT(name.size() <= 255 && content.size() <= 0xFFFFFFFF);
  Bytes file;
  file.reserve(3 + name.size() + kSizeOctets + content.size());
  file.push_back(kDle);
  file.push_back(kFile);
  file.push_back(static_cast<std::uint8_t>(name.size()));
  for (const char c : name) file.push_back(static_cast<std::uint8_t>(c));
  for (int shift = 24; shift >= 0; shift -= 8) {
    file.push_back(static_cast<std::uint8_t>(content.size() >> shift));
  }
  append(file, content);
  return file;
}

Result<std::optional<BftpV1Header>> decode_bftp_v1_header(ByteSpan begin) {
  using Header = std::optional<BftpV1Header>;
  const Error none{ErrorCode::bad_field, "the data is no file of CFTP"};
  if (!begin.empty() && begin[0] != kDle) return none;
  if (begin.size() >= 2 && begin[1] != kFile) return none;
  if (begin.size() < 3) return Header();
  const std::size_t name_end = 3u + begin[2];
  if (begin.size() < name_end + kSizeOctets) return Header();
  BftpV1Header header{.name = {begin.begin() + 3, begin.begin() + name_end},
                      .octets = name_end + kSizeOctets};
  for (std::size_t i = name_end; i < header.octets; ++i) header.size = header.size << 8 | begin[i];
  return Header(std::move(header));
}

std::size_t cftp_segment_count(std::size_t file_octets, std::size_t mtu) {
  S5066_ASSERT(mtu > kRcopV1HeaderOctets);
  const std::size_t room = mtu - kRcopV1HeaderOctets;
  return std::max<std::size_t>(1, (file_octets + room - 1) / room);
}

Bytes cftp_segment(const RcopV1Header& header, ByteSpan file, std::size_t mtu) {
  const std::size_t room = mtu - kRcopV1HeaderOctets;
  const std::size_t begin = header.segment * room;
  S5066_ASSERT(begin < file.size());
  Bytes updu;
  encode(header, updu);
  append(updu, file.subspan(begin, std::min(room, file.size() - begin)));
  return updu;
}

Bytes cftp_acknowledgement(std::uint8_t connection_id, std::uint8_t updu_id) {
  Bytes updu;
  encode(RcopV1Header{.connection_id = connection_id, .updu_id = updu_id}, updu);
  updu.push_back(kDle);
  updu.push_back(kAcknowledgement);
  return updu;
}

bool is_cftp_acknowledgement(ByteSpan updu) {
  return updu.size() == kRcopV1HeaderOctets + 2 && updu[2] == 0 && updu[3] == 0 &&
         updu[4] == kDle && updu[5] == kAcknowledgement;
}

}  // namespace s5066::acp142
