// SPDX-License-Identifier: Apache-2.0
// EXPEDITED DATA-ONLY (type 4, C.3.7) and EXPEDITED ACK-ONLY (type 5, C.3.8).
#include "s5066d/base/assert.h"
#include "s5066d/pdu/header.h"

namespace s5066::pdu {
namespace {

constexpr std::size_t kExpeditedPartOctets = 3;
constexpr unsigned kCpduIdMax = 15;

}  // namespace

void write_expedited_data(const ExpeditedData& data, Bytes& out) {
  S5066_ASSERT(data.segment.size() <= kSegmentOctetsMax);
  S5066_ASSERT(data.cpdu_id <= kCpduIdMax);
  const auto start = begin_header(DpduType::expedited_data, data.common, kExpeditedPartOctets, out);
  const unsigned first =
      unsigned{data.start} << 15 | unsigned{data.end} << 14 | unsigned{data.cpdu_id} << 10;
  put_u16(out, static_cast<std::uint16_t>(first | data.segment.size()));
  out.push_back(data.number.value);
  end_header(start, out);
  append_segment(data.segment, out);
}

ExpeditedData read_expedited_data(const Header& header) {
  const std::uint8_t first = header.specific[0];
  return {.common = header.common,
          .start = (first & 0x80) != 0,
          .end = (first & 0x40) != 0,
          .cpdu_id = static_cast<std::uint8_t>(first >> 2 & kCpduIdMax),
          .number = {header.specific[2]},
          .segment = {}};
}

void write_expedited_ack(const ExpeditedAck& ack, Bytes& out) {
  const auto start =
      begin_header(DpduType::expedited_ack, ack.common, 1 + ack.ack.selective.size(), out);
  write_ack(ack.ack, out);
  end_header(start, out);
}

ExpeditedAck read_expedited_ack(const Header& header) {
  return {.common = header.common, .ack = read_ack(header.specific)};
}

}  // namespace s5066::pdu
