// Finds STANAG 4539 transmissions by their preamble, and learns rate and interleaver from it.
#pragma once

#include "modem/waveforms/reception.h"
#include "modem/waveforms/stanag4539/preamble_search.h"

namespace s5066::modem::stanag4539 {

/// The window in which the paths of a channel are looked for, in symbols around the found position.
inline constexpr int kWindowBefore = 14;
inline constexpr unsigned kWindowTaps = 44;

class Listener final : public PreambleListener {
 public:
  /// `noise_share`: see Downconverter.
  explicit Listener(float noise_share) : noise_share_(noise_share) {}

  std::optional<PreambleReading> advance(const SampleHistory& history) override;
  std::uint64_t refused() const override { return refused_; }
  std::unique_ptr<Demodulator> demodulator(const PreambleReading& reading) const override;
  std::vector<TrafficPattern> traffic() const override;

 private:
  std::optional<PreambleReading> read(const SampleHistory& history,
                                      const PreambleCandidate& candidate) const;

  float noise_share_;
  PreambleSearch search_;
  std::uint64_t refused_ = 0;
};

}  // namespace s5066::modem::stanag4539
