// SPDX-License-Identifier: Apache-2.0
// Compares the output of tshark's SIS dissector with the primitive that was encoded.
#pragma once

#include <string>
#include <vector>

#include "sis/primitives.h"
#include "tests/support/tshark.h"

namespace s5066::test {

/// Returns the primitives in one dissected packet, each with its own fields and complaints.
std::vector<DissectedPacket> split_primitives(const DissectedPacket& packet);

/// Returns one line for each field that differs from `meant`, and for each complaint about the
/// packet that known_fault() does not explain.
std::vector<std::string> differences(const DissectedPacket& shown, const sis::Primitive& meant);

/// True if tshark 4.0 calls this legal primitive malformed behind its last field:
/// - types 22, 23, 26 and 27 for SAPs 2, 6 and 7, where it looks for a header of the client behind
///   the copied part of the U_PDU;
/// - types 20, 21, 24 and 25 for these SAPs with fewer U_PDU octets than such a header has;
/// - types 21 and 25 with errors, but with no block listed, which it takes for an old format.
bool known_fault(const sis::Primitive& primitive);

}  // namespace s5066::test
