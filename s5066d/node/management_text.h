// SPDX-License-Identifier: Apache-2.0
// Bodies of management messages (A.2.1.15, A.2.1.16): lines of text, name=value. The page
// docs/conformance/management_names.md explains the names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "s5066d/base/bytes.h"
#include "s5066d/base/node_counters.h"
#include "s5066d/base/result.h"

namespace s5066 {

struct NodeStatus;

/// MSG TYPE of a request and of its answer.
enum class ManagementType : std::uint8_t {
  status = 1,
  statistics = 2,
  links = 3,
  clients = 4,
  shut_sap = 5,
  open_sap = 6,
  broadcast_session = 7,
  emcon = 8,
  error = 255,  // answer to a request that cannot be carried out
};

/// Lines sorted by name.
using ManagementLines = std::vector<std::string>;

ManagementLines status_lines(const NodeStatus& status);
ManagementLines statistics_lines(const Counters& counters);
ManagementLines link_lines(const NodeStatus& status);
ManagementLines client_lines(const NodeStatus& status);
ManagementLines error_lines(std::uint8_t request, const Error& error);

/// Returns the number in the body "name=number" of a request; a line end may follow.
Result<unsigned> number_in(ByteSpan body, std::string_view name, unsigned max);

}  // namespace s5066
