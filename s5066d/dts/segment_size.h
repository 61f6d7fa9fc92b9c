// SPDX-License-Identifier: Apache-2.0
// Chooses the segment length from the losses of the frames sent (C.4.1(2) leaves it to the
// station). On a channel with random bit errors the length with the best yield follows from the
// error rate that the lost frames imply; docs/decisions/0018 derives it.
#pragma once

#include <cstddef>
#include <vector>

namespace s5066::dts {

/// Shortest useful segment. A shorter one gains next to no air time, and costs a header and, with
/// ARQ, a frame number.
inline constexpr std::size_t kSegmentOctetsUseful = 50;

/// Returns the length (at least 1) with the best yield at `errors_per_bit` independent errors, if
/// each frame loses `header` octets to its header.
std::size_t best_segment_octets(double errors_per_bit, std::size_t header);

class SegmentSize {
 public:
  struct Config {
    std::size_t start;
    std::size_t min;
    std::size_t max;  // the length is fixed if this equals `min`
  };
  explicit SegmentSize(const Config& config);

  std::size_t octets() const { return octets_; }

  /// Takes the result of a transmission: which frames, in order, were not received; `octets` is the
  /// sum of all, headers included.
  void on_answer(const std::vector<bool>& lost, std::size_t octets);
  /// Forgets the losses, because another mode sees another channel.
  void begin_with(std::size_t octets);

 private:
  Config config_;
  std::size_t octets_;
  double errors_ = 0;  // recent errors; older ones weigh less
  double bits_ = 0;
};

}  // namespace s5066::dts
