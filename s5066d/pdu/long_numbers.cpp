// SPDX-License-Identifier: Apache-2.0
// LONG DATA (type 9) and LONG ACK (type 10): data and acknowledgements with frame numbers of two
// octets, for windows of more than 128 frames. They are not part of the standard; see
// docs/protocol/large_window.md.
#include "s5066d/base/assert.h"
#include "s5066d/pdu/header.h"

namespace s5066::pdu {

bool is_acknowledged(const LongAck& ack, LongFrameNumber number) {
  const unsigned steps = distance(ack.rx_lwe, number);
  if (steps == 0 || steps > 8 * ack.selective.size()) return false;
  return (ack.selective[(steps - 1) / 8] >> (steps - 1) % 8 & 1) != 0;
}

void write_long_data(const LongData& data, Bytes& out) {
  const auto start = begin_header(DpduType::long_data, data.common, kLongSpecificOctets, out);
  write_flags(data.flags, data.segment.size(), out);
  put_u16(out, data.number.value);
  end_header(start, out);
  append_segment(data.segment, out);
}

LongData read_long_data(const Header& header) {
  return {.common = header.common,
          .flags = read_flags(header.specific[0]),
          .number = {get_u16(header.specific, 2)},
          .segment = {}};
}

void write_long_ack(const LongAckOnly& ack_only, Bytes& out) {
  S5066_ASSERT(ack_only.ack.selective.size() <= kLongSelectiveOctetsMax);
  const auto start = begin_header(DpduType::long_ack, ack_only.common, kLongSpecificOctets, out);
  put_u16(out, static_cast<std::uint16_t>(ack_only.ack.selective.size()));
  put_u16(out, ack_only.ack.rx_lwe.value);
  end_header(start, out);
  append_segment(ack_only.ack.selective, out);
}

Result<Dpdu> read_long_ack(const Header& header) {
  if (header.segment_octets > kLongSelectiveOctetsMax) {
    return Error{ErrorCode::bad_field, "selective acknowledgements"};
  }
  return Dpdu{LongAckOnly{.common = header.common,
                          .ack = {.rx_lwe = {get_u16(header.specific, 2)}, .selective = {}}}};
}

}  // namespace s5066::pdu
