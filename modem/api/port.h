// SPDX-License-Identifier: Apache-2.0
// The interface between a node and a modem. Commands go to the modem, events come back, and both
// are plain values. A software modem, a simulated channel and an external modem all implement it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "modem/api/modes.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/log.h"
#include "s5066d/base/time.h"

namespace s5066::modem {

struct BurstId {
  std::uint64_t value = 0;
  friend auto operator<=>(const BurstId&, const BurstId&) = default;
};

// --- Commands -----------------------------------------------------------------------------------

/// A burst may begin at most this long after its time, because the turn may belong to another
/// station after that.
inline constexpr Duration kBurstLateMax = std::chrono::milliseconds(500);

/// The modem keys the transmitter at `not_before`, or at once if that has passed, and sends the
/// octets with the least significant bit first. Only one burst may be pending: a second one gives a
/// Fault. A burst that the modem takes more than kBurstLateMax after its time gives a Fault as
/// well. Instant{} means at once, whenever the burst is taken.
struct TransmitBurst {
  BurstId id;
  Mode mode;
  Bytes bytes;
  Instant not_before{};
  /// When not empty, this text is sent in Morse code (morse.h) instead of the octets.
  std::string morse = {};
};

/// The modem unkeys as soon as possible and answers with TransmitFinished{aborted}. The command has
/// no effect when the burst is over.
struct AbortTransmit {
  BurstId id;
};

/// The modem receives these modes only. Without this command it receives every mode that it knows.
struct SetReceiveModes {
  std::vector<Mode> modes;
};

/// This is the lowest level of SetTransmitLevel. A transmitter needs no less, and silence would
/// look like a fault.
inline constexpr double kTransmitLevelMinDb = -40;

/// All sound is sent at this level from the next block on. 0 dB is the power of bursts that leaves
/// room for their peaks.
struct SetTransmitLevel {
  double level_db = 0;  // kTransmitLevelMinDb to 0
};

using Command = std::variant<TransmitBurst, AbortTransmit, SetReceiveModes, SetTransmitLevel>;

// --- Events -------------------------------------------------------------------------------------
// `at` is a time of the sample clock. The events of one modem arrive in order of `at`.

enum class TransmitOutcome : std::uint8_t { sent, aborted, underrun };

/// The transmitter is keyed; the first data symbol leaves at `at` + preamble_duration(mode).
struct TransmitStarted {
  Instant at{};
  BurstId id;
};

/// The burst is over and unkeying follows at once. When unkeying fails, a Fault{ptt_failed}
/// follows.
struct TransmitFinished {
  Instant at{};
  BurstId id;
  TransmitOutcome outcome = TransmitOutcome::sent;
};

/// A preamble was recognised, or a transmission whose preamble was missed. `at` is the time of
/// recognition and not that of the beginning. For a missed preamble no octets follow, only the
/// waveform of the mode is known, and ratio and offset are 0.
struct CarrierUp {
  Instant at{};
  Mode mode;
  float snr_db = 0;     // dB in 3 kHz
  float offset_hz = 0;  // carrier offset
};

/// The receiver's measurements of a burst's channel.
struct ChannelEstimate {
  float snr_db = 0;     // dB in 3 kHz, from the mean power of the signal
  float offset_hz = 0;  // carrier offset
  /// This is the time between the first and the last path that have at least a tenth of the
  /// strongest path's power.
  float multipath_ms = 0;
  /// This spread is two standard deviations of the Doppler spectrum of the fading.
  float doppler_hz = 0;
};

/// Decoded octets arrive in about one event per interleaver block. `first_bit_at` is the time at
/// which the first of these bits passed the antenna, counted without blocks: data start + bit index
/// / rate.
struct ReceivedBytes {
  Instant at{};
  Instant first_bit_at{};
  Mode mode;
  Bytes bytes;  // octets that go on the air with the least significant bit first
  /// This is the share of the signal in the decision on a symbol, for the block that ended these
  /// octets. A ratio r of signal to noise behind the equaliser gives r / (1 + r). The value is at
  /// most 1 - 16 p when the decoder expects a share p of the bits to be wrong. It is below 0.25
  /// when the probes of a framed waveform do not agree with the channel, as in noise behind a
  /// preamble. With coded STANAG 4539, 4285 and 110D, and at 75 bit/s when the signal seems to be
  /// gone, it is small when the soft bits support the decoded code word little more than any other,
  /// as with a second, weaker station. With uncoded 4539 it is small when the probes show more
  /// noise than was known. The exception is two stations that begin within 10 ms of each other,
  /// because they look like two paths of one: at 75 bit/s and with STANAG 4285 it may be high
  /// although the octets are neither station's.
  float soft_quality = 0;
  ChannelEstimate channel;  // channel of that block
};

enum class CarrierDownReason : std::uint8_t { end_of_message, lost, replaced };

/// The transmission ended at `ended_at`, which is exact after an end-of-message mark. The
/// transmitter may send zeros for a while after that; ChannelOccupancy tells how long. When user
/// bits looked like the mark and the zeros behind it, another CarrierUp follows at the next block
/// with other content, and its bits continue these.
struct CarrierDown {
  Instant at{};
  Instant ended_at{};
  CarrierDownReason reason = CarrierDownReason::end_of_message;
};

/// A signal has appeared on the channel or has ended. The modem measures power alone, so the event
/// also covers signals that no receiver knows, and it comes earlier than a CarrierUp. The channel
/// counts as free until the first event. The event tells it free as well when the device is lost,
/// and before a modem that does not receive during transmission keys its transmitter. The state may
/// delay a transmission and has no other effect.
struct ChannelOccupancy {
  Instant at{};
  bool occupied = false;
};

enum class FaultKind : std::uint8_t {
  command_refused,
  samples_dropped,
  device_lost,
  ptt_failed,
  // These two kinds report the end of a fault:
  device_back,  // the lost device is present again
  ptt_back,     // the transmitter is unkeyed and can be keyed again
  // These two kinds inform the operator; the modem goes on:
  level_bad,   // received sound clips or is too low
  level_good,  // received sound has the right level again
};

/// Returns the name of the kind in logs and in the protocol of docs/operate/remote_modem.md.
constexpr std::string_view to_string(FaultKind kind) {
  switch (kind) {
    case FaultKind::command_refused:
      return "command_refused";
    case FaultKind::samples_dropped:
      return "samples_dropped";
    case FaultKind::device_lost:
      return "device_lost";
    case FaultKind::ptt_failed:
      return "ptt_failed";
    case FaultKind::device_back:
      return "device_back";
    case FaultKind::ptt_back:
      return "ptt_back";
    case FaultKind::level_bad:
      return "level_bad";
    case FaultKind::level_good:
      return "level_good";
  }
  return "unknown";
}
LogLevel severity_of(FaultKind kind);

struct Fault {
  Instant at{};
  FaultKind kind = FaultKind::command_refused;
  std::string detail;
};

using Event = std::variant<TransmitStarted, TransmitFinished, CarrierUp, ReceivedBytes, CarrierDown,
                           ChannelOccupancy, Fault>;

Instant at(const Event& event);

}  // namespace s5066::modem
