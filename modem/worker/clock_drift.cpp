// SPDX-License-Identifier: Apache-2.0
#include "modem/worker/clock_drift.h"

namespace s5066::modem {

void ClockDrift::on_block(Duration monotonic, Duration samples) {
  const Point point{.at = monotonic, .ahead = samples - monotonic};
  if (earliest_ && monotonic >= ends_at_) {
    windows_.push_back(*earliest_);
    if (windows_.size() > config_.windows_max) windows_.pop_front();
    earliest_.reset();
  }
  if (!earliest_) ends_at_ = monotonic + config_.window;
  if (!earliest_ || point.ahead > earliest_->ahead) earliest_ = point;
}

void ClockDrift::reset() {
  windows_.clear();
  earliest_.reset();
}

/// Returns the slope of the line with the least squares.
std::optional<double> ClockDrift::ppm() const {
  if (windows_.size() < config_.windows_min) return std::nullopt;
  const auto count = static_cast<double>(windows_.size());
  double at_mean = 0;
  double ahead_mean = 0;
  const auto relative = [this](const Point& point) {
    return Point{.at = point.at - windows_.front().at,
                 .ahead = point.ahead - windows_.front().ahead};
  };
  for (const Point& point : windows_) {
    at_mean += to_seconds(relative(point).at) / count;
    ahead_mean += to_seconds(relative(point).ahead) / count;
  }
  double both = 0;
  double squares = 0;
  for (const Point& point : windows_) {
    const double at = to_seconds(relative(point).at) - at_mean;
    both += at * (to_seconds(relative(point).ahead) - ahead_mean);
    squares += at * at;
  }
  if (squares <= 0) return std::nullopt;
  return 1e6 * both / squares;
}

}  // namespace s5066::modem
