// SPDX-License-Identifier: Apache-2.0
// The reports of a burst receiver, in counts of its own samples. The worker turns them into the
// events of the port by replacing each count with a time of the sample clock.
#pragma once

#include <cstdint>
#include <variant>

#include "modem/api/modes.h"
#include "modem/api/port.h"
#include "s5066d/base/bytes.h"

namespace s5066::modem {

/// Every waveform here uses real samples at this rate, four for each symbol at 2400 Bd. Audio at
/// another rate passes through dsp/resampler.
inline constexpr unsigned kSampleRate = 9600;

/// A preamble was recognised after `at_sample` samples, or a transmission was joined whose preamble
/// was missed.
struct BurstAcquired {
  std::uint64_t at_sample = 0;
  Mode mode;
  float snr_db = 0;     // dB in 3 kHz
  float offset_hz = 0;  // offset of the carrier
  /// When true, no octets follow. Only the waveform of the mode is known, and neither ratio nor
  /// offset.
  bool joined = false;
  // The preamble was missed: octets follow, but the first ones of the transmission are missing.
  bool late = false;
};

/// Decoded octets. `first_bit_sample` is data start + bit index x samples per bit. The octets are
/// in the receiver's memory and are valid until it gets the next samples.
struct BurstBytes {
  std::uint64_t at_sample = 0;
  std::uint64_t first_bit_sample = 0;
  Mode mode;
  ByteSpan bytes;
  float soft_quality = 0;  // 0 useless .. 1 noise-free; see ReceivedBytes
  ChannelEstimate channel;
};

struct BurstEnded {
  std::uint64_t at_sample = 0;
  std::uint64_t ended_sample = 0;  // last sample of the transmission, if known
  CarrierDownReason reason = CarrierDownReason::end_of_message;
  /// A joined transmission was replaced by itself, because its preamble or data could be read after
  /// all.
  bool same_signal = false;
};

using BurstEvent = std::variant<BurstAcquired, BurstBytes, BurstEnded>;

}  // namespace s5066::modem
