// Impulse response of a channel over a wide window, from a stretch of known symbols: where the
// energy lies, how strong signal and noise are, and how far the carrier is off.
#pragma once

#include <cstdint>
#include <span>

#include "modem/dsp/channel_tracker.h"
#include "modem/dsp/complex_math.h"
#include "s5066d/base/fixed_vector.h"

namespace s5066::modem::dsp {

/// Of a response, in symbols.
inline constexpr std::size_t kWideTapsMax = 60;

struct WideResponse {
  FixedVector<Complex, kPhases * kWideTapsMax> taps;  // at half-symbol steps
  float signal_power = 0;                             // of a sample
  float noise_power = 0;                              // of a sample
  float offset_turn = 0;  // turns in one half-symbol sample that the carrier is still off
};

/// `samples` are two for each symbol; the response has 2 x `taps` half-symbol steps and begins with
/// the step that meets symbol 0 at samples[0]. Needs symbols + taps - 1 pairs of samples; those
/// where a symbol outside the stretch would play a part are left out.
WideResponse estimate_response(std::span<const Complex> symbols, std::span<const Complex> samples,
                               std::size_t taps);

/// Steps between the first and the last peak of a profile of powers that reach a tenth of the
/// highest value.
std::size_t profile_spread(std::span<const float> profile);

/// The step of the first path: the first peak of a quarter of the highest value. The profile is not
/// empty.
std::size_t first_path(std::span<const float> profile);

/// Where the peak at step `k` lies when its neighbours are heard too: a parabola through the three
/// amplitudes.
double peak_place(std::span<const float> profile, std::size_t k);

/// What has power in a profile, and the window that is to be laid over it, in symbols.
struct WindowSought {
  int earliest = 0;  // where what has power begins, its margin included
  int span = 0;      // how far it reaches
  int taps = 0;      // the window's
  int margin = 0;    // of `span`, at either end, for the pulse of a path
};
/// Where the window begins: around the middle of the span where that fits in. Else it has the most
/// power in it, the pulses of its paths whole if possible: fading within the stretch looks like
/// weak echoes far away from the paths.
int fullest_window(std::span<const float> profile, const WindowSought& sought);

/// Solves A x = b for a Hermitian positive A (lower triangle, row by row); both are overwritten.
void solve_hermitian(std::span<std::complex<double>> a, std::span<std::complex<double>> b,
                     std::size_t size);
/// The same in two steps: the triangular factor in the place of A, then as many solutions as there
/// are right sides.
void factor_hermitian(std::span<std::complex<double>> a, std::size_t size);
void solve_factored(std::span<const std::complex<double>> factor, std::span<std::complex<double>> b,
                    std::size_t size);

}  // namespace s5066::modem::dsp
