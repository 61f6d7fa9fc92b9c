// Tells that something is on the air, whatever it is: voice, RTTY, another modem. It goes by power
// alone, against the quietest that the channel was of late, so it knows neither waveform nor
// sender; the receivers know more, and later.
//
// Occupied: 5 dB over the floor for 240 of the last 400 ms. Free again: 3 dB over it for no more
// than 60 of them. The floor is what 5 % of the last 150 s lie below, so that nothing that stays as
// it is, noise of a new level above all, occupies the channel for longer than that.
//
// Samples may come in any portions. All memory is taken when a detector is made.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace s5066::modem {

class OccupancyDetector {
 public:
  static constexpr double kOccupiedDb = 5;  // over the floor
  static constexpr double kFreeDb = 3;      // likewise
  /// Of full scale, as in LevelMeter; the floor is never below it.
  static constexpr double kFloorMinDb = -90;

  OccupancyDetector();

  /// Real samples at kSampleRate, full scale 1.
  void process(std::span<const float> samples);
  /// Something else comes first: as if the channel had been free, with the floor that it has. What
  /// is heard in the first 300 ms behind it is left out of the floor.
  void pause();
  /// As if just made.
  void restart();

  bool occupied() const { return occupied_; }
  double floor_db() const;

 private:
  /// 300 Hz and 3000 Hz, each of the fourth order: what is beyond is no signal.
  struct Biquad {
    double b0, b1, b2, a1, a2;
    double s1 = 0;
    double s2 = 0;
    double step(double x);
  };
  using Step = std::uint16_t;  // of kStepDb from kFloorMinDb

  static constexpr std::size_t kBlock = 192;    // samples: 20 ms
  static constexpr std::size_t kWindow = 20;    // blocks
  static constexpr std::size_t kBlocks = 7500;  // that the floor is drawn from
  static constexpr double kStepDb = 0.1;
  static constexpr std::size_t kSteps = 1301;  // up to 40 dB over full scale

  void on_block(double power);
  void note_for_floor(Step step);
  void find_floor();

  std::array<Biquad, 4> filter_;
  double squares_ = 0;
  std::size_t in_block_ = 0;  // samples

  std::vector<Step> blocks_;  // the newest kBlocks, in a ring
  std::uint64_t seen_ = 0;
  std::vector<std::uint16_t> with_step_;  // of those blocks
  std::size_t floor_ = 0;                 // step
  std::array<Step, kWindow> window_{};    // a ring, too
  std::size_t in_window_ = 0;             // blocks since pause()
  std::size_t settling_ = 0;              // blocks that are still left out of the floor
  bool occupied_ = false;
};

}  // namespace s5066::modem
