// SPDX-License-Identifier: Apache-2.0
// Measures how well soft bits support the word that was decoded from them. A decoder always finds a
// nearest word, and it is sure of that when the soft bits claim too much. The information that they
// give about that word against all others shows whether the word is more than the nearest one.
#pragma once

#include <cstdint>
#include <span>

#include "modem/dsp/viterbi.h"

namespace s5066::modem::dsp {

/// Returns how much more information the soft bits give about the word than is needed to choose one
/// among all words. It is 1 when they determine it completely, and about 0 or less when the word is
/// only the nearest one. `llr` are log-likelihood ratios, positive for 0, two for each bit, and 0
/// when nothing was sent. `bits` are the word: first the bits that were in the encoder's memory,
/// oldest first, then the others.
float surplus(const CodeGenerators& generators, std::span<const float> llr,
              std::span<const std::uint8_t> bits);

}  // namespace s5066::modem::dsp
