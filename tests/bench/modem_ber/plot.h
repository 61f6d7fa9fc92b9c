// SPDX-License-Identifier: Apache-2.0
// Draws the rates of wrong bits and of wrong frames over the signal-to-noise ratio.
#pragma once

#include <string>

#include "modem/tools/bit_errors.h"

namespace s5066::modem {

struct PlotRange {
  double to_db = 0;  // the range starts at the plan's ratio
  double step_db = 1;
  double seconds = 300;  // exposure of each point
};

/// Runs the plan with each of the modes, whose names are separated by commas, and prints an SVG.
void draw(tools::BitErrorPlan plan, const std::string& modes, const PlotRange& range);

}  // namespace s5066::modem
