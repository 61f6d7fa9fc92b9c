// Keys the transmitter for a moment, and unkeys it whatever it takes.
#pragma once

#include <functional>
#include <memory>

#include "modem/ptt/ptt.h"
#include "s5066d/base/result.h"

namespace s5066::modem::tools {

/// What cannot be unkeyed is not keyed. `meanwhile` takes about so many seconds. Says what speaks
/// for it that the transmitter is unkeyed; the error's detail says when it is perhaps still keyed.
Result<Unkeyed> try_key(std::unique_ptr<Ptt> ptt, double seconds,
                        const std::function<void()>& meanwhile);

}  // namespace s5066::modem::tools
