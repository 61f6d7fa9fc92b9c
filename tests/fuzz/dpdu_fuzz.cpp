// SPDX-License-Identifier: Apache-2.0
// Input: an octet that selects the repairs, then a frame. The repairs let the fuzzer past the sync
// sequence and the CRCs. A decoded frame must fit the input, and decode to the same after it is
// encoded again.
#include <algorithm>

#include "s5066d/base/crc.h"
#include "s5066d/pdu/dpdu.h"
#include "s5066d/pdu/header.h"

using namespace s5066;

namespace {

constexpr unsigned kRepairSync = 1;
constexpr unsigned kRepairHeader = 2;
constexpr unsigned kRepairSegment = 4;

void put_crc(Bytes& frame, std::size_t at, std::uint32_t crc, std::size_t octets) {
  for (std::size_t i = 0; i < octets; ++i) {
    frame[at + i] = static_cast<std::uint8_t>(crc >> (8 * i));
  }
}

void repair(Bytes& frame, unsigned what) {
  if (frame.size() < pdu::kFixedOctets) return;
  if ((what & kRepairSync) != 0) {
    frame[0] = pdu::kSyncFirst;
    frame[1] = pdu::kSyncSecond;
  }
  const std::size_t header = pdu::header_octets(frame);
  if (header == 0 || header > frame.size()) return;
  if ((what & kRepairHeader) != 0) {
    put_crc(frame, header - 2, header_crc(ByteSpan(frame).subspan(2, header - 4)), 2);
  }
  const auto parsed = pdu::read_header(frame);
  if (!parsed.ok() || !parsed->has_segment() || (what & kRepairSegment) == 0) return;
  if (parsed->frame_octets() > frame.size()) return;
  const auto segment = ByteSpan(frame).subspan(header, parsed->segment_octets);
  put_crc(frame, header + segment.size(), segment_crc(segment), 4);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  Bytes frame(data + 1, data + size);
  repair(frame, data[0]);
  const auto received = pdu::decode(frame);
  if (!received.ok()) return 0;
  S5066_ASSERT(received->octets <= std::min(frame.size(), pdu::kDpduOctetsMax));
  if (std::holds_alternative<pdu::Unsupported>(received->dpdu)) return 0;

  Bytes again;
  pdu::encode(received->dpdu, again);
  S5066_ASSERT(again.size() == pdu::encoded_size(received->dpdu));
  const auto back = pdu::decode(again);
  S5066_ASSERT(back.ok() && back->segment_ok && back->dpdu == received->dpdu);
  return 0;
}
