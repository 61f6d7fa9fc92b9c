// SPDX-License-Identifier: Apache-2.0
// The code of a 110D mode.
#pragma once

#include "modem/waveforms/framed/tail_biting_code.h"
#include "modem/waveforms/ms110d/parameters.h"

namespace s5066::modem::ms110d {

inline framed::TailBitingConfig code_of(const Parameters& p) {
  return {.user_bits = p.block_user_bits,
          .repetition = p.repetition,
          .first = p.puncturing.first,
          .second = p.puncturing.second,
          .generators = p.constraint == 9 ? dsp::kGenerators9 : dsp::kGenerators7,
          .interleaver = p.interleaver};
}

}  // namespace s5066::modem::ms110d
