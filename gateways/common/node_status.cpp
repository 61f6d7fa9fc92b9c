// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/node_status.h"

#include "config/proto/control.pb.h"
#include "s5066d/control/json.h"

namespace s5066::gateways {
namespace {

constexpr double kUpMax_s = 1e9;  // 32 years: more fits no Duration

}  // namespace

std::optional<NodeTime> node_time_of(std::string_view status_json) {
  const auto status = control::read_answer<proto::Status>(status_json);
  if (!status || !status->has_up_s()) return std::nullopt;
  if (!(status->up_s() >= 0 && status->up_s() <= kUpMax_s)) return std::nullopt;
  return NodeTime{.up = from_seconds(status->up_s()), .lockstep = status->lockstep()};
}

}  // namespace s5066::gateways
