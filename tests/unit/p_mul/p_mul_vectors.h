// SPDX-License-Identifier: Apache-2.0
// Worked P_MUL PDUs with their octets, each confirmed by tshark, and random PDUs.
#pragma once

#include <string>
#include <vector>

#include "gateways/p_mul/p_mul_pdu.h"
#include "s5066d/base/rng.h"

namespace s5066::p_mul::test {

struct Vector {
  std::string name;
  std::string hex;
  Pdu pdu;
  bool ranges = false;    // missing blocks are written as ranges
  bool canonical = true;  // we write the same octets
};

const std::vector<Vector>& vectors();

/// Makes any PDU that encode() takes. Fragments and lists stay short.
Pdu random_pdu(Rng& rng);

}  // namespace s5066::p_mul::test
