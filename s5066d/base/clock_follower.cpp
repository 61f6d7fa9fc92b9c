// SPDX-License-Identifier: Apache-2.0
#include "s5066d/base/clock_follower.h"

#include <algorithm>

namespace s5066 {

Duration ClockFollower::on_reading(Duration ours, Duration theirs) {
  const Duration ahead = theirs - ours;
  const double unread_s = to_seconds(ours - set_at_.value_or(ours));
  ahead_ = known() ? std::max(ahead, ahead_ - from_seconds(config_.drift_max * unread_s)) : ahead;
  set_at_ = ours;

  const Duration lag = ahead_ - ahead;
  if (lag <= config_.loss_min) {
    late_.reset();
    return {};
  }
  // Few readings prove nothing, if the reader rarely gets to run. Many readings at once prove
  // nothing either, if the other side has much to catch up with.
  const bool anew = !late_ || ours - late_->read_at > config_.loss_window / 2 ||
                    lag < late_->least - config_.loss_min / 2;
  if (anew) late_ = Late{.ours = ours, .theirs = theirs, .read_at = ours, .least = lag};
  late_->read_at = ours;
  late_->least = std::min(late_->least, lag);
  const Duration lasted = std::min(ours - late_->ours, theirs - late_->theirs);
  if (lasted < config_.loss_window) return {};
  const Duration lost = late_->least;
  late_.reset();
  return lost;
}

}  // namespace s5066
