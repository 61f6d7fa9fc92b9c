// SPDX-License-Identifier: Apache-2.0
// The layout of a waveform's data between known symbols, as a receiver of blocks needs it for
// STANAG 4539, STANAG 4285 and 110D.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "modem/dsp/channel_tracker.h"
#include "modem/dsp/complex_math.h"

namespace s5066::modem::framed {

struct Layout {
  /// A run has unknown symbols and the known ones behind them.
  struct Run {
    unsigned data = 0;
    unsigned known = 0;
  };

  using Symbols = std::pmr::vector<dsp::Complex>;

  explicit Layout(std::pmr::memory_resource* memory)
      : runs(memory),
        known(memory),
        variants(memory),
        inserted(memory),
        preamble(memory),
        scrambling(memory),
        profile(memory) {}

  unsigned bits_per_symbol = 1;
  unsigned frames_per_block = 1;
  std::pmr::vector<Run> runs;                 // runs of a frame
  std::pmr::vector<Symbols> known;            // known symbols of a frame, for each run and variant
  std::pmr::vector<std::uint8_t> variants;    // variant of each frame of a cycle
  Symbols inserted;                           // symbols between cycles, if any
  Symbols preamble;                           // symbols before the first received frame
  std::pmr::vector<std::uint8_t> scrambling;  // scrambling of the data symbols of a frame
  double doppler_hz = 1;                      // expected value, used until it has been measured
  bool preceded = false;                      // unknown symbols are sent before the preamble
  bool repeats = false;                       // the preamble is repeated with every frame
  unsigned first_frame = 0;                   // number of the first received frame in its cycle
  unsigned lead_frames = 0;                   // frames received before the first block
  /// The paths of a channel are searched in this window, in symbols around the found position. The
  /// preamble is evaluated in this many parts; the channel should hardly change within one part.
  int window_before = 14;
  unsigned window_taps = 44;
  unsigned preamble_parts = 1;
  /// The channel in that window at half-symbol steps, if the preamble is not used to measure it:
  /// mean powers, the error of one, and the variance of a sample.
  std::pmr::vector<float> profile;
  float profile_error = 0;
  float noise = 0;
  int taps_min = 20;  // leaves room for a path that was in a fade
  int taps_max = static_cast<int>(dsp::ChannelTracker::kTapsMax);

  std::size_t frames_in_cycle() const { return variants.size(); }
  std::size_t frame_data() const {
    std::size_t count = 0;
    for (const Run& run : runs) count += run.data;
    return count;
  }
  std::size_t frame_known() const { return known.front().size(); }
  std::size_t frame_symbols() const { return frame_data() + frame_known(); }
  std::size_t frame_bits() const { return frame_data() * bits_per_symbol; }
  std::size_t block_bits() const { return frames_per_block * frame_bits(); }
};

}  // namespace s5066::modem::framed
