// SPDX-License-Identifier: Apache-2.0
// Random D_PDUs of every type we send, with every field drawn over its whole range.
#pragma once

#include "s5066d/base/rng.h"
#include "s5066d/pdu/dpdu.h"

namespace s5066::test {

inline Bytes random_bytes(Rng& rng, std::size_t size) {
  Bytes bytes(size);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(rng.next());
  return bytes;
}

inline pdu::Common random_common(Rng& rng) {
  pdu::Common common;
  common.eow = {.type = static_cast<std::uint8_t>(rng.below(16)),
                .contents = static_cast<std::uint8_t>(rng.below(256))};
  common.eot_half_s = static_cast<std::uint8_t>(rng.below(256));
  common.destination.value = rng.below(Address::kMax + 1);
  common.source.value = rng.below(Address::kMax + 1);
  return common;
}

inline pdu::DataFlags random_flags(Rng& rng) {
  return {.start = rng.chance(0.5),
          .end = rng.chance(0.5),
          .in_order = rng.chance(0.5),
          .drop = rng.chance(0.1),
          .uwe = rng.chance(0.5),
          .lwe = rng.chance(0.5)};
}

inline FrameNumber random_number(Rng& rng) {
  return {static_cast<std::uint8_t>(rng.below(256))};
}

inline pdu::Ack random_ack(Rng& rng) {
  return {.rx_lwe = random_number(rng),
          .selective = random_bytes(rng, rng.below(pdu::kSelectiveOctetsMax + 1))};
}

inline pdu::Dpdu random_dpdu(Rng& rng, std::size_t segment_octets_max = pdu::kSegmentOctetsMax) {
  const auto segment = [&] {
    return random_bytes(rng, rng.below(static_cast<std::uint32_t>(segment_octets_max) + 1));
  };
  const pdu::Common common = random_common(rng);
  switch (rng.below(9)) {
    case 0:
      return pdu::Data{common, random_flags(rng), random_number(rng), segment()};
    case 1:
      return pdu::AckOnly{common, random_ack(rng)};
    case 2:
      return pdu::DataAck{common, random_flags(rng), random_number(rng), random_ack(rng),
                          segment()};
    case 4:
      return pdu::Reset{common,
                        rng.chance(0.5),
                        rng.chance(0.5),
                        rng.chance(0.5),
                        rng.chance(0.5),
                        random_number(rng),
                        static_cast<std::uint8_t>(rng.below(256))};
    case 5:
      return pdu::ExpeditedData{common,
                                rng.chance(0.5),
                                rng.chance(0.5),
                                static_cast<std::uint8_t>(rng.below(16)),
                                random_number(rng),
                                segment()};
    case 6:
      return pdu::ExpeditedAck{common, random_ack(rng)};
    case 7:
      return pdu::Management{common, rng.chance(0.5), rng.chance(0.5),
                             static_cast<std::uint8_t>(rng.below(256)),
                             random_bytes(rng, rng.below(pdu::kExtensionOctetsMax + 1))};
    case 3: {
      pdu::Nonarq nonarq;
      nonarq.common = common;
      nonarq.common.destination.group = rng.chance(0.5);
      nonarq.expedited = rng.chance(0.5);
      nonarq.cpdu_id = static_cast<std::uint16_t>(rng.below(4096));
      nonarq.in_order = rng.chance(0.5);
      nonarq.segment = segment();
      const auto size = static_cast<std::uint32_t>(nonarq.segment.size());
      nonarq.offset = static_cast<std::uint16_t>(rng.below(65536 - size));
      nonarq.cpdu_size = static_cast<std::uint16_t>(nonarq.offset + size +
                                                    rng.below(65536 - nonarq.offset - size));
      nonarq.window_half_s = static_cast<std::uint16_t>(rng.below(65536));
      return nonarq;
    }
    default:
      return pdu::Warning{common, static_cast<std::uint8_t>(rng.below(16)),
                          static_cast<std::uint8_t>(rng.below(16))};
  }
}

inline Bytes encoded(const pdu::Dpdu& dpdu) {
  Bytes out;
  pdu::encode(dpdu, out);
  return out;
}

}  // namespace s5066::test
