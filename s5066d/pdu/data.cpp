// SPDX-License-Identifier: Apache-2.0
// DATA-ONLY (type 0, C.3.3) and DATA-ACK (type 2, C.3.5), which adds an acknowledgement after the
// same three octets.
#include "s5066d/base/assert.h"
#include "s5066d/pdu/header.h"

namespace s5066::pdu {
namespace {

constexpr std::size_t kDataPartOctets = 3;  // flags and size, size, frame number

void write_data_part(DataFlags flags, FrameNumber number, std::size_t size, Bytes& out) {
  write_flags(flags, size, out);
  out.push_back(number.value);
}

}  // namespace

void write_flags(DataFlags flags, std::size_t segment_octets, Bytes& out) {
  S5066_ASSERT(segment_octets <= kSegmentOctetsMax);
  const unsigned bits = unsigned{flags.start} << 7 | unsigned{flags.end} << 6 |
                        unsigned{flags.in_order} << 5 | unsigned{flags.drop} << 4 |
                        unsigned{flags.uwe} << 3 | unsigned{flags.lwe} << 2;
  put_u16(out, static_cast<std::uint16_t>(bits << 8 | segment_octets));
}

DataFlags read_flags(std::uint8_t octet) {
  return {.start = (octet & 0x80) != 0,
          .end = (octet & 0x40) != 0,
          .in_order = (octet & 0x20) != 0,
          .drop = (octet & 0x10) != 0,
          .uwe = (octet & 0x08) != 0,
          .lwe = (octet & 0x04) != 0};
}

void write_data(const Data& data, Bytes& out) {
  const auto start = begin_header(DpduType::data_only, data.common, kDataPartOctets, out);
  write_data_part(data.flags, data.number, data.segment.size(), out);
  end_header(start, out);
  append_segment(data.segment, out);
}

Data read_data(const Header& header) {
  return {.common = header.common,
          .flags = read_flags(header.specific[0]),
          .number = {header.specific[2]},
          .segment = {}};
}

void write_data_ack(const DataAck& data_ack, Bytes& out) {
  const auto start = begin_header(DpduType::data_ack, data_ack.common,
                                  kDataPartOctets + 1 + data_ack.ack.selective.size(), out);
  write_data_part(data_ack.flags, data_ack.number, data_ack.segment.size(), out);
  write_ack(data_ack.ack, out);
  end_header(start, out);
  append_segment(data_ack.segment, out);
}

DataAck read_data_ack(const Header& header) {
  return {.common = header.common,
          .flags = read_flags(header.specific[0]),
          .number = {header.specific[2]},
          .ack = read_ack(header.specific.subspan(kDataPartOctets)),
          .segment = {}};
}

}  // namespace s5066::pdu
