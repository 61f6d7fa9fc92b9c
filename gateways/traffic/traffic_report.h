// SPDX-License-Identifier: Apache-2.0
// The figures of received runs as s5066-traffic prints them: text, JSON and an SVG drawing.
#pragma once

#include <string>
#include <vector>

#include "gateways/traffic/receiver_core.h"

namespace s5066::traffic {

std::string to_text(const std::vector<RunReport>& runs, const CounterSet<TrafficCounter>& counters);
/// Times are in seconds, rates in bit/s; a figure that is not known is left out.
std::string to_json(const std::vector<RunReport>& runs, const CounterSet<TrafficCounter>& counters);
/// Draws throughput and delay over time, one run below the other.
std::string to_svg(const std::vector<RunReport>& runs);

}  // namespace s5066::traffic
