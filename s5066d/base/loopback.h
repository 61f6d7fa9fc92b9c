// SPDX-License-Identifier: Apache-2.0
// Which addresses reach only programs of this machine.
#pragma once

#include <string_view>

namespace s5066 {

/// True for an address in digits that reaches only programs of this machine (RFC 1122, RFC 4291).
constexpr bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address == "::1";
}

}  // namespace s5066
