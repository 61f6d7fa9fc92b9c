// SPDX-License-Identifier: Apache-2.0
// Reads what a gateway needs from s5066d's answer to `status`.
#pragma once

#include <optional>
#include <string_view>

#include "gateways/common/node_time.h"

namespace s5066::gateways {

/// Returns the node's clock; empty if the text is no such answer, or has no clock.
std::optional<NodeTime> node_time_of(std::string_view status_json);

}  // namespace s5066::gateways
