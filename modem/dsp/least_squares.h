// SPDX-License-Identifier: Apache-2.0
// Estimates the impulse response of a channel over a wide window from a stretch of known symbols:
// where the energy lies, how strong signal and noise are, and the offset of the carrier.
#pragma once

#include <cstdint>
#include <span>

#include "modem/dsp/channel_tracker.h"
#include "modem/dsp/complex_math.h"
#include "s5066d/base/fixed_vector.h"

namespace s5066::modem::dsp {

/// This is the longest response, in symbols.
inline constexpr std::size_t kWideTapsMax = 60;

struct WideResponse {
  FixedVector<Complex, kPhases * kWideTapsMax> taps;  // taps at half-symbol steps
  float signal_power = 0;                             // power of a sample
  float noise_power = 0;                              // power of a sample
  float offset_turn = 0;  // offset of the carrier, in turns in one half-symbol sample
};

/// `samples` has two for each symbol. The response has 2 x `taps` half-symbol steps and begins with
/// the step that meets symbol 0 at samples[0]. It needs symbols + taps - 1 pairs of samples; those
/// to which a symbol outside the stretch would contribute are left out.
WideResponse estimate_response(std::span<const Complex> symbols, std::span<const Complex> samples,
                               std::size_t taps);

/// Returns the steps between the first and the last peak of a power profile that reach a tenth of
/// the highest value.
std::size_t profile_spread(std::span<const float> profile);

/// Returns the step of the first path, which is the first peak of at least a quarter of the highest
/// value. The profile must not be empty.
std::size_t first_path(std::span<const float> profile);

/// Returns the place of the peak at step `k` by a parabola through three amplitudes: that of `k`
/// and those of its neighbours.
double peak_place(std::span<const float> profile, std::size_t k);

/// The part of a profile that has power, and the window for it, in symbols.
struct WindowSought {
  int earliest = 0;  // begin of the part with power, its margin included
  int span = 0;      // length of the part
  int taps = 0;      // length of the window
  int margin = 0;    // part of `span`, at either end, for the pulse of a path
};
/// Returns where the window begins: around the middle of the span when that fits into it. Otherwise
/// it is the place with the most power, if possible with whole pulses of its paths, because fading
/// within the stretch looks like weak echoes far from the paths.
int fullest_window(std::span<const float> profile, const WindowSought& sought);

/// Solves A x = b for a Hermitian positive A (lower triangle, row by row); both arrays are
/// overwritten.
void solve_hermitian(std::span<std::complex<double>> a, std::span<std::complex<double>> b,
                     std::size_t size);
/// These do the same in two steps: the triangular factor replaces A, and then each right side is
/// solved with it.
void factor_hermitian(std::span<std::complex<double>> a, std::size_t size);
void solve_factored(std::span<const std::complex<double>> factor, std::span<std::complex<double>> b,
                    std::size_t size);

}  // namespace s5066::modem::dsp
