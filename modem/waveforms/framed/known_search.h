// SPDX-License-Identifier: Apache-2.0
// Finds a stretch of known symbols in half-symbol samples: its beginning and the offset of the
// carrier. It runs all the time, also while a burst is being received.
//
// At every position the known symbols are correlated in parts of eight. The parts are added at
// several offsets, which are so close to each other that no offset in the range loses much. If the
// stretch is repeated, several of them show what one does not: powers are added from one to the
// next, with a memory of about five.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "modem/dsp/complex_math.h"
#include "modem/waveforms/reception.h"

namespace s5066::modem::framed {

struct SearchCandidate {
  std::int64_t position = 0;  // half-symbol sample of the first symbol
  double offset_hz = 0;
  float strength = 0;  // coherent part of the received power, 0 to 1
};

class KnownSearch {
 public:
  struct Config {
    double offset_step_hz = 6;
    std::size_t offsets = 27;
    float strength_min = 0.1F;
    /// These are the half-symbol samples after which the stretch is repeated, a multiple of kHop. 0
    /// means that it is not.
    std::size_t repeat = 0;
    /// A sum must reach this value. The newest stretch must contribute to it.
    float sum_min = 0.085F;
  };

  /// `known` has a multiple of eight symbols. Each has power 1, or is 0 if it is not known.
  KnownSearch(std::span<const dsp::Complex> known, const Config& config);

  /// Sets the state from before the first sample.
  void restart();
  /// Processes the last kHop samples of the history. Returns a candidate when the stretch and
  /// `margin` half-symbol samples behind it have been received.
  std::optional<SearchCandidate> advance(const SampleHistory& history, std::int64_t margin);

 private:
  // Symbols over which the carrier's phase counts as constant.
  static constexpr std::size_t kPart = 8;
  using Row = std::array<float, kHop>;

  double offset_of(std::size_t index) const;
  void correlate(const SampleHistory& history, std::int64_t from);
  void compare(std::int64_t from, float mean_power);
  void take(std::int64_t from, std::size_t offset, const Row& strength);

  Config config_;
  std::vector<dsp::Complex> known_;
  float energy_ = 0;                 // energy of the known symbols
  std::vector<dsp::Complex> turns_;  // one turn for each offset and part
  std::vector<float> y_re_, y_im_;
  std::vector<Row> re_, im_;  // one row for each part
  std::vector<double> hop_energy_;
  std::vector<float> sums_;  // sums of powers, for each offset and position within the repeat
  SearchCandidate best_;
  // 0 means none. Otherwise it is a sum, or 1 and the strength of a stretch that is enough alone.
  float best_score_ = 0;
};

}  // namespace s5066::modem::framed
