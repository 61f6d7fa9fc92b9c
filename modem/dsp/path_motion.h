// SPDX-License-Identifier: Apache-2.0
// Tells how far the paths of a channel move through a window of delays when the clocks of the two
// stations differ, and steers the receiver's sampling so that they stay in their places.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace s5066::modem::dsp {

/// How far, in steps, the amplitudes `now` have moved towards later delays since `before`. The
/// place of the paths counts and not their strength, which changes as they fade. Empty where the
/// two are not alike, because other paths are heard now.
std::optional<double> moved_since(std::span<const float> before, std::span<const float> now);

/// How far, in steps, amplitudes move from each row to the next, if they move steadily and by
/// `whole_max` at most from the first row to the last; 0 where that explains the rows little better
/// than standing still.
double moved_by_row(std::span<const float> rows, std::size_t width, double whole_max);

/// Estimates where the paths are and how fast they move, from one measurement for each block of
/// samples, and says how fast to read the samples of the next block.
class PaceLoop {
 public:
  /// Largest difference of the clocks that is tracked.
  static constexpr double kDriftMax = 500e-6;

  PaceLoop(double block_samples, double block_seconds);

  /// Starts with the relative difference of the clocks that the preamble showed.
  void start(double drift) { pace_ = drift_ = drift; }
  /// Takes the mean position of the paths over a block that was read at `pace()`; nothing if the
  /// block showed none.
  void add_block(std::optional<double> moved);
  /// Returns how much the spacing of the next block's samples exceeds the nominal one, as a share.
  double pace() const { return pace_; }
  double drift() const { return drift_; }

 private:
  double samples_;
  double place_gain_;
  double drift_gain_;
  double late_ = 0;   // lateness of the paths at the end of the last block
  double drift_ = 0;  // drift of the clocks
  double pace_ = 0;
};

}  // namespace s5066::modem::dsp
