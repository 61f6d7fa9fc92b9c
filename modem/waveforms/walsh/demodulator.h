// Receives the data part of a burst of sets of 32 symbols, each one of four that are orthogonal,
// without probes: 110A at 75 bit/s (MIL-STD-188-110A 5.3.2.3.6; STANAG 4415) and 110D number 0.
// Every path of the channel, up to more than 10 ms to either side, is correlated with all four. The
// prior information about a path from its neighbours in time, as mean and variance, decides how its
// correlations count: squared without prior information, as in fast fading, and with their phase
// otherwise.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "modem/waveforms/burst_memory.h"
#include "modem/waveforms/reception.h"
#include "modem/waveforms/walsh/signal.h"

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
  struct Tap {
    int delay = 0;       // half-symbol samples from the frame's beginning
    float power = 0;     // mean of a correlation
    dsp::Complex mean;   // at the end of the last block
    float variance = 0;  // of that mean
  };
  /// A correlation is a measurement of its tap.
  struct Measurement {
    dsp::Complex value;
    float sureness = 1;  // sum of the squared probabilities of the patterns
  };

  void learn_channel(const SampleHistory& history);
  void delay_profile(const SampleHistory& history, unsigned count);
  void measure_clock(unsigned count);
  void choose_taps(std::span<const float> profile, float count);
  void find_paths();
  void remember_paths();
  float profile_of_block(std::span<float> profile) const;
  void receive_frame(const SampleHistory& history);
  void judge_frame();
  Output end_block();
  Output more();

  /// The probability of each pattern.
  struct Belief {
    std::array<float, kPatterns> patterns{};
    float sureness = 0;  // sum of their squares
  };

  Belief belief(std::size_t frame, bool with_code) const;
  void forget_means();
  void measure_taps(bool with_code);
  void predict_taps();
  void choose_doppler();
  void demap(bool with_code, float scale);
  void advance_taps();
  void follow_carrier();
  void follow_clock();
  std::array<float, kPatterns> metrics(std::size_t frame, float scale) const;
  float measured_noise() const;
  float quality() const;
  float heard_power(std::size_t tap) const;
  ChannelEstimate channel() const;
  void rotate(std::span<const dsp::Complex> samples, std::int64_t first);
  float memory() const;

  const dsp::Complex* everywhere(std::size_t frame, std::size_t pattern) const;
  const dsp::Complex* correlations(std::size_t frame, std::size_t pattern) const {
    return &correlations_[(frame * kPatterns + pattern) * taps_.size()];
  }

  PreambleReading reading_;
  InMemory<Signal> signal_;
  float noise_share_;
  std::size_t block_frames_;

  bool learned_ = false;
  std::int64_t origin_ = 0;  // half-symbol sample at which the next frame begins
  double drift_ = 0;         // half-symbol samples in a frame
  double drifted_ = 0;       // part that is not corrected yet
  double offset_hz_;
  double carrier_turn_ = 0;  // at carrier_at_
  std::int64_t carrier_at_ = 0;
  float noise_ = 1;  // variance of a correlation without its pattern
  double doppler_hz_ = 1;
  double first_path_start_ = 0;
  float heard_ = 0;
  float heard_in_block_ = 0;  // the same sum without its limits
  std::int64_t last_heard_ = 0;
  EndWatch end_;
  Output newest_;  // the last decoded octets

  std::size_t frame_ = 0;     // in the block
  std::uint64_t frames_ = 0;  // since the start of the data
  std::pmr::vector<Tap> taps_;
  std::pmr::vector<dsp::Complex> correlations_;  // for each frame, pattern and tap
  std::pmr::vector<Measurement> measured_;       // for each frame and tap
  std::pmr::vector<dsp::Complex> mean_;          // expected mean, for each frame and tap
  std::pmr::vector<float> variance_;             // of that mean
  std::pmr::vector<float> llr_;
  std::pmr::vector<float> extrinsic_;
  std::pmr::vector<dsp::Complex> rotated_;
  std::pmr::vector<float> profile_;  // of the preamble, for each delay
  // Correlations of the preamble, for each set and delay.
  std::pmr::vector<dsp::Complex> sequence_;
  /// The correlations in which paths are searched, for each frame, pattern and delay; and the
  /// number of sets in the profile.
  std::pmr::vector<dsp::Complex> everywhere_;
  float profile_sets_ = 0;
};

}  // namespace s5066::modem::walsh
