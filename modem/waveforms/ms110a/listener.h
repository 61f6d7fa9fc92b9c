// SPDX-License-Identifier: Apache-2.0
// Finds MIL-STD-188-110A serial tone transmissions by their preamble, and decodes rate, interleaver
// and the start of the data from it.
#pragma once

#include "modem/waveforms/ms110a/preamble_decoder.h"
#include "modem/waveforms/ms110a/preamble_search.h"
#include "modem/waveforms/reception.h"

namespace s5066::modem::ms110a {

class Listener final : public PreambleListener {
 public:
  /// Makes a listener; for `noise_share` see Downconverter.
  explicit Listener(float noise_share) : noise_share_(noise_share) {}

  std::optional<PreambleReading> advance(const SampleHistory& history) override;
  void restart() override;
  std::uint64_t refused() const override { return refused_; }
  InMemory<Demodulator> demodulator(const PreambleReading& reading,
                                    BurstMemory& memory) const override;
  std::vector<TrafficPattern> traffic() const override;

 private:
  bool is_stronger(const PreambleCandidate& candidate) const;

  float noise_share_;
  PreambleSearch search_;
  std::optional<PreambleDecoder> decoder_;
  std::uint64_t refused_ = 0;
};

}  // namespace s5066::modem::ms110a
