// SPDX-License-Identifier: Apache-2.0
// The signal path from one station to the other: a channel that changes from scene to scene,
// outages, the difference of the two clocks, and the samples that wait until the receiving sound
// card takes a block of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "modem/api/modes.h"
#include "modem/channel/simulated_channel.h"
#include "s5066d/base/rng.h"

namespace s5066::modem {

inline constexpr std::size_t kBlockSamples = 192;

/// One set of channel conditions, the same for both directions.
struct Scene {
  channel::SimulatedChannel::Config channel;
  double outages_per_second = 0;
  /// The one mode that is sent and received; empty: every mode that the preamble announces.
  std::optional<Mode> only;
  std::uint64_t samples = 0;
  /// If true, a burst that no other fault disturbed must be received whole.
  bool kind = false;
};

Scene draw_scene(Rng& rng);

class Line {
 public:
  explicit Line(const Rng& rng);

  /// Starts a scene; `skew_ppm` is the error of the receiver's clock relative to the sender's.
  void begin(const Scene& scene, double skew_ppm);
  void send(std::span<const float> samples);
  /// True if this many samples have waited long enough.
  bool has(std::size_t samples) const { return waiting_.size() >= samples; }
  std::size_t waiting() const { return waiting_.size(); }
  void take(std::span<float> samples);
  /// True if a part of the last samples sent was lost in an outage.
  bool out() const { return out_; }

 private:
  Rng rng_;
  std::optional<channel::SimulatedChannel> channel_;
  double outages_per_second_ = 0;
  std::size_t out_for_ = 0;
  bool out_ = false;
  float faded_to_ = 0;
  std::vector<float> scratch_;
  std::deque<float> waiting_;
};

}  // namespace s5066::modem
