// The narrow port between a node and a modem: commands down, events up, values only. A software
// modem, a simulated medium and an external modem all stand behind it.
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

/// So long after its time a burst is still sent: then the turn may be another's.
inline constexpr Duration kBurstLateMax = std::chrono::milliseconds(500);

/// Key the transmitter at `not_before`, or at once if that has passed, and send the octets, least
/// significant bit first. One burst at a time: a second one while the first is pending is a Fault,
/// and so is one that is taken more than kBurstLateMax after its time. Instant{}: at once, whenever
/// it is taken.
struct TransmitBurst {
  BurstId id;
  Mode mode;
  Bytes bytes;
  Instant not_before{};
};

/// Unkey as soon as possible; answered by TransmitFinished{aborted}. Harmless if the burst is over.
struct AbortTransmit {
  BurstId id;
};

/// Listen for these modes only. Without it a modem listens for every mode it knows.
struct SetReceiveModes {
  std::vector<Mode> modes;
};

using Command = std::variant<TransmitBurst, AbortTransmit, SetReceiveModes>;

// --- Events -------------------------------------------------------------------------------------
// `at` is read off the sample clock. Events of one modem arrive in order of `at`.

enum class TransmitOutcome : std::uint8_t { sent, aborted, underrun };

/// The transmitter is keyed; the first data symbol leaves at `at` + preamble_duration(mode).
struct TransmitStarted {
  Instant at{};
  BurstId id;
};

/// The burst is over. Unkeying follows at once; where it fails, so does a Fault{ptt_failed}.
struct TransmitFinished {
  Instant at{};
  BurstId id;
  TransmitOutcome outcome = TransmitOutcome::sent;
};

/// A preamble was recognised, or a transmission in progress whose preamble was missed; `at` is when
/// that happened, not when it began. In the latter case no octets follow, of the mode the waveform
/// alone is known, and ratio and offset are 0.
struct CarrierUp {
  Instant at{};
  Mode mode;
  float snr_db = 0;     // in 3 kHz
  float offset_hz = 0;  // carrier offset
};

/// What a receiver knows about the channel of a burst.
struct ChannelEstimate {
  float snr_db = 0;     // in 3 kHz, from the mean power of the signal
  float offset_hz = 0;  // carrier offset
  float multipath_ms =
      0;                 // between the first and the last path of a tenth of the strongest's power
  float doppler_hz = 0;  // spread: two standard deviations of the fading's spectrum
};

/// Decoded octets, one event per interleaver block or so. `first_bit_at` is when the first of these
/// bits passed the antenna by the block-free clock of the burst: data start + bit index / rate.
struct ReceivedBytes {
  Instant at{};
  Instant first_bit_at{};
  Mode mode;
  Bytes bytes;  // least significant bit first on the air
  /// Share of signal in what decided a symbol of the block that ended these octets: with a ratio of
  /// r between signal and noise behind the equaliser, r / (1 + r). It is no more than 1 - 16 p
  /// where the decoder expects a share of p of the bits to be wrong, and below 0.25 where a framed
  /// waveform's probes do not agree with the channel, as in noise behind a preamble. Of coded
  /// STANAG 4539, 4285 and 110D, and at 75 bit/s where the signal seems gone, it is small where the
  /// soft bits bear out what was decoded little more than they would any other word of the code, as
  /// with a weaker station below; of uncoded 4539 where its probes surprise by more noise than was
  /// known of. Two stations that begin within 10 ms of each other look like two paths of one: at 75
  /// bit/s and with STANAG 4285 it may be high then, and the octets neither's.
  float soft_quality = 0;
  ChannelEstimate channel;  // of that block
};

enum class CarrierDownReason : std::uint8_t { end_of_message, lost, replaced };

/// The transmission ended at `ended_at` (known exactly after an end-of-message mark). Its
/// transmitter may go on behind that for a while, with zeros: ChannelOccupancy tells. Should the
/// user's own bits have been taken for the mark and the zeros behind it, another CarrierUp follows
/// once a block with something else has come, and bits that go on where these left off.
struct CarrierDown {
  Instant at{};
  Instant ended_at{};
  CarrierDownReason reason = CarrierDownReason::end_of_message;
};

/// Something is on the air, known or not, and is so no more: by its power alone, so it is told of
/// what no receiver knows, and sooner than a CarrierUp. The channel is free until told otherwise,
/// and is told free before the transmitter of a modem is keyed that does not hear meanwhile, and
/// when the device is lost. It says when not to begin; nothing else follows from it.
struct ChannelOccupancy {
  Instant at{};
  bool occupied = false;
};

enum class FaultKind : std::uint8_t {
  command_refused,
  samples_dropped,
  device_lost,
  ptt_failed,
  // No faults, but the end of one:
  device_back,  // what was lost is there again
  ptt_back,     // the transmitter is unkeyed, and can be keyed again
  // Said to the operator; everything works on:
  level_bad,   // received sound clips, or is too low
  level_good,  // and is so no more
};

/// As logs and the protocol of docs/REMOTE_MODEM.md have it.
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
