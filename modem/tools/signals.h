// SPDX-License-Identifier: Apache-2.0
// Support for subcommands that serve until SIGINT, SIGTERM or SIGHUP.
#pragma once

#include <functional>

#include "s5066d/base/result.h"

namespace s5066::modem::tools {

/// Blocks the signals in every thread that is started from now on. A thread waits for them, so that
/// no handler is needed.
void block_signals();
/// Runs `run` in a thread until it ends by itself, or until a signal comes, which calls `stop`.
Result<void> run_until_signalled(const std::function<Result<void>()>& run,
                                 const std::function<void()>& stop);

}  // namespace s5066::modem::tools
