// SPDX-License-Identifier: Apache-2.0
// Damaged and missing parts of a U_PDU received by non-ARQ (A.2.1.9(9) to (15)).
#pragma once

#include <cstddef>
#include <vector>

#include "s5066d/base/bytes.h"

namespace s5066::sap {

/// True if one of the first `header_octets` octets is in one of the ranges.
bool touches_header(const std::vector<OctetRange>& ranges, std::size_t header_octets);

/// Converts ranges of an S_PDU to ranges of the U_PDU after its header: sorted, adjacent ones
/// joined, and cut at both ends of the U_PDU.
std::vector<OctetRange> within_updu(std::vector<OctetRange> ranges, std::size_t header_octets,
                                    std::size_t updu_octets);

}  // namespace s5066::sap
