// SPDX-License-Identifier: Apache-2.0
#include "modem/dsp/path_motion.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "s5066d/base/assert.h"

namespace s5066::modem::dsp {
namespace {

/// Steps either way that paths may have moved in a block.
constexpr int kMovedMax = 6;
/// Two profiles of the same paths have at least this cosine. Where one of two paths alike is left,
/// it comes to 0.7.
constexpr double kAlike = 0.6;
/// Steady motion must explain rows so much better than standing still.
constexpr double kMovedFit = 1.1;
constexpr double kMotionStep = 0.25;
/// Over which the place of the paths is averaged.
constexpr double kLoopSeconds = 1.2;

float amplitude_at(std::span<const float> row, double at) {
  const double floor = std::floor(at);
  const auto k = static_cast<std::ptrdiff_t>(floor);
  const auto size = static_cast<std::ptrdiff_t>(row.size());
  const float left = k >= 0 && k < size ? row[static_cast<std::size_t>(k)] : 0;
  const float right = k + 1 >= 0 && k + 1 < size ? row[static_cast<std::size_t>(k + 1)] : 0;
  return left + static_cast<float>(at - floor) * (right - left);
}

}  // namespace

std::optional<double> moved_since(std::span<const float> before, std::span<const float> now) {
  S5066_ASSERT(before.size() == now.size());
  const auto size = static_cast<std::ptrdiff_t>(now.size());
  std::array<double, 2 * kMovedMax + 1> fit{};
  double before_energy = 0;
  double now_energy = 0;
  for (std::ptrdiff_t k = 0; k < size; ++k) {
    const auto here = static_cast<double>(before[static_cast<std::size_t>(k)]);
    before_energy += here * here;
    now_energy += static_cast<double>(now[static_cast<std::size_t>(k)]) *
                  static_cast<double>(now[static_cast<std::size_t>(k)]);
    for (std::ptrdiff_t s = -kMovedMax; s <= kMovedMax; ++s) {
      if (k + s < 0 || k + s >= size) continue;
      fit[static_cast<std::size_t>(s + kMovedMax)] +=
          here * static_cast<double>(now[static_cast<std::size_t>(k + s)]);
    }
  }
  const auto top = static_cast<std::size_t>(std::max_element(fit.begin(), fit.end()) - fit.begin());
  const double whole = std::sqrt(before_energy * now_energy);
  if (!(whole > 0) || fit[top] < kAlike * whole) return std::nullopt;
  double moved = static_cast<double>(top) - kMovedMax;
  if (top > 0 && top + 1 < fit.size()) {
    const double bend = fit[top - 1] - 2 * fit[top] + fit[top + 1];
    if (bend < 0) moved += std::clamp(0.5 * (fit[top - 1] - fit[top + 1]) / bend, -0.5, 0.5);
  }
  return moved;
}

double moved_by_row(std::span<const float> rows, std::size_t width, double whole_max) {
  const std::size_t count = rows.size() / width;
  S5066_ASSERT(rows.size() == count * width && count > 1);
  // Rows of one place add up to most when each is taken from where it has moved to.
  const auto fit = [&](double whole) {
    double energy = 0;
    for (std::size_t k = 0; k < width; ++k) {
      double sum = 0;
      for (std::size_t r = 0; r < count; ++r) {
        const double part = static_cast<double>(r) / static_cast<double>(count - 1) - 0.5;
        sum += static_cast<double>(
            amplitude_at(rows.subspan(r * width, width), static_cast<double>(k) + whole * part));
      }
      energy += sum * sum;
    }
    return energy;
  };
  double best = kMovedFit * fit(0);
  double chosen = 0;
  const int steps = static_cast<int>(whole_max / kMotionStep);
  for (int step = -steps; step <= steps; ++step) {
    const double whole = step * kMotionStep;
    const double here = fit(whole);
    if (here <= best) continue;
    best = here;
    chosen = whole;
  }
  return chosen / static_cast<double>(count - 1);
}

// An alpha-beta filter that is critically damped.
PaceLoop::PaceLoop(double block_samples, double block_seconds)
    : samples_(block_samples),
      place_gain_(1 - std::exp(-block_seconds / kLoopSeconds)),
      drift_gain_(place_gain_ * place_gain_ / (2 - place_gain_)) {}

void PaceLoop::add_block(std::optional<double> moved) {
  const double middle = late_ + 0.5 * (drift_ - pace_) * samples_;
  const double surprise = moved ? *moved - middle : 0;
  drift_ = std::clamp(drift_ + drift_gain_ * surprise / samples_, -kDriftMax, kDriftMax);
  late_ = middle + place_gain_ * surprise + 0.5 * (drift_ - pace_) * samples_;
  pace_ = drift_ + late_ / samples_;
}

}  // namespace s5066::modem::dsp
