// SPDX-License-Identifier: Apache-2.0
#include "gateways/traffic/load_schedule.h"

#include <charconv>
#include <cmath>
#include <string>

#include "gateways/traffic/probe.h"
#include "s5066d/base/assert.h"

namespace s5066::traffic {
namespace {

std::optional<std::size_t> parse_number(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Result<std::vector<SizeRange>> parse_sizes(std::string_view text, std::size_t min,
                                           std::size_t max) {
  std::vector<SizeRange> sizes;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const std::size_t dash = part.find('-');
    const auto low = parse_number(part.substr(0, dash));
    const auto high = dash == std::string_view::npos ? low : parse_number(part.substr(dash + 1));
    if (!low || !high || *low > *high) {
      return Error{ErrorCode::bad_field, "sizes are like 512, 64-1500 or 64,512,1500"};
    }
    if (*low < min || *high > max) {
      return Error{ErrorCode::bad_field,
                   "a size is " + std::to_string(min) + " to " + std::to_string(max)};
    }
    sizes.push_back({*low, *high});
    if (sizes.size() > kSizesMax) {
      return Error{ErrorCode::too_large, "more than " + std::to_string(kSizesMax) + " sizes"};
    }
    if (comma == std::string_view::npos) return sizes;
    text.remove_prefix(comma + 1);
  }
}

Result<Pattern> parse_pattern(std::string_view text) {
  if (text == "constant") return Pattern::constant;
  if (text == "poisson") return Pattern::poisson;
  if (text == "burst") return Pattern::burst;
  return Error{ErrorCode::bad_field, "a pattern is constant, poisson or burst"};
}

LoadSchedule::LoadSchedule(const LoadPlan& plan) : plan_(plan), rng_(plan.seed) {
  S5066_ASSERT(!plan.sizes.empty() && plan.burst > 0 && plan.rate_bps >= 0);
  S5066_ASSERT(plan.count || plan.length);
}

std::size_t LoadSchedule::size() {
  const SizeRange& range = plan_.sizes[number_ % plan_.sizes.size()];
  return range.min + rng_.below(static_cast<std::uint32_t>(range.max - range.min + 1));
}

std::optional<LoadSchedule::Item> LoadSchedule::next() {
  if (plan_.count && number_ >= *plan_.count) return std::nullopt;
  if (number_ % plan_.burst == 0) burst_s_ = line_s_;
  const double at_s = plan_.pattern == Pattern::burst ? burst_s_ : line_s_;
  if (plan_.length && at_s >= to_seconds(*plan_.length)) return std::nullopt;
  const Item item{.number = number_, .octets = size(), .at = from_seconds(at_s)};
  if (plan_.rate_bps > 0) {
    const double line_s = 8 * static_cast<double>(item.octets) / plan_.rate_bps;
    const bool drawn = plan_.pattern == Pattern::poisson;
    line_s_ += drawn ? -std::log(1 - rng_.uniform()) * line_s : line_s;
  }
  ++number_;
  return item;
}

Result<std::uint32_t> LoadSchedule::count(const LoadPlan& plan) {
  S5066_ASSERT(plan.count || plan.rate_bps > 0);
  LoadSchedule schedule(plan);
  while (schedule.next()) {
    if (schedule.number_ > kProbesMax) {
      return Error{ErrorCode::too_large,
                   "a run has at most " + std::to_string(kProbesMax) + " probes"};
    }
  }
  return schedule.number_;
}

}  // namespace s5066::traffic
