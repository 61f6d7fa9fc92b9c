// Subcommands that serve until SIGINT, SIGTERM or SIGHUP.
#pragma once

#include <functional>

#include "s5066d/base/result.h"

namespace s5066::modem::tools {

/// In every thread that is started from now on. The signals are waited for rather than handled, so
/// that nothing has to be reachable from a handler.
void block_signals();
/// Runs it in a thread until it ends by itself or, when a signal comes, by `stop`.
Result<void> run_until_signalled(const std::function<Result<void>()>& run,
                                 const std::function<void()>& stop);

}  // namespace s5066::modem::tools
