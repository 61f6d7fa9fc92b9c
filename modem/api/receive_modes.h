// SPDX-License-Identifier: Apache-2.0
// Rules for the modes that one receiver can receive at the same time.
#pragma once

#include <span>
#include <vector>

#include "modem/api/modes.h"
#include "s5066d/base/result.h"

namespace s5066::modem {

/// Only one mode of STANAG 4285 is allowed, because its signal does not announce the mode.
Result<void> check_receive_modes(std::span<const Mode> modes);

/// Returns true if the preamble announces the mode. STANAG 4285 does not. Nor does 110A without an
/// interleaver at a rate that also has the short one, because both have the same preamble. Both
/// stations must agree on such modes.
bool tells_itself(const Mode& mode);

/// Returns the modes that a station which transmits in `sent` receives. They are `given`, or an
/// empty list, which means every mode that announces itself. When `sent` does not announce itself,
/// the list is `sent` alone.
std::vector<Mode> listen_modes(std::vector<Mode> given, const Mode& sent);

/// Returns true if a receiver with this list receives the mode. An empty list means every mode that
/// announces itself.
bool is_heard(const Mode& mode, std::span<const Mode> listened);

}  // namespace s5066::modem
