// SPDX-License-Identifier: Apache-2.0
#include "gateways/ip_client/ip_address.h"

#include <algorithm>

#include "s5066d/base/assert.h"

namespace s5066::ip_client {
namespace {

std::string hex_group(unsigned value) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (int shift = 12; shift >= 0; shift -= 4) {
    const unsigned digit = value >> shift & 0xF;
    if (digit != 0 || !text.empty() || shift == 0) text.push_back(kDigits[digit]);
  }
  return text;
}

/// Writes the form of RFC 5952: the longest run of at least two zero groups is "::".
std::string v6_text(const IpAddress& address) {
  std::array<unsigned, 8> groups{};
  for (std::size_t i = 0; i < 8; ++i) groups[i] = get_u16(address.octets, 2 * i);
  std::size_t run_at = 8;
  std::size_t run = 1;
  for (std::size_t i = 0; i < 8; ++i) {
    std::size_t length = 0;
    while (i + length < 8 && groups[i + length] == 0) ++length;
    if (length > run) {
      run_at = i;
      run = length;
    }
  }
  std::string text;
  for (std::size_t i = 0; i < 8; ++i) {
    if (i == run_at) {
      text += "::";
      i += run - 1;
      continue;
    }
    if (!text.empty() && text.back() != ':') text += ':';
    text += hex_group(groups[i]);
  }
  return text;
}

}  // namespace

IpAddress IpAddress::v4(std::uint32_t value) {
  IpAddress address;
  for (std::size_t i = 0; i < 4; ++i) {
    address.octets[i] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
  }
  return address;
}

IpAddress IpAddress::read(bool v6, ByteSpan from) {
  IpAddress address{.v6 = v6};
  S5066_ASSERT(from.size() >= address.size());
  std::copy_n(from.begin(), address.size(), address.octets.begin());
  return address;
}

bool IpAddress::is_multicast() const {
  return v6 ? octets[0] == 0xFF : octets[0] >> 4 == 0xE;
}

bool IpAddress::is_broadcast() const {
  return *this == v4(0xFFFFFFFF);
}

bool IpAddress::is_unspecified() const {
  return std::all_of(octets.begin(), octets.end(), [](std::uint8_t octet) { return octet == 0; });
}

bool IpAddress::is_loopback() const {
  if (!v6) return octets[0] == 127;
  return octets[15] == 1 &&
         std::all_of(octets.begin(), octets.end() - 1, [](std::uint8_t o) { return o == 0; });
}

bool IpAddress::is_one_host() const {
  const bool reserved = !v6 && (octets[0] == 0 || octets[0] >= 0xF0);
  return !is_multicast() && !is_unspecified() && !is_loopback() && !reserved;
}

std::string to_string(const IpAddress& address) {
  if (address.v6) return v6_text(address);
  std::string text;
  for (std::size_t i = 0; i < 4; ++i) {
    if (i > 0) text += '.';
    text += std::to_string(address.octets[i]);
  }
  return text;
}

IpAddress masked(IpAddress address, unsigned bits) {
  for (std::size_t i = 0; i < address.octets.size(); ++i) {
    const unsigned kept = std::min<unsigned>(bits, 8);
    address.octets[i] = static_cast<std::uint8_t>(address.octets[i] & (0xFF00u >> kept));
    bits -= kept;
  }
  return address;
}

bool IpPrefix::contains(const IpAddress& other) const {
  return other.v6 == address.v6 && masked(other, bits) == address;
}

std::string to_string(const IpPrefix& prefix) {
  return to_string(prefix.address) + "/" + std::to_string(prefix.bits);
}

}  // namespace s5066::ip_client
