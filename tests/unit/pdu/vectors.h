// Worked examples of D_PDUs; X1 is the standard's own (C.3.2.8), the others were computed by two
// independent CRC algorithms and dissected by tshark 4.0.
#pragma once

#include <vector>

#include "s5066d/pdu/dpdu.h"

namespace s5066::test {

struct Vector {
  const char* name;
  Bytes octets;
  pdu::Dpdu dpdu;
  bool sent_like_this = true;  // false: the addresses are shorter than ours
};

std::vector<Vector> vectors();

/// The octets of one of them, by name.
Bytes vector_octets(const char* name);

}  // namespace s5066::test
