// SPDX-License-Identifier: Apache-2.0
// Encoding of the S_PRIMITIVEs (Annex A.2.2): a value to a whole frame, and the body of a frame to
// a value. The framer finds the bodies in a TCP stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"
#include "sis/primitives.h"

namespace s5066::sis {

/// Preamble, version and size at the start of every primitive (A.2.2.2).
inline constexpr std::size_t kHeaderOctets = 5;
inline constexpr std::uint8_t kPreamble0 = 0x90;
inline constexpr std::uint8_t kPreamble1 = 0xEB;
inline constexpr std::uint8_t kVersion = 0x00;
/// Largest value of the 16-bit size field, which counts from the type octet on.
inline constexpr std::size_t kBodyOctetsMax = 65535;
/// Octets of types 20 and 24 that do not belong to the U_PDU (A.2.2.20, A.2.2.24).
inline constexpr std::size_t kUnidataRequestFixed = 12;
/// Octets of types 18 and 19 before the body of the message (A.2.2.19).
inline constexpr std::size_t kManagementFixed = 2;

/// Type numbers (A.2.2.3 to A.2.2.27).
enum class Type : std::uint8_t {
  bind_request = 1,
  unbind_request = 2,
  bind_accepted = 3,
  bind_rejected = 4,
  unbind_indication = 5,
  hard_link_establish = 6,
  hard_link_terminate = 7,
  hard_link_established = 8,
  hard_link_rejected = 9,
  hard_link_terminated = 10,
  hard_link_indication = 11,
  hard_link_accept = 12,
  hard_link_reject = 13,
  subnet_availability = 14,
  data_flow_on = 15,
  data_flow_off = 16,
  keep_alive = 17,
  management_request = 18,
  management_indication = 19,
  unidata_request = 20,
  unidata_indication = 21,
  unidata_request_confirm = 22,
  unidata_request_rejected = 23,
  expedited_request = 24,
  expedited_indication = 25,
  expedited_request_confirm = 26,
  expedited_request_rejected = 27,
};
inline constexpr std::uint8_t kTypeMax = 27;

/// Appends the whole frame. Every field must fit its bits, and the whole must fit the size field.
/// Addresses are written with size 7, all 28 bits. Only indications with nonarq_with_errors may
/// list blocks.
void encode(const Primitive& primitive, Bytes& out);

/// Decodes the body of one frame, type octet first. `unsupported` is an unknown type; any other
/// error means that the sender broke the format. Unused bits are ignored.
Result<Primitive> decode(ByteSpan body);

Type type_of(const Primitive& primitive);

/// The side that may send a primitive; direction() returns nothing for numbers that the standard
/// does not use.
enum class Direction : std::uint8_t { to_server, to_client, both };
std::optional<Direction> direction(std::uint8_t type);
Direction direction(Type type);

}  // namespace s5066::sis
