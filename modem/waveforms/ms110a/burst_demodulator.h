// SPDX-License-Identifier: Apache-2.0
// Receives the data part of one burst whose preamble has been decoded. It estimates the channel
// from the preamble, then equalises frame by frame, makes soft decisions, and uses them to track
// channel, carrier, clock and noise. It gives soft bits to the block decoder.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "modem/dsp/channel_tracker.h"
#include "modem/dsp/equalizer.h"
#include "modem/dsp/least_squares.h"
#include "modem/dsp/path_motion.h"
#include "modem/waveforms/burst_memory.h"
#include "modem/waveforms/framed/probed_demodulator.h"
#include "modem/waveforms/ms110a/block_decoder.h"
#include "modem/waveforms/ms110a/block_refiner.h"
#include "modem/waveforms/ms110a/demapper.h"
#include "modem/waveforms/ms110a/preamble_decoder.h"

namespace s5066::modem::ms110a {

class BurstDemodulator final : public framed::ProbedDemodulator {
 public:
  BurstDemodulator(const PreambleReading& reading, float noise_share, BurstMemory& memory);

 private:
  void learn_channel(const SampleHistory& history) override;
  std::optional<Output> receive(const SampleHistory& history) override;
  using Profile = std::array<float, dsp::kPhases * framed::kWindowTaps>;
  using Response = FixedVector<dsp::Complex, dsp::kPhases * dsp::ChannelTracker::kTapsMax>;
  /// Returns the time that lies `samples` samples of the sender before the data.
  double before_data(std::size_t samples) const {
    return static_cast<double>(reading_.data_start) -
           (1 + pace_.pace()) * static_cast<double>(samples);
  }
  void read(const SampleHistory& history, double from, std::span<dsp::Complex> out) const;
  void measure_clock(const SampleHistory& history, unsigned segments);
  dsp::WideResponse estimate_segment(const SampleHistory& history, unsigned follow);
  bool is_cut(const SampleHistory& history, unsigned segments);
  Profile delay_profile(const SampleHistory& history, unsigned segments);
  void measure_doppler(const SampleHistory& history, std::span<const float> profile,
                       unsigned segments);
  void choose_window(const Profile& profile, float noise_per_tap);
  void train(const SampleHistory& history, unsigned symbols);

  void begin_block();
  Output end_block();
  Output more();
  ChannelEstimate channel(std::span<const float> profile) const;
  void receive_frame(const SampleHistory& history);
  void load_frame(const SampleHistory& history);
  void equalize(std::span<const dsp::Complex> response);
  void update_tracker();
  void judge_probes();
  void follow_carrier(std::span<const dsp::Complex> before, std::span<const dsp::Complex> after);
  void follow_clock(std::span<const float> profile);
  Response response() const;

  // Returns the index of symbol n of the frame, which may be negative. The symbols that rows of
  // this frame depend on are stored newest first.
  std::size_t slot(std::ptrdiff_t n) const {
    return static_cast<std::size_t>(static_cast<std::ptrdiff_t>(frame_symbols_) - 1 - n);
  }
  std::span<const dsp::Complex> symbols_of_row(std::size_t row) const {
    return std::span(means_).subspan(frame_symbols_ - 1 - row, tracker_->taps());
  }
  std::span<const float> variances_of_row(std::size_t row) const {
    return std::span(variances_).subspan(frame_symbols_ - 1 - row, tracker_->taps());
  }
  std::span<const dsp::Complex, dsp::kPhases> received_of_row(std::size_t row) const {
    return std::span<const dsp::Complex, dsp::kPhases>(&received_[dsp::kPhases * row],
                                                       dsp::kPhases);
  }

  Parameters p_;
  std::size_t frame_symbols_;
  float noise_share_;

  float noise_ = 1;  // variance of a sample within the receiver's filter
  float noise_min_ = 0;
  float doppler_hz_;  // spread
  dsp::PaceLoop pace_;
  double between_ = 0;  // row 0 of the next frame begins this far behind origin_
  /// Mean amplitude of the response at each half-symbol step of its window.
  std::array<float, dsp::kPhases * dsp::ChannelTracker::kTapsMax> home_{};

  unsigned frame_in_cycle_ = 0;
  unsigned scrambler_at_ = 0;
  std::optional<dsp::ChannelTracker> tracker_;
  dsp::BlockEqualizer equalizer_;
  BlockDecoder decoder_;
  Output newest_;  // the last decoded output
  BlockRefiner refiner_;
  std::uint64_t frames_taken_ = 0;

  std::pmr::vector<dsp::Complex> means_;
  std::pmr::vector<float> variances_;
  std::pmr::vector<dsp::Complex> samples_;   // samples of the frame, as received
  std::pmr::vector<dsp::Complex> received_;  // these samples without the carrier's offset
  std::pmr::vector<dsp::Complex> remainder_;
  std::pmr::vector<dsp::Complex> prior_mean_;
  std::pmr::vector<float> prior_variance_;
  std::pmr::vector<float> llr_;
  float frame_quality_ = 0;
  bool tone_ = false;  // the frame is only a tone
};

}  // namespace s5066::modem::ms110a
