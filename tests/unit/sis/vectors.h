// SPDX-License-Identifier: Apache-2.0
// These worked examples of Annex A frames give hex and value. They were laid out by hand from the
// figures and checked with the Wireshark dissector.
#pragma once

#include <string_view>
#include <vector>

#include "sis/codec.h"

namespace s5066::sis {

struct Vector {
  std::string_view name;
  std::string_view hex;
  Type type;
  Primitive value;
};

const std::vector<Vector>& vectors();

}  // namespace s5066::sis
