// SPDX-License-Identifier: Apache-2.0
// WARNING (type 15, C.3.12): tells a peer that a frame it sent does not fit our state.
#include "s5066d/base/assert.h"
#include "s5066d/pdu/header.h"

namespace s5066::pdu {

void write_warning(const Warning& warning, Bytes& out) {
  S5066_ASSERT(warning.received_type < 16);
  S5066_ASSERT(warning.reason < 16);
  const auto start = begin_header(DpduType::warning, warning.common, 1, out);
  out.push_back(static_cast<std::uint8_t>(warning.received_type << 4 | warning.reason));
  end_header(start, out);
}

Warning read_warning(const Header& header) {
  return {.common = header.common,
          .received_type = static_cast<std::uint8_t>(header.specific[0] >> 4),
          .reason = static_cast<std::uint8_t>(header.specific[0] & 0x0F)};
}

}  // namespace s5066::pdu
