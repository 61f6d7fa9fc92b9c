// SPDX-License-Identifier: Apache-2.0
// Builds IP datagrams for tests.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "gateways/ip_client/datagram.h"
#include "s5066d/base/bytes.h"

namespace s5066::ip_client::test {

struct V4 {
  std::uint32_t source = 0x0A010101;       // 10.1.1.1
  std::uint32_t destination = 0x0A020102;  // 10.2.1.2
  std::uint8_t tos = 0;
  std::uint8_t ttl = 64;
  std::uint8_t protocol = kUdp;
  std::uint16_t id = 0x1234;
  bool dont_fragment = false;
  bool more = false;
  std::size_t offset = 0;  // octets
  Bytes options;
};

inline Bytes v4(const V4& head, ByteSpan payload) {
  const std::size_t header = kIpv4HeaderOctets + head.options.size();
  Bytes out = {static_cast<std::uint8_t>(0x40 | header / 4), head.tos};
  put_u16(out, static_cast<std::uint16_t>(header + payload.size()));
  put_u16(out, head.id);
  put_u16(out, static_cast<std::uint16_t>((head.dont_fragment ? 0x4000 : 0) |
                                          (head.more ? 0x2000 : 0) | head.offset / 8));
  out.push_back(head.ttl);
  out.push_back(head.protocol);
  put_u16(out, 0);
  put_u32(out, head.source);
  put_u32(out, head.destination);
  append(out, head.options);
  set_ipv4_checksum(out, header);
  append(out, payload);
  return out;
}

/// `octets` counts the whole datagram, at least 28.
inline Bytes udp(std::size_t octets, V4 head = {}, std::uint16_t from = 4000,
                 std::uint16_t to = 5000) {
  head.protocol = kUdp;
  Bytes payload;
  put_u16(payload, from);
  put_u16(payload, to);
  put_u16(payload, static_cast<std::uint16_t>(octets - kIpv4HeaderOctets - head.options.size()));
  put_u16(payload, 0);
  payload.resize(octets - kIpv4HeaderOctets - head.options.size(), 0xA5);
  return v4(head, payload);
}

struct Tcp {
  std::uint32_t sequence = 1;
  std::uint32_t acknowledgement = 1;
  std::uint8_t flags = TcpSegment::kAck;
  std::size_t data = 0;
  Bytes options;
  std::uint16_t from = 4000;
  std::uint16_t to = 80;
};
inline Bytes tcp(const Tcp& segment, V4 head = {}) {
  head.protocol = kTcp;
  Bytes payload;
  put_u16(payload, segment.from);
  put_u16(payload, segment.to);
  put_u32(payload, segment.sequence);
  put_u32(payload, segment.acknowledgement);
  payload.push_back(static_cast<std::uint8_t>((20 + segment.options.size()) / 4 << 4));
  payload.push_back(segment.flags);
  put_u16(payload, 1000);
  put_u32(payload, 0);
  append(payload, segment.options);
  payload.resize(payload.size() + segment.data, 0x5A);
  return v4(head, payload);
}

inline Bytes icmp(std::uint8_t type, std::uint8_t code, V4 head = {}) {
  head.protocol = kIcmp;
  Bytes payload = {type, code, 0, 0, 0, 1, 0, 1};
  payload.resize(64, 0x11);
  return v4(head, payload);
}

/// An IPv6 datagram from fd00::1 to fd00::1:0:0:2.
inline Bytes v6(std::uint8_t next, ByteSpan payload, std::uint8_t traffic_class = 0) {
  Bytes out = {static_cast<std::uint8_t>(0x60 | traffic_class >> 4),
               static_cast<std::uint8_t>(traffic_class << 4), 0, 0};
  put_u16(out, static_cast<std::uint16_t>(payload.size()));
  out.push_back(next);
  out.push_back(64);
  for (const int last : {1, 2}) {
    Bytes address(16, 0);
    address[0] = 0xFD;
    address[9] = static_cast<std::uint8_t>(last - 1);
    address[15] = static_cast<std::uint8_t>(last);
    append(out, address);
  }
  append(out, payload);
  return out;
}

inline Datagram parsed(ByteSpan octets) {
  const auto result = parse_datagram(octets);
  S5066_ASSERT(std::holds_alternative<Datagram>(result));
  return std::get<Datagram>(result);
}

inline IpPrefix prefix(std::uint32_t address, std::uint8_t bits) {
  return {IpAddress::v4(address), bits};
}

}  // namespace s5066::ip_client::test
