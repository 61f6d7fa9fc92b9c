// SPDX-License-Identifier: Apache-2.0
// Makes a text of others fit for one line of ours.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace s5066 {

/// Returns the first octets of the text, with '?' for all that is not printable ASCII.
std::string printable(std::string_view text, std::size_t octets_max);

}  // namespace s5066
