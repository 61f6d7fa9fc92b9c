// How well soft bits bear out the word that was decoded from them. A decoder always finds a word
// that is nearest, and from soft bits that claim too much it is sure of it; what they tell of that
// word against all others shows whether it is more than that.
#pragma once

#include <cstdint>
#include <span>

#include "modem/dsp/viterbi.h"

namespace s5066::modem::dsp {

/// How much more the soft bits tell of the word than it takes to choose one among all: 1 where they
/// tell everything, about 0 or less where the word is but the one that happens to be nearest.
/// `llr` are log-likelihood ratios, positive for 0, two for each bit, and 0 where nothing was sent.
/// `bits` are the word: those that were in the encoder's memory first, oldest first, then the
/// others.
float surplus(const CodeGenerators& generators, std::span<const float> llr,
              std::span<const std::uint8_t> bits);

}  // namespace s5066::modem::dsp
