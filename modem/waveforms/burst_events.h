// What a burst receiver reports, in counts of its own samples. The worker turns these into the
// port's events by putting the sample clock in the place of the count.
#pragma once

#include <cstdint>
#include <variant>

#include "modem/api/modes.h"
#include "modem/api/port.h"
#include "s5066d/base/bytes.h"

namespace s5066::modem {

/// Every waveform here runs on real samples at this rate, four for each symbol at 2400 Bd; audio at
/// another rate goes through dsp/resampler.
inline constexpr unsigned kSampleRate = 9600;

/// A preamble was recognised after `at_sample` samples had been taken in, or a transmission joined
/// whose preamble was missed.
struct BurstAcquired {
  std::uint64_t at_sample = 0;
  Mode mode;
  float snr_db = 0;     // in 3 kHz
  float offset_hz = 0;  // carrier offset
  /// No octets follow. Of the mode the waveform alone is known, and neither ratio nor offset.
  bool joined = false;
  bool late = false;  // octets follow, but not all of those before: its preamble was missed
};

/// Octets decoded; `first_bit_sample` is data start + bit index x samples per bit. The octets lie
/// in the receiver's memory, and last until it is given the next samples.
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
  std::uint64_t ended_sample = 0;  // last sample of the transmission, as far as is known
  CarrierDownReason reason = CarrierDownReason::end_of_message;
  /// Of a joined one that is replaced: what replaces it is the same transmission, whose preamble or
  /// data could be read after all.
  bool same_signal = false;
};

using BurstEvent = std::variant<BurstAcquired, BurstBytes, BurstEnded>;

}  // namespace s5066::modem
