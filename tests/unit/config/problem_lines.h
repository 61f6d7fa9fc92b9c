// SPDX-License-Identifier: Apache-2.0
// Formats the problems of a configuration, one per line.
#pragma once

#include <string>
#include <vector>

#include "config/load.h"

namespace s5066::config {

inline std::string all_lines(const std::vector<Problem>& problems) {
  std::string lines;
  for (const Problem& problem : problems) lines += to_string(problem) + "\n";
  return lines;
}

}  // namespace s5066::config
