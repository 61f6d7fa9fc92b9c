// SPDX-License-Identifier: Apache-2.0
// Receives the data part of a burst of sets of 32 symbols, each one of four that are orthogonal,
// without probes: 110A at 75 bit/s (MIL-STD-188-110A 5.3.2.3.6; STANAG 4415) and 110D number 0.
// Every path of the channel, up to more than 10 ms to either side, is correlated with all four.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

#include "modem/waveforms/burst_memory.h"
#include "modem/waveforms/reception.h"
#include "modem/waveforms/walsh/path_search.h"
#include "modem/waveforms/walsh/signal.h"
#include "modem/waveforms/walsh/taps.h"

namespace s5066::modem::walsh {

class WalshDemodulator final : public Demodulator {
 public:
  /// `noise_share` is that of Downconverter.
  WalshDemodulator(const PreambleReading& reading, InMemory<Signal> signal, float noise_share,
                   BurstMemory& memory);

  std::optional<Output> advance(const SampleHistory& history) override;
  bool lost() const override;
  bool healthy() const override;
  bool covers(const PreambleReading& reading) const override;
  const Mode& mode() const override { return reading_.mode; }
  double first_path_start() const override { return first_path_start_; }
  std::int64_t last_heard() const override { return last_heard_; }
  const std::optional<Ending>& ending() const override { return end_.ending(); }

 private:
  void learn_channel(const SampleHistory& history);
  void delay_profile(const SampleHistory& history, unsigned count);
  void measure_clock(unsigned count);
  void receive_frame(const SampleHistory& history);
  void judge_frame();
  Output end_block();
  Output more();
  void follow_carrier();
  void follow_clock();
  void rotate(std::span<const dsp::Complex> samples, std::int64_t first);

  PreambleReading reading_;
  InMemory<Signal> signal_;
  float noise_share_;

  bool learned_ = false;
  std::int64_t origin_ = 0;  // half-symbol sample at which the next frame begins
  double drift_ = 0;         // drift in one frame, in half-symbol samples
  double drifted_ = 0;       // part of the drift that is not corrected yet
  double offset_hz_;
  double carrier_turn_ = 0;  // turn of the carrier at carrier_at_
  std::int64_t carrier_at_ = 0;
  double first_path_start_ = 0;
  float heard_ = 0;
  float heard_in_block_ = 0;  // sum like heard_ without its limits
  std::int64_t last_heard_ = 0;
  EndWatch end_;
  Output newest_;  // the last decoded octets

  std::size_t frame_ = 0;     // number of the frame in the block
  std::uint64_t frames_ = 0;  // frames since the start of the data
  Taps taps_;
  std::optional<PathSearch> search_;  // set after a short preamble
  std::pmr::vector<dsp::Complex> rotated_;
  std::pmr::vector<float> profile_;  // profile of the preamble, for each delay
  // Correlations of the preamble, for each set and delay.
  std::pmr::vector<dsp::Complex> sequence_;
};

}  // namespace s5066::modem::walsh
