// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/morse_modulator.h"

#include <cmath>
#include <numbers>

#include "modem/api/morse.h"
#include "modem/waveforms/burst_events.h"

namespace s5066::modem {
namespace {

constexpr std::uint64_t kUnitSamples =
    static_cast<std::uint64_t>(kMorseUnit / std::chrono::milliseconds(1)) * kSampleRate / 1000;

}  // namespace

MorseModulator::MorseModulator(std::string_view text) : units_(morse_units(text)) {}

std::uint64_t MorseModulator::total_samples() const {
  return units_.size() * kUnitSamples;
}

/// The edges lie inside the units with the tone.
float MorseModulator::envelope(std::uint64_t at) const {
  const auto unit = static_cast<std::size_t>(at / kUnitSamples);
  if (!units_[unit]) return 0;
  const auto within = static_cast<unsigned>(at % kUnitSamples);
  const bool rises = unit == 0 || !units_[unit - 1];
  const bool falls = unit + 1 == units_.size() || !units_[unit + 1];
  unsigned from_edge = kEdgeSamples;
  if (rises && within < kEdgeSamples) from_edge = within;
  const auto left = static_cast<unsigned>(kUnitSamples) - 1 - within;
  if (falls && left < from_edge) from_edge = left;
  const double phase = std::numbers::pi * from_edge / kEdgeSamples;
  return static_cast<float>((1 - std::cos(phase)) / 2);
}

void MorseModulator::write(std::uint64_t from, std::span<float> out) {
  const double amplitude = std::sqrt(2.0 * kTransmitPower);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint64_t at = from + i;
    // The phase repeats after kSampleRate samples, because the tone has a whole number of hertz.
    const double cycles = static_cast<double>(at % kSampleRate) * kToneHz / kSampleRate;
    out[i] =
        envelope(at) * static_cast<float>(amplitude * std::sin(2.0 * std::numbers::pi * cycles));
  }
}

}  // namespace s5066::modem
