// SPDX-License-Identifier: Apache-2.0
// A transmission of any waveform as audio. The caller reads samples until it is over.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "modem/api/modes.h"
#include "modem/waveforms/burst_events.h"
#include "modem/waveforms/burst_symbols.h"
#include "modem/waveforms/transmission.h"
#include "s5066d/base/bytes.h"

namespace s5066::modem {

class BurstTransmitter {
 public:
  BurstTransmitter(const Mode& mode, ByteSpan bytes, const Ms110dChoice& choice = {});
  explicit BurstTransmitter(std::unique_ptr<Modulator> modulator);
  explicit BurstTransmitter(std::vector<dsp::Complex> symbols);

  /// Writes the next samples, within +-1, and returns their number, which is smaller at the end.
  std::size_t read(std::span<float> out);
  bool finished() const { return position_ == total_samples(); }
  std::uint64_t total_samples() const { return modulator_->total_samples(); }

 private:
  std::unique_ptr<Modulator> modulator_;
  std::uint64_t position_ = 0;
};

}  // namespace s5066::modem
