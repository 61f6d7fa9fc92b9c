// Finds a stretch of known symbols in half-symbol samples: where it begins and how far the carrier
// is off. Runs all the time, also while a burst is being received.
//
// At every position the known symbols are correlated in parts of eight, and the parts added at
// offsets close enough to each other that none in reach loses much. Where the stretch comes again
// and again, what one of them does not show several do: powers are added up from one to the next,
// and fade out over about five.
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
    /// Half-symbol samples after which the stretch comes again, a multiple of kHop; 0: it does not.
    std::size_t repeat = 0;
    /// What is added up must come to this; the newest stretch has a part in it.
    float sum_min = 0.085F;
  };

  /// A multiple of eight symbols, each of power 1, or 0 where it is not known.
  KnownSearch(std::span<const dsp::Complex> known, const Config& config);

  /// As if nothing had been heard.
  void restart();
  /// Takes note of the last kHop samples of the history. A candidate comes out when the stretch and
  /// `margin` half-symbol samples behind it have been received.
  std::optional<SearchCandidate> advance(const SampleHistory& history, std::int64_t margin);

 private:
  static constexpr std::size_t kPart = 8;  // symbols over which the carrier is taken as still
  using Row = std::array<float, kHop>;

  double offset_of(std::size_t index) const;
  void correlate(const SampleHistory& history, std::int64_t from);
  void compare(std::int64_t from, float mean_power);
  void take(std::int64_t from, std::size_t offset, const Row& strength);

  Config config_;
  std::vector<dsp::Complex> known_;
  float energy_ = 0;                 // of them
  std::vector<dsp::Complex> turns_;  // by offset, part
  std::vector<float> y_re_, y_im_;
  std::vector<Row> re_, im_;  // by part
  std::vector<double> hop_energy_;
  std::vector<float> sums_;  // of powers, by offset, position within what repeats
  SearchCandidate best_;
  float best_score_ = 0;  // 0: there is none; a sum, or 1 and the strength of one that is enough
};

}  // namespace s5066::modem::framed
