// SPDX-License-Identifier: Apache-2.0
// ACK-ONLY (type 1, C.3.4) and the acknowledgement that DATA-ACK carries too.
#include "s5066d/base/assert.h"
#include "s5066d/pdu/header.h"

namespace s5066::pdu {

Ack make_ack(FrameNumber rx_lwe, FrameNumber rx_uwe) {
  return {.rx_lwe = rx_lwe, .selective = Bytes(selective_octets(rx_lwe, rx_uwe))};
}

void set_acknowledged(Ack& ack, FrameNumber number) {
  const unsigned steps = distance(ack.rx_lwe, number);
  S5066_ASSERT(steps >= 1 && steps <= 8 * kSelectiveOctetsMax);
  const std::size_t octet = (steps - 1) / 8;
  if (ack.selective.size() <= octet) ack.selective.resize(octet + 1);
  ack.selective[octet] |= static_cast<std::uint8_t>(1u << (steps - 1) % 8);
}

bool is_acknowledged(const Ack& ack, FrameNumber number) {
  const unsigned steps = distance(ack.rx_lwe, number);
  if (steps == 0 || steps > 8 * ack.selective.size()) return false;
  return (ack.selective[(steps - 1) / 8] >> (steps - 1) % 8 & 1) != 0;
}

void write_ack(const Ack& ack, Bytes& out) {
  S5066_ASSERT(ack.selective.size() <= kSelectiveOctetsMax);
  out.push_back(ack.rx_lwe.value);
  append(out, ack.selective);
}

Ack read_ack(ByteSpan part) {
  return {.rx_lwe = {part[0]}, .selective = Bytes(part.begin() + 1, part.end())};
}

void write_ack_only(const AckOnly& ack_only, Bytes& out) {
  const auto start =
      begin_header(DpduType::ack_only, ack_only.common, 1 + ack_only.ack.selective.size(), out);
  write_ack(ack_only.ack, out);
  end_header(start, out);
}

AckOnly read_ack_only(const Header& header) {
  return {.common = header.common, .ack = read_ack(header.specific)};
}

}  // namespace s5066::pdu
