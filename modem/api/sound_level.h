// SPDX-License-Identifier: Apache-2.0
// Words for the levels of the received sound.
#pragma once

#include <string_view>

#include "modem/api/modem.h"

namespace s5066::modem {

/// Returns the word of the control interface for a level.
std::string_view to_string(SoundLevel level);

}  // namespace s5066::modem
