// SPDX-License-Identifier: Apache-2.0
// Finds STANAG 4539 transmissions by their preamble and reads rate and interleaver from it, or in
// the middle from the signs of the probes.
#pragma once

#include "modem/waveforms/framed/known_search.h"
#include "modem/waveforms/framed/layout.h"
#include "modem/waveforms/reception.h"
#include "modem/waveforms/stanag4539/late_entry.h"
#include "modem/waveforms/stanag4539/parameters.h"

namespace s5066::modem::stanag4539 {

class Listener final : public PreambleListener {
 public:
  /// `noise_share` is that of Downconverter.
  explicit Listener(float noise_share);

  std::optional<PreambleReading> advance(const SampleHistory& history) override;
  void restart() override;
  void forget() override { late_.forget(end_); }
  std::optional<PreambleReading> enter(const SampleHistory& history,
                                       const Traffic& traffic) override;
  std::uint64_t refused() const override { return refused_; }
  InMemory<Demodulator> demodulator(const PreambleReading& reading,
                                    BurstMemory& memory) const override;
  std::vector<TrafficPattern> traffic() const override;

 private:
  float noise_share_;
  framed::KnownSearch search_;
  LateEntry late_;
  std::int64_t end_ = 0;  // end of the history
  std::uint64_t refused_ = 0;
};

framed::Layout layout_of(const Parameters& p, std::pmr::memory_resource* memory);

}  // namespace s5066::modem::stanag4539
