// SPDX-License-Identifier: Apache-2.0
// MANAGEMENT (type 6, C.3.9): an engineering order wire message that asks for an acknowledgement.
#include "s5066d/base/assert.h"
#include "s5066d/pdu/header.h"

namespace s5066::pdu {

void write_management(const Management& management, Bytes& out) {
  S5066_ASSERT(management.extension.size() <= kExtensionOctetsMax);
  const auto start =
      begin_header(DpduType::management, management.common, 2 + management.extension.size(), out);
  const unsigned flags = unsigned{!management.extension.empty()} << 2 |
                         unsigned{management.valid} << 1 | unsigned{management.ack};
  out.push_back(static_cast<std::uint8_t>(flags));
  out.push_back(management.frame_id);
  append(out, management.extension);
  end_header(start, out);
}

// Octets that the EXTENDED flag does not announce are ignored.
Management read_management(const Header& header) {
  const std::uint8_t flags = header.specific[0];
  Management management;
  management.common = header.common;
  management.valid = (flags & 0x02) != 0;
  management.ack = (flags & 0x01) != 0;
  management.frame_id = header.specific[1];
  if ((flags & 0x04) != 0) {
    const ByteSpan extension = header.specific.subspan(2);
    management.extension.assign(extension.begin(), extension.end());
  }
  return management;
}

}  // namespace s5066::pdu
