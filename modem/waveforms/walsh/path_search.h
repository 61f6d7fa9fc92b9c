// SPDX-License-Identifier: Apache-2.0
// Finds the paths that a short preamble did not show, because they were in a fade. The mean power
// at every delay is measured in the blocks of data, as far as their patterns are known.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <span>
#include <vector>

#include "modem/dsp/complex_math.h"
#include "modem/waveforms/walsh/constants.h"
#include "modem/waveforms/walsh/signal.h"
#include "modem/waveforms/walsh/taps.h"

namespace s5066::modem::walsh {

class PathSearch {
 public:
  /// A block has `frames` frames.
  PathSearch(std::size_t frames, std::pmr::memory_resource& memory);

  /// Begins with the profile of the preamble, in which `sets` sets are summed.
  void begin(std::span<const float> profile, float sets);
  /// Returns the room for the correlations of a frame with a pattern at all delays.
  std::span<dsp::Complex> correlations(std::size_t frame, std::size_t pattern) {
    return std::span(everywhere_).subspan((frame * kPatterns + pattern) * kDelays, kDelays);
  }
  /// Chooses the taps again, by the block as well.
  void find(Taps& taps) const;
  /// Adds the profile of this block, which is decoded now.
  void remember(const Taps& taps);

 private:
  float profile_of_block(const Taps& taps, std::span<float> profile) const;

  std::size_t frames_;
  std::pmr::vector<dsp::Complex> everywhere_;  // correlations for each frame, pattern and delay
  std::pmr::vector<float> profile_;  // profile of the preamble and the blocks, for each delay
  float sets_ = 0;                   // number of sets in the profile
};

}  // namespace s5066::modem::walsh
