// SPDX-License-Identifier: Apache-2.0
#include "s5066d/sap/damage.h"

#include <algorithm>

namespace s5066::sap {

bool touches_header(const std::vector<OctetRange>& ranges, std::size_t header_octets) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const OctetRange& range) {
    return range.octets > 0 && range.offset < header_octets;
  });
}

std::vector<OctetRange> within_updu(std::vector<OctetRange> ranges, std::size_t header_octets,
                                    std::size_t updu_octets) {
  std::sort(ranges.begin(), ranges.end(),
            [](const OctetRange& a, const OctetRange& b) { return a.offset < b.offset; });
  std::vector<OctetRange> kept;
  std::size_t done = 0;  // octets of the U_PDU before this one are done
  for (const OctetRange& range : ranges) {
    const std::size_t first = std::max<std::size_t>(range.offset, header_octets) - header_octets;
    const std::size_t end =
        std::min(std::max<std::size_t>(std::size_t{range.offset} + range.octets, header_octets) -
                     header_octets,
                 updu_octets);
    const std::size_t from = std::max(first, done);
    if (from >= end) continue;
    if (!kept.empty() && from == done) {
      kept.back().octets = static_cast<std::uint16_t>(kept.back().octets + (end - from));
    } else {
      kept.push_back({static_cast<std::uint16_t>(from), static_cast<std::uint16_t>(end - from)});
    }
    done = end;
  }
  return kept;
}

}  // namespace s5066::sap
