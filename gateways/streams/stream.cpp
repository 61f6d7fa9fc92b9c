// SPDX-License-Identifier: Apache-2.0
#include "gateways/streams/stream.h"

#include <cmath>

namespace s5066::streams {

double Stream::recent(Instant now, Duration half_life) const {
  return recent_ * std::exp2(-to_seconds(now - recent_at_) / to_seconds(half_life));
}

void Stream::note_sent(Instant now, std::size_t octets, Duration half_life) {
  recent_ = recent(now, half_life) + static_cast<double>(octets);
  recent_at_ = now;
  active_at = now;
}

bool Stream::interactive(Instant now, const StreamsConfig& config) const {
  const std::size_t waiting = send.waiting();
  return waiting <= config.interactive_octets &&
         recent(now, config.recent_half_life) + static_cast<double>(waiting) <=
             static_cast<double>(config.interactive_recent);
}

}  // namespace s5066::streams
