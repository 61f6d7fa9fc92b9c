// SPDX-License-Identifier: Apache-2.0
// Receives one block of data that lie between known symbols. Each frame is equalised when it
// arrives. When the block is complete, it is equalised again with the result of the decoder, as
// often as needed until every bit is certain.
//
// A pass follows the channel forwards with a Kalman filter and smooths it backwards, in steps of
// about 40 symbols, with the symbols as far as they are known. The response between steps is
// interpolated. Then each run of data, which lies between known symbols, is equalised.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "modem/dsp/channel_tracker.h"
#include "modem/dsp/equalizer.h"
#include "modem/waveforms/burst_memory.h"
#include "modem/waveforms/framed/demapper.h"
#include "modem/waveforms/framed/doppler_meter.h"
#include "modem/waveforms/framed/layout.h"
#include "modem/waveforms/framed/tail_biting_code.h"
#include "s5066d/base/fixed_vector.h"

namespace s5066::modem::framed {

class BlockReceiver {
 public:
  struct Config {
    unsigned passes_max = 6;
    float noise_share = 1;  // as in Downconverter
  };
  struct Look {
    float fit = 0;      // fit of the last known symbols with the earlier channel: up to 1
    dsp::Complex turn;  // turn of the response from the frame's first step to its last
    float quality = 0;  // share of signal in an equalised symbol
  };

  /// The layout must exist at least as long as the receiver.
  BlockReceiver(const Layout& layout, InMemory<BlockCode> code, const Config& config,
                BurstMemory& memory);

  /// Sets the channel and the noise before the first block, and the expected mean power of each
  /// tap.
  void set_channel(std::span<const float> profile, float noise);
  /// `first_frame` counts in the cycle. `inserted` is true when a preamble lies between this block
  /// and the last.
  void begin(unsigned first_frame, bool inserted);
  /// Takes two samples for each symbol, without the carrier's offset: first those of the inserted
  /// preamble, then those of each frame.
  void add_inserted(std::span<const dsp::Complex> received);
  Look add_frame(std::span<const dsp::Complex> received);
  bool complete() const { return frames_ == layout_.frames_per_block; }

  /// Decodes the complete block and returns its quality.
  float finish();
  std::span<const std::uint8_t> bits() const { return code_->bits(); }
  float wrong_share() const { return code_->error_share(); }
  unsigned passes() const { return passes_; }

  /// Returns the channel at the end of the received samples.
  dsp::ChannelTracker& tracker() { return *tracker_; }
  float noise() const { return noise_; }
  /// Sets the noise, which is never below a minimum.
  void set_noise(float noise);
  /// Returns the mean power of the response over seconds for each tap.
  std::span<const float> profile() const { return profile_; }
  /// Returns the same over the complete block, tap l of phase p at [2 l + p].
  using Steps = FixedVector<float, dsp::kPhases * dsp::ChannelTracker::kTapsMax>;
  Steps block_profile() const;
  /// Returns the mean agreement of its probes with their prediction.
  float fit() const { return static_cast<float>(fit_sum_ / std::max(frames_, 1U)); }
  /// May be called between blocks: the window begins `symbols` symbols later from now on.
  void move_window(int symbols);
  float doppler_hz() const { return static_cast<float>(doppler_.doppler_hz()); }
  /// Returns the time from the middle of a frame's first step to that of its last.
  double turn_seconds() const;
  float data_power() const { return demapper_.power(); }

 private:
  struct Step {
    std::size_t first;
    std::size_t count;
  };

  void set_known(std::ptrdiff_t first, std::span<const dsp::Complex> symbols);
  void set_frame(unsigned frame);
  std::span<const dsp::Complex> known_of(std::size_t frame_in_cycle) const;
  void forget_data(unsigned frame);
  void take_decisions();
  dsp::ChannelTracker follow(std::size_t from_step, std::size_t to_step,
                             dsp::ChannelTracker tracker);
  void respond(unsigned frame);
  float equalize(unsigned frame, bool with_priors);
  float equalize_run(const Layout::Run& run, std::size_t first, std::size_t row, std::size_t data,
                     std::size_t bit, bool with_priors);
  float probe_fit(unsigned frame, std::size_t runs) const;
  void learn_profile(std::size_t from_step, std::size_t to_step);
  void learn_doppler();
  void even_out();

  std::size_t first_symbol(unsigned frame) const {
    return inserted_ + frame * layout_.frame_symbols();
  }
  std::size_t first_step(unsigned frame) const;
  std::span<float> llr_of(unsigned frame) {
    return std::span(llr_).subspan(frame * layout_.frame_bits(), layout_.frame_bits());
  }
  std::span<dsp::Complex> response_of(std::size_t step) {
    const std::size_t size = dsp::kPhases * profile_.size();
    return std::span(responses_).subspan(step * size, size);
  }
  // Symbols are stored newest first; n may be as low as -taps_max.
  std::size_t slot(std::ptrdiff_t n) const {
    return static_cast<std::size_t>(static_cast<std::ptrdiff_t>(symbols_in_block_) - 1 - n);
  }
  std::span<const dsp::Complex> symbols_of_row(std::size_t row) const {
    return std::span(symbols_).subspan(slot(static_cast<std::ptrdiff_t>(row)), tracker_->taps());
  }

  const Layout& layout_;
  Config config_;
  Demapper demapper_;
  InMemory<BlockCode> code_;
  unsigned frames_ = 0;
  std::size_t steps_in_frame_;
  bool begun_ = false;        // a block has begun before
  unsigned first_frame_ = 0;  // number of the first frame in its cycle
  std::size_t inserted_ = 0;  // symbols before the first frame
  std::size_t symbols_in_block_ = 0;
  unsigned passes_ = 0;
  float noise_ = 1;  // variance of a sample within the receiver's filter
  float error_ = 0;  // part of the channel's error in the noise
  DopplerMeter doppler_;
  double quality_sum_ = 0;
  double fit_sum_ = 0;  // sum over the first probe of each frame
  // Prediction error of known symbols in the last pass along the channel; 1 is the expected value.
  double surprise_ = 1;
  // Number of wrong bits to be expected after the first pass of each frame.
  float wrong_bits_ = 0;

  std::optional<dsp::ChannelTracker> at_start_;
  std::optional<dsp::ChannelTracker> tracker_;
  // Mean power of each tap, averaged over time.
  FixedVector<float, dsp::ChannelTracker::kTapsMax> profile_;
  std::pmr::vector<Step> steps_;
  std::pmr::vector<dsp::ChannelTracker> tracked_;
  std::pmr::vector<dsp::Complex> responses_;  // smoothed responses, one step after the other
  std::pmr::vector<dsp::Complex> raw_;        // response of each step alone

  std::pmr::vector<dsp::Complex> received_;
  std::pmr::vector<dsp::Complex> symbols_;
  std::pmr::vector<float> variances_;
  std::pmr::vector<float> llr_;
  std::pmr::vector<float> extrinsic_;

  dsp::BlockEqualizer equalizer_;
  std::pmr::vector<dsp::Complex> row_responses_;
  std::pmr::vector<dsp::Complex> remainder_;
  std::pmr::vector<dsp::Complex> prior_mean_;
  std::pmr::vector<float> prior_variance_;
};

}  // namespace s5066::modem::framed
