// SPDX-License-Identifier: Apache-2.0
// Identifiers of different types that the compiler keeps apart, and their arithmetic.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "s5066d/base/result.h"

namespace s5066 {

/// A node or group address (C.3.2.6, A.2.2.28.1): 28 bits, and the group flag as 29th bit.
struct Address {
  std::uint32_t value = 0;  // 28 bits
  bool group = false;

  static constexpr std::uint32_t kMax = 0x0FFFFFFF;
  /// 31.255.255.255, the address of all stations.
  static constexpr Address all_stations();
  friend auto operator<=>(const Address&, const Address&) = default;
};
constexpr Address Address::all_stations() {
  return Address{kMax, true};
}

/// Returns text like "1.2.3.4"; groups go from 16.0.0.0 to 31.255.255.255.
std::string to_string(Address address);
Result<Address> parse_address(std::string_view text);

/// Frame sequence number (C.6.2). It counts modulo 256, so only distances are ordered.
struct FrameNumber {
  std::uint8_t value = 0;

  friend bool operator==(const FrameNumber&, const FrameNumber&) = default;
  friend constexpr FrameNumber operator+(FrameNumber a, int n) {
    return {static_cast<std::uint8_t>(a.value + n)};
  }
  friend constexpr FrameNumber operator-(FrameNumber a, int n) { return a + -n; }
};

/// Returns the number of steps from `from` up to `to`: 0..255.
constexpr unsigned distance(FrameNumber from, FrameNumber to) {
  return static_cast<std::uint8_t>(to.value - from.value);
}

/// Frame sequence number of two octets, for windows of more than 128 frames; counts modulo 65536.
struct LongFrameNumber {
  std::uint16_t value = 0;

  friend bool operator==(const LongFrameNumber&, const LongFrameNumber&) = default;
  friend constexpr LongFrameNumber operator+(LongFrameNumber a, int n) {
    return {static_cast<std::uint16_t>(a.value + n)};
  }
  friend constexpr LongFrameNumber operator-(LongFrameNumber a, int n) { return a + -n; }
};

/// Returns the number of steps from `from` up to `to`: 0..65535.
constexpr unsigned distance(LongFrameNumber from, LongFrameNumber to) {
  return static_cast<std::uint16_t>(to.value - from.value);
}

/// Returns the lower octet, which types 0 to 5 carry.
constexpr FrameNumber short_number(LongFrameNumber number) {
  return {static_cast<std::uint8_t>(number.value & 0xFF)};
}

/// Service access point of a client, 0..15 (Table F-1 assigns them).
struct SapId {
  std::uint8_t value = 0;
  static constexpr std::uint8_t kMax = 15;
  friend auto operator<=>(const SapId&, const SapId&) = default;
};

/// One SIS client connection of a node.
struct ClientId {
  std::uint32_t value = 0;
  friend auto operator<=>(const ClientId&, const ClientId&) = default;
};

/// One C_PDU handed to the data transfer sublayer; unique within a node.
struct CpduId {
  std::uint64_t value = 0;
  friend auto operator<=>(const CpduId&, const CpduId&) = default;
};

/// One U_PDU accepted from a client; unique within a node.
struct UpduId {
  std::uint64_t value = 0;
  friend auto operator<=>(const UpduId&, const UpduId&) = default;
};

}  // namespace s5066
