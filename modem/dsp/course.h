// SPDX-License-Identifier: Apache-2.0
// The course of a channel's response over many steps in time.
#pragma once

#include <cstddef>
#include <span>

#include "modem/dsp/complex_math.h"

namespace s5066::modem::dsp {

/// Returns the number of steps that lie within half the span over which a fading tap is a parabola
/// in time, except for less than the noise. It is 0 when that is too few to separate noise.
/// `doppler_hz` is two standard deviations of the spectrum.
std::size_t even_steps(double doppler_hz, double step_seconds);

/// Each value of each step, `values` to a step, is replaced by that of the parabola which fits it
/// best over the `half` steps before and after. At the ends the same number of steps is used
/// (Savitzky and Golay 1964). A filter that models taps as first-order processes leaves more noise
/// in them, because such a course is rough while that of a Gaussian spectrum is smooth.
void even_out(std::span<const Complex> steps, std::size_t values, std::size_t half,
              std::span<Complex> out);

}  // namespace s5066::modem::dsp
