// How a waveform lays out its data between known symbols: what a receiver of blocks needs to know
// about STANAG 4539, STANAG 4285 and 110D.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "modem/dsp/channel_tracker.h"
#include "modem/dsp/complex_math.h"

namespace s5066::modem::framed {

struct Layout {
  /// Unknown symbols and the known ones behind them.
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
  std::pmr::vector<Run> runs;                 // of a frame
  std::pmr::vector<Symbols> known;            // of a frame, run by run, by variant
  std::pmr::vector<std::uint8_t> variants;    // by frame of a cycle
  Symbols inserted;                           // between cycles, if anything
  Symbols preamble;                           // in front of the first frame received
  std::pmr::vector<std::uint8_t> scrambling;  // of a frame's data symbols
  double doppler_hz = 1;                      // expected until it was measured
  bool preceded = false;                      // symbols that nobody knows are sent before it
  bool repeats = false;                       // the preamble comes again with every frame
  unsigned first_frame = 0;                   // of a cycle, that is received
  unsigned lead_frames = 0;                   // received before the first block
  /// Where the paths of a channel are looked for, in symbols around the found position, and in how
  /// many parts of the preamble, in each of which the channel should hardly change.
  int window_before = 14;
  unsigned window_taps = 44;
  unsigned preamble_parts = 1;
  /// The channel in that window at half-symbol steps, where the preamble is not to tell it: mean
  /// powers, the error of one, and the variance of a sample.
  std::pmr::vector<float> profile;
  float profile_error = 0;
  float noise = 0;
  int taps_min = 20;  // room for a path that was in a fade
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
