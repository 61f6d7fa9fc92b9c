// SPDX-License-Identifier: Apache-2.0
// Decodes one interleaver block several times, each time with the decoder's last result. The
// channel is smoothed over the whole block with the symbols as far as they are known, the equaliser
// starts from the code's information about each symbol, and the decoder decodes once more. The
// refiner stops when every bit is certain, or after `passes_max` passes. Without an interleaver the
// code has no information about the symbols, and only the channel is refined, over some frames.
// Without a code the equaliser starts again from the possible points.
#pragma once

#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

#include "modem/dsp/channel_tracker.h"
#include "modem/dsp/equalizer.h"
#include "modem/waveforms/framed/doppler_meter.h"
#include "modem/waveforms/ms110a/block_decoder.h"
#include "modem/waveforms/ms110a/demapper.h"
#include "s5066d/base/fixed_vector.h"

namespace s5066::modem::ms110a {

class BlockRefiner {
 public:
  struct Config {
    unsigned frames = 0;  // frames that make a block here
    unsigned passes_max = 7;
    float noise_share = 1;  // as in Downconverter
  };
  /// State at the start of a block. Symbols are newest first; their number is that of the tracker's
  /// taps less one.
  struct Start {
    const dsp::ChannelTracker& tracker;
    std::span<const dsp::Complex> symbols;
    std::span<const float> variances;
    unsigned frame = 0;  // index in the cycle
  };
  struct Estimates {
    float noise = 1;  // variance of a sample within the receiver's filter
    float noise_min = 0;
    float doppler_hz = 1;  // spread: two standard deviations
  };

  /// Half-symbol steps of a response.
  static constexpr std::size_t kStepsMax = dsp::kPhases * dsp::ChannelTracker::kTapsMax;
  using Profile = FixedVector<float, kStepsMax>;

  BlockRefiner(const Parameters& p, const Config& config, std::pmr::memory_resource* memory);

  void begin(const Start& start);
  /// Takes the samples of the next frame, two for each symbol, with the carrier's offset removed,
  /// and the soft bits of its first pass.
  void add_frame(std::span<const dsp::Complex> received, std::span<const float> llr);

  unsigned frames() const { return frames_; }
  bool whole() const { return frames_ == config_.frames; }

  /// Refines the block and corrects the estimates; call this when the block is whole.
  void refine(const BlockDecoder& decoder, Estimates& estimates);

  /// Returns the soft bits of the block in the order in which they were sent.
  std::span<const float> llr() const { return llr_; }
  unsigned passes() const { return passes_; }
  /// Returns the share of signal in an equalised symbol, averaged over the first `frames` frames: 0
  /// useless, 1 noise-free.
  float quality(std::size_t frames) const;
  /// Returns the mean power of the channel's response at each half-symbol step.
  Profile profile() const;
  /// These functions return the state that begins the next block; symbols are newest first.
  const dsp::ChannelTracker& tracker_at_end() const { return *at_end_; }
  std::span<const dsp::Complex> symbols_at_end() const { return symbols_; }
  std::span<const float> variances_at_end() const { return variances_; }

 private:
  void forget_data();
  void take_decisions();
  void track(Estimates& estimates);
  void equalize(float noise, bool with_priors);
  std::span<const dsp::BlockEqualizer::Estimate> solve(unsigned frame, float noise);
  void equalize_frame(unsigned frame, float noise, bool with_priors);
  void even_out(double doppler_hz);
  void respond_at(double row);
  void learn_doppler(Estimates& estimates);
  std::size_t steps() const { return block_symbols_ / step_symbols_; }
  std::span<dsp::Complex> response_of(std::size_t step) {
    return std::span(responses_).subspan(step * response_.size(), response_.size());
  }
  std::size_t slot(std::size_t n) const { return block_symbols_ - 1 - n; }
  std::uint8_t scrambler(std::size_t n) const {
    return data_scrambler()[(first_symbol_ + n) % kDataScramblerPeriod];
  }

  Parameters p_;
  Config config_;
  std::size_t block_symbols_;
  std::size_t step_symbols_;
  std::size_t first_symbol_ = 0;  // index of the block's first symbol in its cycle
  unsigned frames_ = 0;
  unsigned passes_ = 0;
  framed::DopplerMeter doppler_{1};
  float error_ = 0;  // variance that the channel's error adds to a sample

  std::pmr::vector<dsp::Complex> received_;
  std::pmr::vector<dsp::Complex> symbols_;  // symbols of the block and before it, newest first
  std::pmr::vector<float> variances_;
  std::pmr::vector<float> quality_;  // signal share of each frame
  std::pmr::vector<float> llr_;
  std::pmr::vector<float> extrinsic_;  // extrinsic information from the decoder
  std::pmr::vector<dsp::ChannelTracker> tracked_;
  std::optional<dsp::ChannelTracker> at_start_;
  std::optional<dsp::ChannelTracker> at_end_;
  std::pmr::vector<dsp::Complex> responses_;  // smoothed responses, step after step
  std::pmr::vector<dsp::Complex> raw_;        // response of each step by itself

  dsp::BlockEqualizer equalizer_;
  std::pmr::vector<dsp::Complex> response_;
  std::pmr::vector<dsp::Complex> remainder_;
  std::pmr::vector<dsp::Complex> prior_mean_;
  std::pmr::vector<float> prior_variance_;
};

}  // namespace s5066::modem::ms110a
