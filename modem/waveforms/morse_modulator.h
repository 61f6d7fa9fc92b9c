// SPDX-License-Identifier: Apache-2.0
// Sends a text in Morse code by a keyed tone.
#pragma once

#include <string_view>
#include <vector>

#include "modem/waveforms/transmission.h"

namespace s5066::modem {

class MorseModulator final : public Modulator {
 public:
  static constexpr unsigned kToneHz = 1500;
  /// The tone rises and falls over this many samples (5 ms), so that it does not click.
  static constexpr unsigned kEdgeSamples = 48;

  explicit MorseModulator(std::string_view text);

  std::uint64_t total_samples() const override;
  void write(std::uint64_t from, std::span<float> out) override;

 private:
  float envelope(std::uint64_t at) const;

  std::vector<bool> units_;
};

}  // namespace s5066::modem
