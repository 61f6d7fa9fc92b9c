// What one station hears of the other: a channel that changes from scene to scene, outages, the
// difference of the two clocks, and the samples that wait until the hearer's sound card has a block
// of them.
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

/// The same weather for both directions.
struct Scene {
  channel::SimulatedChannel::Config channel;
  double outages_per_second = 0;
  /// What is listened for and sent; none: every mode that tells itself.
  std::optional<Mode> only;
  std::uint64_t samples = 0;
  /// A burst that nothing else befell is to be received whole.
  bool kind = false;
};

Scene draw_scene(Rng& rng);

class Line {
 public:
  explicit Line(const Rng& rng);

  /// `skew_ppm`: the hearer's clock, of the sender's.
  void begin(const Scene& scene, double skew_ppm);
  void send(std::span<const float> samples);
  /// So many samples have waited long enough.
  bool has(std::size_t samples) const { return waiting_.size() >= samples; }
  std::size_t waiting() const { return waiting_.size(); }
  void take(std::span<float> samples);
  /// Some of what was sent last.
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
