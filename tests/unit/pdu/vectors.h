// SPDX-License-Identifier: Apache-2.0
// These are worked examples of D_PDUs. X1 is the standard's own (C.3.2.8). The others were computed
// by two independent CRC algorithms and dissected by tshark 4.0.
#pragma once

#include <vector>

#include "s5066d/pdu/dpdu.h"

namespace s5066::test {

struct Vector {
  const char* name;
  Bytes octets;
  pdu::Dpdu dpdu;
  bool sent_like_this = true;  // false if the addresses are shorter than ours
};

std::vector<Vector> vectors();

/// Returns the octets of an example by its name.
Bytes vector_octets(const char* name);

}  // namespace s5066::test
