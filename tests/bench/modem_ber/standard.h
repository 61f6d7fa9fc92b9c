// SPDX-License-Identifier: Apache-2.0
// The minimum performance that the standards ask of a receiver: the signal-to-noise ratio at which
// the bit error rate must be met, with the longest interleaver.
#pragma once

#include <array>
#include <string_view>

namespace s5066::modem {

struct StandardRow {
  std::string_view mode;
  double delay_ms;    // between two paths of equal mean power; 0: one path
  double doppler_hz;  // spread; 0: the paths do not fade
  double snr_db;
  double ber;
  double sought_db;      // our own goal
  double middle_ms = 0;  // delay of a third path between the two, if there is one
};

/// Super-frames of preamble in the rows of 110D [MIL-STD-188-110D Table D-LII].
inline constexpr unsigned kStandardSuperFrames = 20;

/// Our goal is 2 dB below the standard's ratio in white noise and 5 dB below it with fading. For
/// 4415 and for fixed paths the goal is the standard's ratio.
inline constexpr std::array kStandardRows = {
    // [MIL-STD-188-110C Table XVI]
    StandardRow{"110a-4800-zero", 0, 0, 17, 1e-3, 15},
    StandardRow{"110a-4800-zero", 2, 0.5, 27, 1e-3, 22},
    StandardRow{"110a-2400-long", 0, 0, 10, 1e-5, 8},
    StandardRow{"110a-2400-long", 2, 1, 18, 1e-5, 13},
    StandardRow{"110a-2400-long", 2, 5, 30, 1e-3, 25},
    StandardRow{"110a-2400-long", 5, 1, 30, 1e-5, 25},
    StandardRow{"110a-1200-long", 2, 1, 11, 1e-5, 6},
    StandardRow{"110a-600-long", 2, 1, 7, 1e-5, 2},
    StandardRow{"110a-300-long", 5, 5, 7, 1e-5, 2},
    StandardRow{"110a-150-long", 5, 5, 5, 1e-5, 0},
    StandardRow{"110a-75-long", 5, 5, 2, 1e-5, -3},
    // [STANAG 4415]
    StandardRow{"110a-75-long", 0, 0, -9, 1e-3, -9},
    StandardRow{"110a-75-long", 10, 0.5, 0, 1e-4, 0},
    StandardRow{"110a-75-long", 10, 1, -1, 1e-4, -1},
    StandardRow{"110a-75-long", 10, 2, -1, 1e-4, -1},
    StandardRow{"110a-75-long", 10, 5, -1, 1e-4, -1},
    StandardRow{"110a-75-long", 10, 10, -1, 1e-4, -1},
    StandardRow{"110a-75-long", 10, 20, -1, 1e-4, -1},
    StandardRow{"110a-75-long", 10, 30, -1, 1e-4, -1},
    StandardRow{"110a-75-long", 10, 40, -0.5, 1e-4, -0.5},
    StandardRow{"110a-75-long", 10, 50, 0, 1e-4, 0},
    // [MIL-STD-188-110C Table C-XVII]
    StandardRow{"4539-3200-vl", 0, 0, 9, 1e-5, 7},
    StandardRow{"4539-4800-vl", 0, 0, 13, 1e-5, 11},
    StandardRow{"4539-6400-vl", 0, 0, 16, 1e-5, 14},
    StandardRow{"4539-8000-vl", 0, 0, 19, 1e-5, 17},
    StandardRow{"4539-9600-vl", 0, 0, 21, 1e-5, 19},
    StandardRow{"4539-12800-zero", 0, 0, 27, 1e-5, 27},
    StandardRow{"4539-3200-vl", 2, 1, 14, 1e-5, 9},
    StandardRow{"4539-4800-vl", 2, 1, 19, 1e-5, 14},
    StandardRow{"4539-6400-vl", 2, 1, 23, 1e-5, 18},
    StandardRow{"4539-8000-vl", 2, 1, 27, 1e-5, 22},
    StandardRow{"4539-9600-vl", 2, 1, 31, 1e-5, 26},
    // [MIL-STD-188-110D Table D-LII], 3 kHz
    StandardRow{"110d-75-l", 0, 0, -6, 1e-5, -8},
    StandardRow{"110d-150-l", 0, 0, -3, 1e-5, -5},
    StandardRow{"110d-300-l", 0, 0, 0, 1e-5, -2},
    StandardRow{"110d-600-l", 0, 0, 3, 1e-5, 1},
    StandardRow{"110d-1200-l", 0, 0, 5, 1e-5, 3},
    StandardRow{"110d-1600-l", 0, 0, 6, 1e-5, 4},
    StandardRow{"110d-2400-l", 0, 0, 6, 1e-5, 4},
    StandardRow{"110d-3200-l", 0, 0, 9, 1e-5, 7},
    StandardRow{"110d-4800-l", 0, 0, 13, 1e-5, 11},
    StandardRow{"110d-6400-l", 0, 0, 16, 1e-5, 14},
    StandardRow{"110d-8000-l", 0, 0, 19, 1e-5, 17},
    StandardRow{"110d-9600-l", 0, 0, 21, 1e-5, 19},
    StandardRow{"110d-12000-l", 0, 0, 24, 1e-5, 22},
    StandardRow{"110d-16000-l", 0, 0, 30, 1e-5, 28},
    StandardRow{"110d-75-l", 2, 1, -1, 1e-5, -6},
    StandardRow{"110d-150-l", 2, 1, 3, 1e-5, -2},
    StandardRow{"110d-300-l", 2, 1, 5, 1e-5, 0},
    StandardRow{"110d-600-l", 2, 1, 7, 1e-5, 2},
    StandardRow{"110d-1200-l", 2, 1, 10, 1e-5, 5},
    StandardRow{"110d-1600-l", 2, 1, 11, 1e-5, 6},
    StandardRow{"110d-2400-l", 2, 1, 11, 1e-5, 6},
    StandardRow{"110d-3200-l", 2, 1, 14, 1e-5, 9},
    StandardRow{"110d-4800-l", 2, 1, 19, 1e-5, 14},
    StandardRow{"110d-6400-l", 2, 1, 23, 1e-5, 18},
    StandardRow{"110d-8000-l", 2, 1, 27, 1e-5, 22},
    StandardRow{"110d-9600-l", 2, 1, 31, 1e-5, 26},
    // Rows of the same table with fixed paths.
    StandardRow{"110d-300-l", 9, 0, 50, 1e-5, 50, 3},
    StandardRow{"110d-9600-l", 4.5, 0, 50, 1e-5, 50, 2},
    StandardRow{"110d-16000-l", 1.5, 0, 50, 1e-5, 50},
};

}  // namespace s5066::modem
