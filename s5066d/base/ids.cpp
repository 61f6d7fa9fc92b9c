// SPDX-License-Identifier: Apache-2.0
#include "s5066d/base/ids.h"

#include <charconv>

namespace s5066 {

std::string to_string(Address address) {
  const std::uint32_t v = address.value | (address.group ? 1u << 28 : 0u);
  return std::to_string(v >> 24) + '.' + std::to_string(v >> 16 & 255) + '.' +
         std::to_string(v >> 8 & 255) + '.' + std::to_string(v & 255);
}

Result<Address> parse_address(std::string_view text) {
  std::uint32_t value = 0;
  for (int part = 0; part < 4; ++part) {
    if (part > 0) {
      if (text.empty() || text.front() != '.') {
        return Error{ErrorCode::bad_field, "address needs four numbers, w.x.y.z"};
      }
      text.remove_prefix(1);
    }
    unsigned number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc{} || number > (part == 0 ? 31u : 255u)) {
      return Error{ErrorCode::bad_field, "address goes from 0.0.0.0 to 31.255.255.255"};
    }
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    value = value << 8 | number;
  }
  if (!text.empty()) return Error{ErrorCode::bad_field, "text after the address"};
  return Address{value & Address::kMax, value > Address::kMax};
}

}  // namespace s5066
