// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/occupancy_detector.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "modem/waveforms/burst_events.h"

namespace s5066::modem {
namespace {

constexpr double kLowHz = 300;
constexpr double kHighHz = 3000;
/// These are the two sections of a Butterworth filter of the fourth order.
constexpr std::array<double, 2> kQuality = {0.541196, 1.306563};
/// No sound card gives a larger sample; beyond it a sample is an error.
constexpr float kLoudest = 4;
constexpr double kNothing = 1e-30;

constexpr std::size_t kBlocksOccupied = 12;  // 240 ms
constexpr std::size_t kBlocksFree = 3;       // 60 ms
constexpr std::size_t kFloorPart = 20;       // one block in this many is below the floor
/// For 300 ms after our own transmission a relay or the gain of the receiver may still mute the
/// sound. A station that transmits much would otherwise take its floor from that.
constexpr std::size_t kBlocksSettling = 15;

}  // namespace

double OccupancyDetector::Biquad::step(double x) {
  const double y = b0 * x + s1;
  s1 = b1 * x - a1 * y + s2;
  s2 = b2 * x - a2 * y;
  return y;
}

OccupancyDetector::OccupancyDetector() : blocks_(kBlocks), with_step_(kSteps) {
  for (std::size_t i = 0; i < filter_.size(); ++i) {
    const bool high_pass = i < 2;
    const double angle = 2 * std::numbers::pi * (high_pass ? kLowHz : kHighHz) / kSampleRate;
    const double alpha = std::sin(angle) / (2 * kQuality[i % 2]);
    const double cosine = std::cos(angle);
    const double a0 = 1 + alpha;
    const double middle = high_pass ? -(1 + cosine) / a0 : (1 - cosine) / a0;
    const double side = high_pass ? (1 + cosine) / 2 / a0 : (1 - cosine) / 2 / a0;
    filter_[i] = {
        .b0 = side, .b1 = middle, .b2 = side, .a1 = -2 * cosine / a0, .a2 = (1 - alpha) / a0};
  }
}

void OccupancyDetector::process(std::span<const float> samples) {
  for (const float sample : samples) {
    double value = std::isfinite(sample) ? std::clamp(sample, -kLoudest, kLoudest) : 0.0F;
    for (Biquad& section : filter_) value = section.step(value);
    squares_ += value * value;
    if (++in_block_ < kBlock) continue;
    on_block(squares_ / kBlock);
    squares_ = 0;
    in_block_ = 0;
    // Very small remainders in silence become denormal numbers, which are slow to compute with.
    for (Biquad& section : filter_) {
      if (std::abs(section.s1) < kNothing) section.s1 = 0;
      if (std::abs(section.s2) < kNothing) section.s2 = 0;
    }
  }
}

void OccupancyDetector::on_block(double power) {
  const double over_db = 10 * std::log10(std::max(power, kNothing)) - kFloorMinDb;
  const auto step = static_cast<Step>(
      std::clamp(std::lround(over_db / kStepDb), 0L, static_cast<long>(kSteps) - 1));
  window_[in_window_++ % kWindow] = step;
  if (settling_ > 0) {
    --settling_;
  } else {
    note_for_floor(step);
  }
  const auto over = [this](double db) {
    const auto limit = static_cast<double>(floor_) + db / kStepDb;
    const auto end = window_.begin() + static_cast<std::ptrdiff_t>(std::min(in_window_, kWindow));
    return static_cast<std::size_t>(
        std::count_if(window_.begin(), end, [&](Step s) { return s > limit; }));
  };
  occupied_ = occupied_ ? over(kFreeDb) > kBlocksFree : over(kOccupiedDb) >= kBlocksOccupied;
}

void OccupancyDetector::note_for_floor(Step step) {
  Step& place = blocks_[static_cast<std::size_t>(seen_ % kBlocks)];
  if (seen_ >= kBlocks) --with_step_[place];
  place = step;
  ++with_step_[step];
  ++seen_;
  find_floor();
}

void OccupancyDetector::find_floor() {
  std::uint64_t below = std::min<std::uint64_t>(seen_, kBlocks) / kFloorPart;
  for (floor_ = 0; with_step_[floor_] <= below; ++floor_) below -= with_step_[floor_];
}

void OccupancyDetector::pause() {
  for (Biquad& section : filter_) section.s1 = section.s2 = 0;
  squares_ = 0;
  in_block_ = 0;
  in_window_ = 0;
  settling_ = seen_ > 0 ? kBlocksSettling : 0;
  occupied_ = false;
}

void OccupancyDetector::restart() {
  seen_ = 0;
  pause();
  std::fill(with_step_.begin(), with_step_.end(), std::uint16_t{0});
  floor_ = 0;
}

double OccupancyDetector::floor_db() const {
  return kFloorMinDb + kStepDb * static_cast<double>(floor_);
}

}  // namespace s5066::modem
