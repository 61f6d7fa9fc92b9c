// SPDX-License-Identifier: Apache-2.0
#include "s5066d/base/printable.h"

#include <algorithm>

namespace s5066 {

std::string printable(std::string_view text, std::size_t octets_max) {
  std::string plain(text.substr(0, octets_max));
  std::replace_if(
      plain.begin(), plain.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return plain;
}

}  // namespace s5066
