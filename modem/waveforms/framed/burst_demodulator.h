// SPDX-License-Identifier: Apache-2.0
// Receives the data part of one burst whose data lie between known symbols and whose preamble has
// been read. It learns the channel from the preamble, hands frames to the block receiver, and
// follows carrier and clock.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "modem/dsp/channel_tracker.h"
#include "modem/waveforms/burst_memory.h"
#include "modem/waveforms/framed/block_receiver.h"
#include "modem/waveforms/framed/probed_demodulator.h"
#include "modem/waveforms/message/message_bits.h"

namespace s5066::modem::framed {

class BurstDemodulator final : public ProbedDemodulator {
 public:
  /// `noise_share` is that of Downconverter.
  BurstDemodulator(const PreambleReading& reading, Layout layout, InMemory<BlockCode> code,
                   float noise_share, BurstMemory& memory);

 private:
  using Powers = FixedVector<float, dsp::ChannelTracker::kTapsMax>;
  void learn_channel(const SampleHistory& history) override;
  void measure_preamble(const SampleHistory& history);
  std::optional<Output> receive(const SampleHistory& history) override;
  ChannelEstimate channel() const;
  Powers choose_window(std::span<const float> profile, float threshold);
  void train(const SampleHistory& history);
  void load(const SampleHistory& history, std::size_t symbols);
  void receive_frame(const SampleHistory& history);
  void end_block();
  Output finish_block();
  Output more();
  void follow_carrier(dsp::Complex turn);
  void follow_clock();

  Layout layout_;
  float noise_share_;
  /// These are the amplitudes of the response at its first place in the window.
  std::array<float, dsp::kPhases * dsp::ChannelTracker::kTapsMax> home_{};
  // The carrier's offset is based on this many frames; the count is limited.
  float carrier_frames_ = 0;
  float carrier_heard_ = 0;  // sum of the power of these frames
  unsigned lead_frames_;     // frames still to come before the first block
  unsigned frame_in_cycle_;
  unsigned frame_in_block_ = 0;
  bool inserted_next_ = false;  // a preamble comes before the next frame
  BlockReceiver block_;
  MessageBits message_;
  Output newest_;  // the last decoded octets
  std::pmr::vector<dsp::Complex> samples_;
  std::pmr::vector<dsp::Complex> newest_first_;  // symbols of the preamble
};

}  // namespace s5066::modem::framed
