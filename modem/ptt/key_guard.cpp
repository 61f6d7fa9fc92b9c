// SPDX-License-Identifier: Apache-2.0
#include "modem/ptt/key_guard.h"

#include <algorithm>

namespace s5066::modem {

void KeyGuard::on_keying(Duration now, Duration keyed_max) {
  if (keyed_) return;  // a second call does not extend the limit
  keyed_ = Keyed{
      .limit_at = now + keyed_max, .hangs_at = now + config_.hang_max, .repeat_at = Duration{}};
}

void KeyGuard::on_next_burst(Duration now, Duration keyed_max) {
  if (!keyed_ || tripped_ || now >= keyed_->limit_at) return;
  keyed_->limit_at = now + keyed_max;
}

void KeyGuard::on_alive(Duration now) {
  if (keyed_) keyed_->hangs_at = now + config_.hang_max;
}

void KeyGuard::on_unkeyed() {
  keyed_.reset();
  tripped_.reset();
}

std::optional<Duration> KeyGuard::next_deadline() const {
  if (!keyed_) return std::nullopt;
  return tripped_ ? keyed_->repeat_at : std::min(keyed_->limit_at, keyed_->hangs_at);
}

bool KeyGuard::on_deadline(Duration now) {
  const auto deadline = next_deadline();
  if (!deadline || now < *deadline) return false;
  if (!tripped_) {
    tripped_ = keyed_->limit_at <= now ? KeyTrip::too_long : KeyTrip::owner_hangs;
  }
  keyed_->repeat_at = now + config_.repeat;
  return true;
}

}  // namespace s5066::modem
