// SPDX-License-Identifier: Apache-2.0
// Keys the transmitter for a moment and unkeys it in every case.
#pragma once

#include <functional>
#include <memory>

#include "modem/ptt/ptt.h"
#include "s5066d/base/result.h"

namespace s5066::modem::tools {

/// A transmitter that cannot be unkeyed is not keyed. `meanwhile` should take about `seconds`.
/// Returns the evidence that the transmitter is unkeyed. The detail of an error says when the
/// transmitter may still be keyed.
Result<Unkeyed> try_key(std::unique_ptr<Ptt> ptt, double seconds,
                        const std::function<void()>& meanwhile);

}  // namespace s5066::modem::tools
