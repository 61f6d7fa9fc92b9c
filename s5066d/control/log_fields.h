// SPDX-License-Identifier: Apache-2.0
// Takes a line of LogLine apart again.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "s5066d/base/time.h"

namespace s5066::control {

struct LogFields {
  std::string event;
  std::vector<std::pair<std::string, std::string>> fields;
};

/// Returns the event and its fields. Values come without their quotes and without the `\` in front
/// of `"` and `\`. Octets that the log shows as `\xNN` stay so. A line that was cut gives the
/// fields that it still has.
LogFields fields_of(std::string_view line);

/// Returns a time since 1970 as 2026-01-31T12:00:00.000Z.
std::string utc_text(Duration since_1970);
/// Returns it as 2026-01-31T12:00:00Z.
std::string utc_text(UtcSeconds utc);

}  // namespace s5066::control
