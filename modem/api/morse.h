// SPDX-License-Identifier: Apache-2.0
// The call sign of a station in Morse code (ITU-R M.1677-1), which identifies it to listeners
// without a modem: the signs, and their exact time on the air.
#pragma once

#include <string_view>
#include <vector>

#include "s5066d/base/time.h"

namespace s5066::modem {

/// One dot. 60 ms are 20 words a minute. A dash has three units; there are one between the elements
/// of a sign, three between signs and seven between words.
inline constexpr Duration kMorseUnit = std::chrono::milliseconds(60);
/// A longer text is not sent, so that an identification stays below half a minute.
inline constexpr std::size_t kMorseOctetsMax = 24;

/// True if every octet is a letter, a digit, '/' or a space, the first is no space, and the text is
/// not too long.
bool is_morse_text(std::string_view text);
/// Returns the units of a text: true while the tone is on. The first and the last are on.
std::vector<bool> morse_units(std::string_view text);
Duration morse_airtime(std::string_view text);

}  // namespace s5066::modem
