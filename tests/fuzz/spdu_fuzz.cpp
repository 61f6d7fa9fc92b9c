// SPDX-License-Identifier: Apache-2.0
// Input: an S_PDU. An S_PDU that decode() accepts must survive encode() and decode(), and a TIME TO
// DIE in it must be readable on any date.
#include "s5066d/sap/spdu.h"

using namespace s5066;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto first = sap::decode(ByteSpan(data, size));
  if (!first) return 0;
  const Bytes octets = sap::encode(*first);
  const bool hard_link = first->index() >= 3;  // decode() ignores octets behind such an S_PDU
  S5066_ASSERT(hard_link ? octets.size() <= size : octets.size() == size);
  const auto second = sap::decode(octets);
  S5066_ASSERT(second.ok() && *second == *first);

  const auto* updu = std::get_if<sap::DataSpdu>(&*first);
  if (updu == nullptr || !updu->time_to_die) return 0;
  for (const std::int64_t now : {0LL, 1'772'409'540LL, 1'798'761'599LL, -86'401LL}) {
    const auto dies = sap::decode_time_to_die({now}, *updu->time_to_die);
    if (!dies) continue;
    const auto again = sap::encode_time_to_die({now}, *dies);
    S5066_ASSERT(again.has_value() && *again == *updu->time_to_die);
  }
  return 0;
}
