// Which modes one receiver can listen for at the same time, and which of them it hears.
#pragma once

#include <span>
#include <vector>

#include "modem/api/modes.h"
#include "s5066d/base/result.h"

namespace s5066::modem {

/// Of STANAG 4285, which does not tell its mode, only one.
Result<void> check_receive_modes(std::span<const Mode> modes);

/// Its preamble says which mode it is. Not so STANAG 4285, nor 110A without an interleaver where
/// the same rate has the short one, which has the same preamble: both stations must agree on them.
bool tells_itself(const Mode& mode);

/// What a receiver is to listen for whose station sends in `sent`: what was given, or everything
/// that tells itself, which is the empty list. Where `sent` does not, that alone.
std::vector<Mode> listen_modes(std::vector<Mode> given, const Mode& sent);

/// By a receiver that listens for these; every mode that tells itself where there are none.
bool is_heard(const Mode& mode, std::span<const Mode> listened);

}  // namespace s5066::modem
