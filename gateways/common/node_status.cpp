// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/node_status.h"

#include "config/proto/control.pb.h"
#include "modem/api/modes.h"
#include "s5066d/control/json.h"

namespace s5066::gateways {
namespace {

constexpr double kUpMax_s = 1e9;  // 32 years; a longer time fits no Duration

}  // namespace

std::optional<NodeTime> node_time_of(std::string_view status_json) {
  const auto status = control::read_answer<proto::Status>(status_json);
  if (!status || !status->has_up_s()) return std::nullopt;
  if (!(status->up_s() >= 0 && status->up_s() <= kUpMax_s)) return std::nullopt;
  const auto mode = modem::parse_mode(status->mode());
  return NodeTime{.up = from_seconds(status->up_s()),
                  .lockstep = status->lockstep(),
                  .rate_bps = mode ? static_cast<double>(mode->rate_bps) : 0};
}

}  // namespace s5066::gateways
