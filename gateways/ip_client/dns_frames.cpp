// SPDX-License-Identifier: Apache-2.0
#include "gateways/ip_client/dns_frames.h"

#include <utility>

#include "s5066d/base/assert.h"

namespace s5066::ip_client {

void DnsFrames::on_octets(ByteSpan octets) {
  if (!failed_) append(in_, octets);
}

std::optional<Bytes> DnsFrames::poll_message() {
  if (failed_ || in_.size() < 2) return std::nullopt;
  const std::size_t octets = get_u16(in_, 0);
  if (octets == 0 || octets > octets_max_) {
    failed_ = true;
    in_.clear();
    return std::nullopt;
  }
  if (in_.size() < 2 + octets) return std::nullopt;
  const auto past = in_.begin() + static_cast<std::ptrdiff_t>(2 + octets);
  Bytes message(in_.begin() + 2, past);
  in_.erase(in_.begin(), past);
  return message;
}

Bytes DnsFrames::framed(ByteSpan message) {
  S5066_ASSERT(message.size() <= 0xFFFF);
  Bytes out;
  put_u16(out, static_cast<std::uint16_t>(message.size()));
  append(out, message);
  return out;
}

}  // namespace s5066::ip_client
