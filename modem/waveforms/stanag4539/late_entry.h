// SPDX-License-Identifier: Apache-2.0
// Enters a STANAG 4539 transmission whose preamble was missed. The signs of its probes give the
// rate, the interleaver and the place in the cycle of frames, every 18 frames again. Reception
// starts at the first block that was received from its beginning, in the stored samples, or
// otherwise at the next one.
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
  /// The taps are at half-symbol steps. The period of a probe, 16 symbols, can separate this many.
  static constexpr std::size_t kTaps = 32;
  static constexpr int kSymbolsBefore = 7;  // symbols before the found position
  /// The channel as all received probes show it.
  struct Channel {
    std::array<float, kTaps> profile{};  // mean power of each tap
    float error = 0;                     // variance of the error of a tap
    float noise = 0;                     // variance of a sample
  };

  /// `noise_share` is that of Downconverter.
  explicit LateEntry(float noise_share);

  /// Sets the state from before the first sample.
  void restart();
  /// The samples up to this half-symbol sample belong to bursts that were received.
  void forget(std::int64_t until) { heard_from_ = until; }
  /// Evaluates the stored samples of a transmission that has been noticed, after every frame.
  /// Returns a reading when it is certain.
  std::optional<PreambleReading> enter(const SampleHistory& history, const Traffic& traffic);
  /// Returns the channel of the last reading.
  const Channel& channel() const { return channel_; }

 private:
  /// The history can hold this many frames.
  static constexpr std::size_t kFramesMax = 90;
  /// Frames are counted newest first, either since the last insertion or on the other side of it.
  enum Side : std::uint8_t { behind, before };
  /// A step is the change from the response by one probe to that by the next.
  struct Step {
    dsp::Complex product;
    float power = 0;     // power of both responses
    float evidence = 0;  // half the log-likelihood that the sign stayed the same
    /// Returns 1 for two responses that differ by one factor.
    float likeness() const { return std::norm(product) / (power * power); }
  };

  struct Signs {
    unsigned codes = 0;   // codes of rate and interleaver
    unsigned newest = 0;  // number of the newest frame in its cycle
    bool turned = false;  // every second sign is turned, because the carrier is further off
  };
  /// The frame at which reception begins, and how many frames later the output begins.
  struct Begin {
    std::size_t frame = 0;  // number of the frame, counted back from the newest one
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
  // No sample before this belongs to a transmission that is entered.
  std::int64_t heard_from_ = 0;
  std::int64_t looked_at_ = 0;

  // These members belong to one evaluation.
  std::int64_t newest_ = 0;  // half-symbol sample at which the newest complete frame begins
  std::int64_t oldest_ = 0;  // no sample before it is used
  double offset_hz_ = 0;
  double fine_hz_ = 0;                                  // correction of offset_hz_ from the steps
  std::array<FixedVector<Step, kFramesMax>, 2> steps_;  // steps for each side and frame
  Channel channel_;
};

}  // namespace s5066::modem::stanag4539
