// SPDX-License-Identifier: Apache-2.0
// NON-ARQ DATA and EXPEDITED NON-ARQ DATA (types 7 and 8, C.3.10 and C.3.11), which differ only in
// the type.
#include "s5066d/base/assert.h"
#include "s5066d/pdu/header.h"

namespace s5066::pdu {
namespace {

constexpr std::size_t kNonarqPartOctets = 9;
constexpr std::uint16_t kCpduIdMax = 0x0FFF;

}  // namespace

void write_nonarq(const Nonarq& nonarq, Bytes& out) {
  S5066_ASSERT(nonarq.cpdu_id <= kCpduIdMax);
  S5066_ASSERT(nonarq.segment.size() <= kSegmentOctetsMax);
  S5066_ASSERT(nonarq.offset + nonarq.segment.size() <= nonarq.cpdu_size);
  const auto type = nonarq.expedited ? DpduType::expedited_nonarq : DpduType::nonarq;
  const auto start = begin_header(type, nonarq.common, kNonarqPartOctets, out);
  // The twelve bits of the C_PDU ID are on both sides of flags and size.
  const unsigned first = (nonarq.cpdu_id >> 8u) << 12 | unsigned{nonarq.in_order} << 11 |
                         unsigned{nonarq.common.destination.group} << 10;
  put_u16(out, static_cast<std::uint16_t>(first | nonarq.segment.size()));
  out.push_back(static_cast<std::uint8_t>(nonarq.cpdu_id & 0xFF));
  put_u16(out, nonarq.cpdu_size);
  // STANDARD: Figures C-24 and C-26 print other places for the last two; Figure C-18 governs.
  put_u16(out, nonarq.offset);
  put_u16(out, nonarq.window_half_s);
  end_header(start, out);
  append_segment(nonarq.segment, out);
}

Result<Dpdu> read_nonarq(const Header& header) {
  const ByteSpan part = header.specific;
  Nonarq nonarq;
  nonarq.common = header.common;
  nonarq.common.destination.group = (part[0] & 0x04) != 0;
  nonarq.expedited = header.type == static_cast<std::uint8_t>(DpduType::expedited_nonarq);
  nonarq.cpdu_id = static_cast<std::uint16_t>((part[0] & 0xF0) << 4 | part[2]);
  nonarq.in_order = (part[0] & 0x08) != 0;
  nonarq.cpdu_size = get_u16(part, 3);
  nonarq.offset = get_u16(part, 5);
  nonarq.window_half_s = get_u16(part, 7);
  if (nonarq.offset + header.segment_octets > nonarq.cpdu_size) {
    return Error{ErrorCode::bad_field, "segment goes past the end of its C_PDU"};
  }
  return Dpdu{std::move(nonarq)};
}

}  // namespace s5066::pdu
