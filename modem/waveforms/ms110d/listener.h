// SPDX-License-Identifier: Apache-2.0
// Finds 110D transmissions at 3 kHz by their preamble. It reads the waveform number, the
// interleaver, the constraint length of the code and the beginning of the data from that.
#pragma once

#include "modem/waveforms/framed/known_search.h"
#include "modem/waveforms/framed/layout.h"
#include "modem/waveforms/ms110d/parameters.h"
#include "modem/waveforms/ms110d/preamble_reader.h"
#include "modem/waveforms/reception.h"

namespace s5066::modem::ms110d {

class Listener final : public PreambleListener {
 public:
  /// `noise_share` is that of Downconverter.
  explicit Listener(float noise_share);

  std::optional<PreambleReading> advance(const SampleHistory& history) override;
  void restart() override;
  std::uint64_t refused() const override { return refused_; }
  InMemory<Demodulator> demodulator(const PreambleReading& reading,
                                    BurstMemory& memory) const override;
  std::vector<TrafficPattern> traffic() const override;

 private:
  float noise_share_;
  framed::KnownSearch search_;
  PreambleReader reader_;
  std::uint64_t refused_ = 0;
};

/// The preamble of the layout is that of the last `super_frames` super-frames.
framed::Layout layout_of(const Parameters& p, unsigned super_frames,
                         std::pmr::memory_resource* memory);

}  // namespace s5066::modem::ms110d
