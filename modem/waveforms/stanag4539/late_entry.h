// Enters a STANAG 4539 transmission whose preamble was missed. The signs of its probes tell rate,
// interleaver and the place in the cycle of frames, every 18 frames anew. It is entered at the
// first block that was heard from its beginning, in the samples that are kept, or else at the next.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "modem/dsp/complex_math.h"
#include "modem/waveforms/reception.h"
#include "modem/waveforms/stanag4539/parameters.h"
#include "s5066d/base/fixed_vector.h"

namespace s5066::modem::stanag4539 {

class LateEntry {
 public:
  /// Taps at half-symbol steps: what the period of a probe, 16 symbols, can tell apart.
  static constexpr std::size_t kTaps = 32;
  static constexpr int kSymbolsBefore = 7;  // the found position
  /// The channel by all probes that were heard.
  struct Channel {
    std::array<float, kTaps> profile{};  // mean power of each tap
    float error = 0;                     // of one of them
    float noise = 0;                     // variance of a sample
  };

  /// `noise_share`: see Downconverter.
  explicit LateEntry(float noise_share);

  /// As if nothing had been heard.
  void restart();
  /// What was heard up to this half-symbol sample belongs to bursts that were received.
  void forget(std::int64_t until) { heard_from_ = until; }
  /// Looks at what is kept of a transmission that has been noticed, after every frame. A reading
  /// comes out when it is certain.
  std::optional<PreambleReading> enter(const SampleHistory& history, const Traffic& traffic);
  /// Of the last reading.
  const Channel& channel() const { return channel_; }

 private:
  /// Frames that the history can hold.
  static constexpr std::size_t kFramesMax = 90;
  /// Where frames lie, newest first: as far as the last insertion, or on the other side of it.
  enum Side : std::uint8_t { behind, before };
  /// From the response by one probe to that by the next.
  struct Step {
    dsp::Complex product;
    float power = 0;     // of the two
    float evidence = 0;  // half the log-likelihood that the sign stayed the same
    /// 1 for two responses that differ by one factor.
    float likeness() const { return std::norm(product) / (power * power); }
  };

  struct Signs {
    unsigned codes = 0;   // of rate and interleaver
    unsigned newest = 0;  // number of the newest frame in its cycle
    bool turned = false;  // every second sign, by a carrier further off
  };
  /// Where reception begins, and how many frames later what is delivered.
  struct Begin {
    std::size_t frame = 0;  // counted back from the newest one
    std::size_t lead = 0;
  };

  std::int64_t probe_of(Side side, std::size_t frame) const;
  Side side_of(const Signs& signs, std::size_t frame) const {
    return frame <= signs.newest ? behind : before;
  }
  void find_carrier(const SampleHistory& history, double about_hz);
  void compare_probes(const SampleHistory& history);
  void weigh();
  std::optional<Signs> read() const;
  std::size_t frames_heard(const Signs& signs) const;
  Begin choose_begin(const Signs& signs, unsigned frames_per_block, std::size_t heard) const;
  float likeness(const Signs& signs, std::size_t frame) const;
  float learn_channel(const SampleHistory& history, const Signs& signs, std::size_t frames);

  float noise_share_;
  std::int64_t heard_from_ = 0;  // nothing before is of a transmission that is entered
  std::int64_t looked_at_ = 0;

  // Of one look.
  std::int64_t newest_ = 0;  // half-symbol sample where the newest complete frame begins
  std::int64_t oldest_ = 0;  // nothing before is looked at
  double offset_hz_ = 0;
  double fine_hz_ = 0;  // what the steps add to it
  std::array<FixedVector<Step, kFramesMax>, 2> steps_;  // by side and frame
  Channel channel_;
};

}  // namespace s5066::modem::stanag4539
