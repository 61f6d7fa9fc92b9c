// How long segments should be, from what became of those sent (C.4.1(2) leaves it to us): on a
// channel with random bit errors the length with the best yield follows from the error rate that
// the lost frames imply; docs/RATE_CONTROL.md derives it.
#pragma once

#include <cstddef>
#include <vector>

namespace s5066::dts {

/// What is shorter wins next to nothing of the air, and costs a header and, with ARQ, a frame
/// number.
inline constexpr std::size_t kSegmentOctetsUseful = 50;

/// The length that yields most at `errors_per_bit`, independent of each other, with `header` octets
/// lost to each frame. At least 1.
std::size_t best_segment_octets(double errors_per_bit, std::size_t header);

class SegmentSize {
 public:
  struct Config {
    std::size_t start;
    std::size_t min;
    std::size_t max;  // with `min` = `max` it stays as it is
  };
  explicit SegmentSize(const Config& config);

  std::size_t octets() const { return octets_; }

  /// Which frames of a transmission, in its order, were not received; `octets` of them all, headers
  /// included.
  void on_answer(const std::vector<bool>& lost, std::size_t octets);
  /// Forgets what was learnt: the channel looks different from another mode.
  void begin_with(std::size_t octets);

 private:
  Config config_;
  std::size_t octets_;
  double errors_ = 0;  // recent ones, older ones counting less
  double bits_ = 0;
};

}  // namespace s5066::dts
