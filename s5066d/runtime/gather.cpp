// SPDX-License-Identifier: Apache-2.0
#include "s5066d/runtime/gather.h"

#include "sis/codec.h"

namespace s5066::runtime {

std::size_t octets_of_whole_frames(ByteSpan frames, std::size_t octets_max) {
  std::size_t end = 0;
  while (end + sis::kHeaderOctets <= frames.size()) {
    const std::size_t next = end + sis::kHeaderOctets + get_u16(frames, end + 3);
    S5066_ASSERT(next <= frames.size());
    if (end > 0 && next > octets_max) break;
    end = next;
  }
  return end;
}

}  // namespace s5066::runtime
