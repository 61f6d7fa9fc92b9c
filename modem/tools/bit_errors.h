// SPDX-License-Identifier: Apache-2.0
// The bit error rate of a modem over the simulated channel. Bursts of random octets with pauses
// between them go through the channel into one receiver, which gets only the samples.
//
// A wrong bit is one error. Bits that were never delivered count one half each, which is the cost
// of guessing them; they are missing because a burst was missed, cut short or received from a later
// block on. Octets beyond the end of a burst, and bursts that nobody sent, are reported beside the
// rate. A frame is an interleaver block.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "modem/api/modes.h"
#include "modem/channel/simulated_channel.h"
#include "modem/waveforms/burst_symbols.h"

namespace s5066::modem::tools {

struct BitErrorPlan {
  Mode mode;
  std::string channel = "awgn";            // name for the report
  channel::SimulatedChannel::Config path;  // except for signal_power, which is measured
  double bits = 1e6;
  double burst_seconds = 60;
  double pause_seconds = 0.7;
  Ms110dChoice ms110d{};
  std::uint64_t seed = 1;
};

struct BitErrorCounts {
  struct Octets {
    std::uint64_t all = 0;
    std::uint64_t wrong = 0;
  };
  static constexpr std::size_t kQualities = 10;

  std::uint64_t bits = 0;
  std::uint64_t wrong = 0;
  std::uint64_t missing = 0;
  std::uint64_t bursts = 0;
  std::uint64_t bursts_missed = 0;
  std::uint64_t bursts_with_errors = 0;
  std::uint64_t bursts_never_sent = 0;
  std::uint64_t extra_octets = 0;
  std::uint64_t frames = 0;
  std::uint64_t frames_wrong = 0;
  // Delivered octets by the tenth of their soft_quality.
  std::array<Octets, kQualities> by_quality{};
  double audio_seconds = 0;
  double receive_seconds = 0;  // processor time

  double errors() const { return static_cast<double>(wrong) + 0.5 * static_cast<double>(missing); }
  double rate() const { return errors() / static_cast<double>(bits); }
  void add(const BitErrorCounts& other);
};

/// Returns the path of a burst. The plan states the path, including impulse noise, for a signal of
/// power 1; the result is for the power of the bursts.
channel::SimulatedChannel::Config simulated_path(const BitErrorPlan& plan);
/// Sends at least as many bits as planned. The burst must hold an octet.
BitErrorCounts measure_bit_errors(const BitErrorPlan& plan);

struct BitErrorBounds {
  double low = 0;
  double high = 1;
};
/// Returns the bounds of the rate with 95 % confidence if frames fail independently. They are the
/// bounds of the share of wrong frames, by Wilson, times the errors of a wrong frame. Without an
/// error there is only an upper bound, as if the next frame had an error in one of a thousand bits.
BitErrorBounds bounds_of(const BitErrorCounts& counts);

double delay_ms(const BitErrorPlan& plan);    // delay of the latest path
double doppler_hz(const BitErrorPlan& plan);  // spread of the path with the largest spread

/// Returns the members of a JSON object without its braces.
std::string to_json(const BitErrorPlan& plan, const BitErrorCounts& counts);
/// Returns one line of text for the operator.
std::string to_text(const BitErrorPlan& plan, const BitErrorCounts& counts);

}  // namespace s5066::modem::tools
