// SPDX-License-Identifier: Apache-2.0
#include "gateways/ip_client/icmp.h"

#include <algorithm>

#include "s5066d/base/assert.h"

namespace s5066::ip_client {
namespace {

constexpr std::uint8_t kHops = 64;
constexpr std::uint8_t kInternetworkControl = 0xC0;  // TOS octet (RFC 1812, section 4.3.2.5)

struct TypeAndCode {
  std::uint8_t type = 0;
  std::uint8_t code = 0;
};

TypeAndCode type_of(IcmpError error, bool v6) {
  switch (error) {
    case IcmpError::no_route:
      return v6 ? TypeAndCode{1, 0} : TypeAndCode{3, 0};
    case IcmpError::host_unreachable:
      return v6 ? TypeAndCode{1, 3} : TypeAndCode{3, 1};
    case IcmpError::protocol_unreachable:
      return v6 ? TypeAndCode{1, 4} : TypeAndCode{3, 2};
    case IcmpError::too_big:
      return v6 ? TypeAndCode{2, 0} : TypeAndCode{3, 4};
    case IcmpError::prohibited:
      return v6 ? TypeAndCode{1, 1} : TypeAndCode{3, 13};
  }
  return {};
}

bool is_icmp_error(const Datagram& datagram) {
  if (!datagram.icmp_type) return false;
  const std::uint8_t type = *datagram.icmp_type;
  if (datagram.v6) return type < 128;
  return type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
}

/// Returns the message without an IP header and with a checksum of zero.
Bytes icmp_message(const IcmpReport& report, ByteSpan quote, bool v6) {
  const TypeAndCode type = type_of(report.error, v6);
  Bytes message = {type.type, type.code, 0, 0};
  const auto mtu = static_cast<std::uint32_t>(report.error == IcmpError::too_big ? report.mtu : 0);
  put_u32(message, v6 ? mtu : std::min<std::uint32_t>(mtu, 0xFFFF));
  append(message, quote);
  return message;
}

void set_checksum(Bytes& message, std::uint32_t start) {
  const std::uint16_t sum = internet_checksum(message, start);
  message[2] = static_cast<std::uint8_t>(sum >> 8);
  message[3] = static_cast<std::uint8_t>(sum & 0xFF);
}

Bytes v4_datagram(const IpAddress& from, const IpAddress& to, ByteSpan message) {
  Bytes out = {0x45, kInternetworkControl};
  put_u16(out, static_cast<std::uint16_t>(kIpv4HeaderOctets + message.size()));
  put_u32(out, 0);  // identification, fragment
  out.push_back(kHops);
  out.push_back(kIcmp);
  put_u16(out, 0);
  append(out, from.bytes());
  append(out, to.bytes());
  set_ipv4_checksum(out, kIpv4HeaderOctets);
  append(out, message);
  return out;
}

Bytes v6_datagram(const IpAddress& from, const IpAddress& to, Bytes message) {
  Bytes pseudo(from.bytes().begin(), from.bytes().end());
  append(pseudo, to.bytes());
  put_u32(pseudo, static_cast<std::uint32_t>(message.size()));
  put_u32(pseudo, kIcmpv6);
  set_checksum(message, static_cast<std::uint16_t>(~internet_checksum(pseudo) & 0xFFFF));
  Bytes out = {0x60, 0, 0, 0};
  put_u16(out, static_cast<std::uint16_t>(message.size()));
  out.push_back(kIcmpv6);
  out.push_back(kHops);
  append(out, from.bytes());
  append(out, to.bytes());
  append(out, message);
  return out;
}

}  // namespace

bool may_report(const Datagram& datagram) {
  return datagram.fragment_offset == 0 && !datagram.to_many() && !is_icmp_error(datagram) &&
         datagram.source.is_one_host();
}

Bytes icmp_error(const IcmpReport& report, ByteSpan octets, const Datagram& datagram) {
  S5066_ASSERT(report.from.v6 == datagram.v6);
  const ByteSpan quote = octets.first(std::min(octets.size(), kIcmpQuoteOctetsMax));
  Bytes message = icmp_message(report, quote, datagram.v6);
  if (datagram.v6) return v6_datagram(report.from, datagram.source, std::move(message));
  set_checksum(message, 0);
  return v4_datagram(report.from, datagram.source, message);
}

bool RateLimit::take(Instant now) {
  const Instant start = std::max(empty_at_, now);
  if (start - now > interval_ * (burst_ - 1)) return false;
  empty_at_ = start + interval_;
  return true;
}

}  // namespace s5066::ip_client
