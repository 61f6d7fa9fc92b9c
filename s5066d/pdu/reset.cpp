// SPDX-License-Identifier: Apache-2.0
// RESET/WIN RESYNC (type 3, C.3.6): brings the windows of two stations into agreement again.
#include "s5066d/base/assert.h"
#include "s5066d/pdu/header.h"

namespace s5066::pdu {

void write_reset(const Reset& reset, Bytes& out) {
  const auto start = begin_header(DpduType::reset, reset.common, 3, out);
  const unsigned flags = unsigned{reset.full_reset} << 3 | unsigned{reset.tx_window_request} << 2 |
                         unsigned{reset.rx_window_command} << 1 | unsigned{reset.ack};
  out.push_back(static_cast<std::uint8_t>(flags));
  out.push_back(reset.new_rx_lwe.value);
  out.push_back(reset.frame_id);
  end_header(start, out);
}

Reset read_reset(const Header& header) {
  const std::uint8_t flags = header.specific[0];
  return {.common = header.common,
          .full_reset = (flags & 0x08) != 0,
          .tx_window_request = (flags & 0x04) != 0,
          .rx_window_command = (flags & 0x02) != 0,
          .ack = (flags & 0x01) != 0,
          .new_rx_lwe = {header.specific[1]},
          .frame_id = header.specific[2]};
}

}  // namespace s5066::pdu
