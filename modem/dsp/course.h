// The course of a channel's response over many steps in time.
#pragma once

#include <cstddef>
#include <span>

#include "modem/dsp/complex_math.h"

namespace s5066::modem::dsp {

/// Steps that lie within half the span over which a tap that fades is a parabola in time, but for
/// less than the noise; 0 where that is too few to tell noise from it.
/// `doppler_hz` is two standard deviations of its spectrum.
std::size_t even_steps(double doppler_hz, double step_seconds);

/// Each value of each step, `values` to a step, replaced by that of the parabola which fits it best
/// over the `half` steps before and after, or over as many steps where those are not there
/// (Savitzky and Golay 1964). A filter that takes taps for first-order processes leaves more noise
/// in them, since such a course may be ragged and that of a Gaussian spectrum is smooth.
void even_out(std::span<const Complex> steps, std::size_t values, std::size_t half,
              std::span<Complex> out);

}  // namespace s5066::modem::dsp
