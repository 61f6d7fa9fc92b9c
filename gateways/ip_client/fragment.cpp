// SPDX-License-Identifier: Apache-2.0
#include "gateways/ip_client/fragment.h"

#include <algorithm>

#include "s5066d/base/assert.h"

namespace s5066::ip_client {
namespace {

constexpr std::uint8_t kCopied = 0x80;  // flag in the type of an option
constexpr std::uint8_t kEndOfOptions = 0;
constexpr std::uint8_t kNoOperation = 1;

/// Returns the header for all pieces except the first. The options were checked by
/// parse_datagram().
Bytes later_header(ByteSpan header) {
  Bytes later(header.begin(), header.begin() + kIpv4HeaderOctets);
  for (std::size_t at = kIpv4HeaderOctets; at < header.size();) {
    const std::uint8_t type = header[at];
    if (type == kEndOfOptions) break;
    const std::size_t length = type == kNoOperation ? 1 : header[at + 1];
    if ((type & kCopied) != 0) append(later, header.subspan(at, length));
    at += length;
  }
  while (later.size() % 4 != 0) later.push_back(kEndOfOptions);
  later[0] = static_cast<std::uint8_t>(0x40 | later.size() / 4);
  return later;
}

}  // namespace

std::vector<Bytes> fragment_ipv4(ByteSpan octets, const Datagram& datagram, std::size_t mtu) {
  S5066_ASSERT(!datagram.v6 && !datagram.dont_fragment && mtu >= kIpv4MtuMin);
  octets = octets.first(datagram.total_octets);
  const ByteSpan header = octets.first(datagram.header_octets);
  const ByteSpan payload = octets.subspan(datagram.header_octets);
  const Bytes later = later_header(header);
  std::vector<Bytes> pieces;
  for (std::size_t at = 0; at < payload.size() || pieces.empty();) {
    const ByteSpan head = pieces.empty() ? header : ByteSpan(later);
    std::size_t take = std::min(payload.size() - at, mtu - head.size());
    const bool last = at + take == payload.size();
    if (!last) take -= take % 8;
    Bytes piece(head.begin(), head.end());
    append(piece, payload.subspan(at, take));
    const bool more = !last || datagram.more_fragments;
    const std::size_t offset = (datagram.fragment_offset + at) / 8;
    const std::size_t field = (more ? 0x2000u : 0u) | offset;
    piece[2] = static_cast<std::uint8_t>(piece.size() >> 8);
    piece[3] = static_cast<std::uint8_t>(piece.size() & 0xFF);
    piece[6] = static_cast<std::uint8_t>(field >> 8);
    piece[7] = static_cast<std::uint8_t>(field & 0xFF);
    set_ipv4_checksum(piece, head.size());
    pieces.push_back(std::move(piece));
    at += take;
  }
  return pieces;
}

}  // namespace s5066::ip_client
