// Finds the fixed part of a STANAG 4539 preamble in half-symbol samples: where it begins and how
// far the carrier is off. Runs all the time, also while a burst is being received.
//
// At every position the 184 known symbols are correlated in parts of eight, and the parts added at
// offsets close enough to each other that none in reach loses much.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "modem/waveforms/reception.h"
#include "modem/waveforms/stanag4539/parameters.h"

namespace s5066::modem::stanag4539 {

struct PreambleCandidate {
  std::int64_t position = 0;  // half-symbol sample of the first symbol
  double offset_hz = 0;
  float strength = 0;  // coherent part of the received power, 0 to 1
};

class PreambleSearch {
 public:
  PreambleSearch();

  /// Takes note of the last kHop samples of the history. A candidate comes out when its whole
  /// preamble and `margin` half-symbol samples behind it have been received.
  std::optional<PreambleCandidate> advance(const SampleHistory& history, std::int64_t margin);

 private:
  static constexpr std::size_t kPart = 8;  // symbols over which the carrier is taken as still
  static constexpr std::size_t kParts = kFixedSymbols / kPart;
  static constexpr std::size_t kOffsets = 27;
  static constexpr double kOffsetStepHz = 6;
  static constexpr std::size_t kSamples = 2 * kFixedSymbols;
  static constexpr std::size_t kEnergyHops = (kSamples + kHop - 1) / kHop;
  using Row = std::array<float, kHop>;
  using Rows = std::array<Row, kParts>;

  void correlate(const SampleHistory& history, std::int64_t from);
  void compare(std::int64_t from, float mean_power);

  std::array<std::array<dsp::Complex, kParts>, kOffsets> turns_{};
  std::array<std::uint8_t, kPreambleSymbols> known_{};
  alignas(32) Rows re_{};
  alignas(32) Rows im_{};
  std::array<double, kEnergyHops> hop_energy_{};
  std::optional<PreambleCandidate> best_;
};

}  // namespace s5066::modem::stanag4539
