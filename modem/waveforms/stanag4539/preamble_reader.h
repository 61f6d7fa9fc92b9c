// Reads what the preamble of a STANAG 4539 transmission announces. The response is taken to change
// within it: each announcement that may have been sent is fitted together with all that is known
// around it, and the one that leaves least is read.
#pragma once

#include <optional>

#include "modem/waveforms/framed/known_search.h"
#include "modem/waveforms/reception.h"

namespace s5066::modem::stanag4539 {

/// The history holds all of the preamble and the window behind it. `noise_share`: see
/// Downconverter.
std::optional<PreambleReading> read_preamble(const SampleHistory& history,
                                             const framed::SearchCandidate& candidate,
                                             float noise_share);

}  // namespace s5066::modem::stanag4539
