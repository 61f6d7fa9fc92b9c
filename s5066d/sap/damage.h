// What of a U_PDU that came by non-ARQ is damaged or missing (A.2.1.9(9) to (15)).
#pragma once

#include <cstddef>
#include <vector>

#include "s5066d/base/bytes.h"

namespace s5066::sap {

/// True when one of the first octets is in one of the ranges.
bool touches_header(const std::vector<OctetRange>& ranges, std::size_t header_octets);

/// Ranges of an S_PDU as ranges of the U_PDU behind its header: sorted, those that meet joined, and
/// cut where the U_PDU begins and ends.
std::vector<OctetRange> within_updu(std::vector<OctetRange> ranges, std::size_t header_octets,
                                    std::size_t updu_octets);

}  // namespace s5066::sap
