// SPDX-License-Identifier: Apache-2.0
// Reads the announcement in the preamble of a STANAG 4539 transmission. The response may change
// within the preamble. Each possible announcement is fitted together with all known symbols around
// it, and the one with the smallest remainder is the result.
#pragma once

#include <optional>

#include "modem/waveforms/framed/known_search.h"
#include "modem/waveforms/reception.h"

namespace s5066::modem::stanag4539 {

/// The history must hold all of the preamble and the window behind it. `noise_share` is that of
/// Downconverter.
std::optional<PreambleReading> read_preamble(const SampleHistory& history,
                                             const framed::SearchCandidate& candidate,
                                             float noise_share);

}  // namespace s5066::modem::stanag4539
