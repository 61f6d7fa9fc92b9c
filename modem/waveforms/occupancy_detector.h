// SPDX-License-Identifier: Apache-2.0
// Detects that a signal is on the air, of any kind: voice, RTTY, another modem. It compares the
// power with that of the channel's quietest time, so it knows neither waveform nor sender. The
// receivers know more, but later.
//
// The channel becomes occupied when the power is 5 dB over the floor for 240 ms of the last 400 ms.
// It becomes free when the power is 3 dB over the floor for at most 60 ms of them. The floor is the
// power below which 5 % of the last 150 s lie, so that a constant signal, above all noise of a new
// level, does not occupy the channel for longer than that.
//
// Samples may come in any portions. All memory is allocated when a detector is made.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace s5066::modem {

class OccupancyDetector {
 public:
  static constexpr double kOccupiedDb = 5;  // dB over the floor
  static constexpr double kFreeDb = 3;      // dB over the floor
  /// The value is relative to full scale, as in LevelMeter. The floor is never below it.
  static constexpr double kFloorMinDb = -90;

  OccupancyDetector();

  /// Takes real samples at kSampleRate with full scale 1.
  void process(std::span<const float> samples);
  /// Other sound comes first: the state becomes free, and the floor stays. The first 300 ms after
  /// it do not count for the floor.
  void pause();
  /// Sets the initial state.
  void restart();

  bool occupied() const { return occupied_; }
  double floor_db() const;

 private:
  /// The filters at 300 Hz and 3000 Hz are each of the fourth order, because sound outside that
  /// band is no signal.
  struct Biquad {
    double b0, b1, b2, a1, a2;
    double s1 = 0;
    double s2 = 0;
    double step(double x);
  };
  using Step = std::uint16_t;  // power in units of kStepDb from kFloorMinDb

  static constexpr std::size_t kBlock = 192;    // samples, which is 20 ms
  static constexpr std::size_t kWindow = 20;    // blocks
  static constexpr std::size_t kBlocks = 7500;  // blocks from which the floor is computed
  static constexpr double kStepDb = 0.1;
  static constexpr std::size_t kSteps = 1301;  // up to 40 dB above full scale

  void on_block(double power);
  void note_for_floor(Step step);
  void find_floor();

  std::array<Biquad, 4> filter_;
  double squares_ = 0;
  std::size_t in_block_ = 0;  // samples

  std::vector<Step> blocks_;  // a ring of the newest kBlocks
  std::uint64_t seen_ = 0;
  std::vector<std::uint16_t> with_step_;  // number of these blocks with each step
  std::size_t floor_ = 0;                 // as a step
  std::array<Step, kWindow> window_{};    // another ring
  std::size_t in_window_ = 0;             // blocks since pause()
  std::size_t settling_ = 0;              // blocks that do not count for the floor yet
  bool occupied_ = false;
};

}  // namespace s5066::modem
