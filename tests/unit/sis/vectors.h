// Worked examples of Annex A frames, laid out by hand from the figures and checked with the
// Wireshark dissector: hex, and the value where we offer the type.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "sis/codec.h"

namespace s5066::sis {

struct Vector {
  std::string_view name;
  std::string_view hex;
  Type type;
  std::optional<Primitive> value;  // nothing: a type or mode that we do not offer
};

const std::vector<Vector>& vectors();

}  // namespace s5066::sis
