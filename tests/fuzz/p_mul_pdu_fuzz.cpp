// SPDX-License-Identifier: Apache-2.0
// Input: a datagram. It goes through the checksum as it is, and through the rest with a corrected
// checksum. A datagram that decode() accepts must survive encode() and decode(), with and without
// ranges.
#include "gateways/p_mul/p_mul_pdu.h"

using namespace s5066;

namespace {

void check(ByteSpan datagram) {
  const auto first = p_mul::decode(datagram);
  if (!first) return;
  for (const bool ranges : {false, true}) {
    // A short list of ranges may stand for more numbers than a plain list has room for.
    const auto* ack = std::get_if<p_mul::AckPdu>(&*first);
    if (ack != nullptr && !ranges) {
      std::size_t values = 0;
      for (const auto& entry : ack->entries) values += p_mul::list_values(entry.missing, false);
      if (values > 20000) continue;
    }
    const Bytes octets = p_mul::encode(*first, {.ranges = ranges});
    const auto second = p_mul::decode(octets, {.internet = false});
    S5066_ASSERT(second.ok() && *second == *first);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check(ByteSpan(data, size));
  if (size < 16) return 0;
  Bytes mended(data, data + size);
  if (mended.size() > p_mul::kPduOctetsMax) mended.resize(p_mul::kPduOctetsMax);
  mended[0] = static_cast<std::uint8_t>(mended.size() >> 8);
  mended[1] = static_cast<std::uint8_t>(mended.size());
  const std::uint16_t sum = p_mul::fletcher_checksum(mended);
  mended[6] = static_cast<std::uint8_t>(sum >> 8);
  mended[7] = static_cast<std::uint8_t>(sum);
  check(mended);
  return 0;
}
