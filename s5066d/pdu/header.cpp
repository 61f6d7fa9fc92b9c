// SPDX-License-Identifier: Apache-2.0
#include "s5066d/pdu/header.h"

#include "s5066d/base/assert.h"
#include "s5066d/base/crc.h"

namespace s5066::pdu {
namespace {

constexpr unsigned kAddressOctets = 7;  // octets that we send: 28 bits for each of the two
constexpr unsigned kAddressOctetsMax = 7;
constexpr std::size_t kCrcOctets = 2;
/// SIZE OF HEADER without the type-specific part: the fixed part without sync, and the CRC.
constexpr std::size_t kSizeBase = 4 + kCrcOctets;

struct Range {
  std::size_t least;
  std::size_t most;
};

/// Legal values of SIZE OF HEADER for each type.
constexpr Range legal_header_size(std::uint8_t type) {
  switch (type) {
    case 0:
    case 3:
    case 4:
      return {9, 9};
    case 1:
    case 5:
      return {7, 7 + kSelectiveOctetsMax};
    case 2:
      return {10, 10 + kSelectiveOctetsMax};
    case 6:
      return {8, 31};
    case 7:
    case 8:
      return {15, 15};
    case 15:
      return {7, 7};
    default:
      return {kSizeBase, 31};  // reserved: their layout is unknown, and 9 and 10 may not be ours
  }
}

/// Reads destination, then source; each has four bits per octet of the field, so an odd size splits
/// an octet (C.3.2.6).
void read_addresses(ByteSpan field, Common& common) {
  std::uint64_t pair = 0;
  for (const std::uint8_t octet : field) pair = pair << 8 | octet;
  const std::size_t bits = 4 * field.size();
  common.destination.value = static_cast<std::uint32_t>(pair >> bits);
  common.source.value = static_cast<std::uint32_t>(pair & ((std::uint64_t{1} << bits) - 1));
}

}  // namespace

std::size_t header_octets(ByteSpan fixed) {
  S5066_ASSERT(fixed.size() >= kFixedOctets);
  const std::uint8_t type = fixed[2] >> 4;
  const std::size_t address_octets = fixed[5] >> 5;
  const std::size_t size = fixed[5] & 0x1F;
  const Range legal = legal_header_size(type);
  if (address_octets == 0 || size < legal.least || size > legal.most) return 0;
  return kSyncOctets + size + address_octets;
}

Result<Header> read_header(ByteSpan frame) {
  if (frame.size() < kFixedOctets) return Error{ErrorCode::truncated, "fixed part"};
  if (frame[0] != kSyncFirst || frame[1] != kSyncSecond) return Error{ErrorCode::bad_sync, "sync"};
  const std::size_t octets = header_octets(frame);
  if (octets == 0) return Error{ErrorCode::bad_field, "address size or header size"};
  if (frame.size() < octets) return Error{ErrorCode::truncated, "header"};
  // The register ends at 0 if the correct CRC was included.
  if (header_crc(frame.subspan(kSyncOctets, octets - kSyncOctets)) != 0) {
    return Error{ErrorCode::bad_checksum, "header CRC"};
  }

  Header header;
  header.octets = octets;
  header.type = frame[2] >> 4;
  header.common.eow = {.type = static_cast<std::uint8_t>(frame[2] & 0x0F), .contents = frame[3]};
  header.common.eot_half_s = frame[4];
  const std::size_t address_octets = frame[5] >> 5;
  read_addresses(frame.subspan(kFixedOctets, address_octets), header.common);
  const std::size_t specific_at = kFixedOctets + address_octets;
  header.specific = frame.subspan(specific_at, octets - kCrcOctets - specific_at);
  if (header.has_segment()) {  // the ten bits are at the same place in all these types
    header.segment_octets = static_cast<std::size_t>(get_u16(header.specific, 0) & 0x03FF);
  }
  return header;
}

std::size_t begin_header(DpduType type, const Common& common, std::size_t specific_octets,
                         Bytes& out) {
  S5066_ASSERT(common.eow.type < 16);
  S5066_ASSERT(common.destination.value <= Address::kMax);
  S5066_ASSERT(common.source.value <= Address::kMax && !common.source.group);
  const auto type_bits = static_cast<std::uint8_t>(type);
  S5066_ASSERT(!common.destination.group || type_bits == 7 || type_bits == 8);
  const std::size_t size = kSizeBase + specific_octets;
  S5066_ASSERT(size <= 31);

  const std::size_t start = out.size();
  const auto octet = [&out](std::uint64_t value) {
    out.push_back(static_cast<std::uint8_t>(value & 0xFF));
  };
  octet(kSyncFirst);
  octet(kSyncSecond);
  octet(unsigned{type_bits} << 4 | common.eow.type);
  octet(common.eow.contents);
  octet(common.eot_half_s);
  static_assert(kAddressOctets <= kAddressOctetsMax);
  octet(kAddressOctets << 5 | size);
  const std::uint64_t pair =
      std::uint64_t{common.destination.value} << (4 * kAddressOctets) | common.source.value;
  for (unsigned i = kAddressOctets; i-- > 0;) octet(pair >> (8 * i));
  return start;
}

void end_header(std::size_t start, Bytes& out) {
  const ByteSpan covered = ByteSpan(out).subspan(start + kSyncOctets);
  S5066_ASSERT(covered.size() == (covered[3] & 0x1Fu) - kCrcOctets + kAddressOctets);
  const std::uint16_t crc = header_crc(covered);
  out.push_back(static_cast<std::uint8_t>(crc & 0xFF));
  out.push_back(static_cast<std::uint8_t>(crc >> 8));
}

void append_segment(ByteSpan segment, Bytes& out) {
  append(out, segment);
  const std::uint32_t crc = segment_crc(segment);
  for (unsigned i = 0; i < kSegmentCrcOctets; ++i) {
    out.push_back(static_cast<std::uint8_t>(crc >> (8 * i)));
  }
}

}  // namespace s5066::pdu
