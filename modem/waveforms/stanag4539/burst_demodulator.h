// Receives the data part of one STANAG 4539 burst whose preamble has been read: learns the channel
// from the preamble, hands frames to the block receiver, and follows carrier and clock.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "modem/dsp/channel_tracker.h"
#include "modem/waveforms/message/message_bits.h"
#include "modem/waveforms/reception.h"
#include "modem/waveforms/stanag4539/block_receiver.h"

namespace s5066::modem::stanag4539 {

class BurstDemodulator final : public Demodulator {
 public:
  BurstDemodulator(const PreambleReading& reading, float noise_share);

  std::optional<Output> advance(const SampleHistory& history) override;
  bool lost() const override;
  bool healthy() const override;
  bool covers(const PreambleReading& reading) const override;
  const Mode& mode() const override { return reading_.mode; }
  double first_path_start() const override { return first_path_start_; }
  std::int64_t last_heard() const override { return last_heard_; }

 private:
  void learn_channel(const SampleHistory& history);
  std::vector<float> choose_window(std::span<const float> profile, float noise_per_tap);
  void train(const SampleHistory& history);
  void load(const SampleHistory& history, std::size_t symbols);
  void receive_frame(const SampleHistory& history);
  Output finish_block();
  void follow_carrier(dsp::Complex turn);
  void follow_clock();
  double centroid();

  PreambleReading reading_;
  Parameters p_;

  bool learned_ = false;
  std::int64_t origin_ = 0;  // half-symbol sample of row 0 of the next frame
  double offset_hz_;
  double carrier_turn_ = 0;  // turns of the carrier's offset up to carrier_at_
  std::int64_t carrier_at_ = 0;
  double first_path_start_ = 0;
  double centroid_home_ = 0;  // where the response lay in its window at first, in taps
  float heard_ = 1;           // how well probes fit, averaged over a second
  float heard_now_ = 1;       // over a tenth of it
  std::int64_t last_heard_ = 0;

  unsigned frame_in_cycle_ = 0;
  unsigned frame_in_block_ = 0;
  bool inserted_next_ = false;  // a preamble comes before the next frame
  BlockReceiver block_;
  MessageBits message_;
  std::vector<dsp::Complex> samples_;
};

}  // namespace s5066::modem::stanag4539
