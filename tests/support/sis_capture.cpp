// SPDX-License-Identifier: Apache-2.0
#include "tests/support/sis_capture.h"

#include "s5066d/pdu/capture.h"
#include "sis/primitives.h"

namespace s5066::test {

SisCapture::SisCapture() {
  pdu::append_capture_header(pdu::LinkType::raw_ip, file_);
}

void SisCapture::new_connection() {
  ++client_port_;
  sent_[0] = sent_[1] = 1;
}

void SisCapture::add(bool to_server, ByteSpan octets, Duration at) {
  Bytes packet = {0x45, 0};
  put_u16(packet, static_cast<std::uint16_t>(40 + octets.size()));
  append(packet, Bytes{0, 0, 0x40, 0, 64, 6, 0, 0});
  append(packet, to_server ? Bytes{10, 0, 0, 2, 10, 0, 0, 1} : Bytes{10, 0, 0, 1, 10, 0, 0, 2});
  put_u16(packet, to_server ? client_port_ : sis::kDefaultPort);
  put_u16(packet, to_server ? sis::kDefaultPort : client_port_);
  put_u32(packet, sent_[to_server]);
  put_u32(packet, sent_[!to_server]);
  append(packet, Bytes{0x50, 0x18, 0xFF, 0xFF, 0, 0, 0, 0});  // PSH and ACK, no urgent data
  append(packet, octets);
  sent_[to_server] += static_cast<std::uint32_t>(octets.size());
  pdu::append_capture_record(at, packet, file_);
}

}  // namespace s5066::test
