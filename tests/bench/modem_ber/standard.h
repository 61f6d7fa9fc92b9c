// The minimum performance that the standards ask of a receiver: ratio of signal to noise at which
// the bit error rate must be met, with the longest interleaver.
#pragma once

#include <array>
#include <string_view>

namespace s5066::modem {

struct StandardRow {
  std::string_view mode;
  std::string_view channel;  // awgn; poor is two fading paths, 2 ms, 1 Hz
  double snr_db;
  double ber;
  double sought_db;  // what we ask of ourselves
};

/// [MIL-STD-188-110C Table C-XVII]; sought: 2 dB less on white noise and 5 dB less with fading.
inline constexpr std::array kStandardRows = {
    StandardRow{"4539-3200-vl", "awgn", 9, 1e-5, 7},
    StandardRow{"4539-4800-vl", "awgn", 13, 1e-5, 11},
    StandardRow{"4539-6400-vl", "awgn", 16, 1e-5, 14},
    StandardRow{"4539-8000-vl", "awgn", 19, 1e-5, 17},
    StandardRow{"4539-9600-vl", "awgn", 21, 1e-5, 19},
    StandardRow{"4539-12800-zero", "awgn", 27, 1e-5, 27},
    StandardRow{"4539-3200-vl", "poor", 14, 1e-5, 9},
    StandardRow{"4539-4800-vl", "poor", 19, 1e-5, 14},
    StandardRow{"4539-6400-vl", "poor", 23, 1e-5, 18},
    StandardRow{"4539-8000-vl", "poor", 27, 1e-5, 22},
    StandardRow{"4539-9600-vl", "poor", 31, 1e-5, 26},
};

}  // namespace s5066::modem
