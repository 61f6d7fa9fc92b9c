// Which modes one receiver can listen for at the same time.
#pragma once

#include <span>

#include "modem/api/modes.h"
#include "s5066d/base/result.h"

namespace s5066::modem {

/// Of STANAG 4285, which does not tell its mode, only one.
Result<void> check_receive_modes(std::span<const Mode> modes);

}  // namespace s5066::modem
