// SPDX-License-Identifier: Apache-2.0
// IPv4 and IPv6 addresses and prefixes as values.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>

#include "s5066d/base/bytes.h"

namespace s5066::ip_client {

/// An address of either version. The octets of an IPv4 address come first; the others are zero.
struct IpAddress {
  bool v6 = false;
  std::array<std::uint8_t, 16> octets{};

  static IpAddress v4(std::uint32_t value);
  /// Reads four octets, or sixteen for IPv6, at the start of `from`.
  static IpAddress read(bool v6, ByteSpan from);
  std::size_t size() const { return v6 ? 16 : 4; }
  ByteSpan bytes() const { return ByteSpan(octets).first(size()); }
  bool is_multicast() const;
  bool is_broadcast() const;    // 255.255.255.255
  bool is_unspecified() const;  // 0.0.0.0 or ::
  bool is_loopback() const;
  /// True if the address can name one host as a source.
  bool is_one_host() const;
  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;
};

std::string to_string(const IpAddress& address);

struct IpPrefix {
  IpAddress address;
  std::uint8_t bits = 0;

  bool contains(const IpAddress& other) const;
  friend auto operator<=>(const IpPrefix&, const IpPrefix&) = default;
};

/// Returns the address with all bits after the first `bits` cleared.
IpAddress masked(IpAddress address, unsigned bits);

std::string to_string(const IpPrefix& prefix);

}  // namespace s5066::ip_client
