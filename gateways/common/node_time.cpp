// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/node_time.h"

#include <algorithm>
#include <cstdlib>
#include <string>

namespace s5066::gateways {
namespace {

constexpr double kUpMax_s = 1e9;  // 32 years: more fits no Duration

/// Returns the text after `"key":` without leading blanks; empty if there is no such key.
std::string_view value_behind(std::string_view json, std::string_view key) {
  const std::size_t at = json.find(key);
  const std::size_t colon = at == std::string_view::npos ? at : json.find(':', at + key.size());
  if (colon == std::string_view::npos) return {};
  const std::size_t value = json.find_first_not_of(" \n\t", colon + 1);
  return value == std::string_view::npos ? std::string_view() : json.substr(value);
}

}  // namespace

std::optional<NodeTime> node_time_of(std::string_view status_json) {
  const std::string_view up = value_behind(status_json, "\"up_s\"");
  const std::string_view lockstep = value_behind(status_json, "\"lockstep\"");
  const std::string number(up.substr(0, up.find_first_of(",}\n")));
  char* end = nullptr;
  const double seconds = std::strtod(number.c_str(), &end);
  if (end == number.c_str() || !(seconds >= 0 && seconds <= kUpMax_s)) return std::nullopt;
  return NodeTime{.up = from_seconds(seconds), .lockstep = lockstep.starts_with("true")};
}

void NodeTimeFollower::on_reading(Duration machine, const NodeTime& node) {
  base_ = now(machine);
  since_ = machine;
  silent_ = false;
  if (!node.lockstep) {
    reading_.reset();
    return;
  }
  // A clock behind the last reading belongs to a node that was restarted.
  if (reading_ && node.up >= reading_->up) {
    base_ = std::max(base_, reading_->at + (node.up - reading_->up));
  }
  reading_ = Reading{.up = node.up, .at = base_};
}

void NodeTimeFollower::on_silence(Duration machine) {
  base_ = now(machine);
  since_ = machine;
  silent_ = true;
}

Instant NodeTimeFollower::now(Duration machine) const {
  return follows() ? base_ : base_ + (machine - since_);
}

std::optional<Duration> NodeTimeFollower::machine_time_of(Instant at) const {
  if (follows()) return std::nullopt;
  return since_ + (at - base_);
}

}  // namespace s5066::gateways
