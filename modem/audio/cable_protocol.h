// SPDX-License-Identifier: Apache-2.0
// The protocol between a modem and the hub of the audio cable, over a Unix stream socket.
//
// Integers are big-endian. Samples are float32 in the machine's own order, because both ends are on
// one machine. They are finite and at most kLevelMax in magnitude.
//
//   station -> hub, once   magic(8) version(2) station(2)
//   hub -> station, once   magic(8) version(2) answer(1) pace(1) station(2) stations(2) rate_hz(4)
//                          block_samples(2) delay_blocks(2) utc_ns(8)
//   then, for ever         hub -> station    block: what the station hears
//                          station -> hub    block of the same index: what it sends meanwhile
//   a block                flags(1) zero(1) count(2) late(4) index(8) samples(4 * count)
//
// A station asks for its number, or for kAnyStation. The hub answers `accepted`, or answers with
// the reason and closes. A station sets `flags` to 1 while its transmitter is keyed, else to 0;
// samples without the key are not received. `late` from the hub is the number of blocks of this
// station that were too late since the last block; a station sends 0. Indices rise by one; a gap in
// those from the hub is lost time.
//
// `utc_ns` is the time of day by the cable's own clock, since 1970. It is the wall clock's time
// when the cable began plus the duration of its blocks since. At pace `max` it is the only time of
// day that stations can share.
//
// Other stations receive the block that answers index k in their block k + 1 + delay_blocks. At
// pace `max` the delay is 0 and the hub waits for the answer of every station. At pace `real` it
// sends a block per block time, and the delay is the time in which a station must answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"

namespace s5066::modem::cable {

inline constexpr std::uint16_t kVersion = 2;
inline constexpr std::uint16_t kAnyStation = 0xFFFF;
inline constexpr std::size_t kStationsMax = 16;
inline constexpr std::size_t kBlockSamplesMax = 4800;
inline constexpr unsigned kRateHzMax = 192000;
inline constexpr std::size_t kDelayBlocksMax = 256;
inline constexpr std::uint64_t kGapBlocksMax = 1'000'000;
inline constexpr float kLevelMax = 16.0F;
/// The limit leaves room for a century of counting.
inline constexpr Duration kUtcMax = std::chrono::hours(180 * 366 * 24);

enum class Pace : std::uint8_t { real, max };
enum class Answer : std::uint8_t { accepted, bad_version, no_such_station, taken };

struct Hello {
  std::uint16_t version = kVersion;
  std::uint16_t station = kAnyStation;
};

struct Welcome {
  std::uint16_t version = kVersion;
  Answer answer = Answer::accepted;
  Pace pace = Pace::real;
  std::uint16_t station = 0;
  std::uint16_t stations = 0;
  std::uint32_t rate_hz = 0;
  std::uint16_t block_samples = 0;
  std::uint16_t delay_blocks = 0;
  Duration utc{};
};

struct BlockHeader {
  bool keyed = false;
  std::uint16_t count = 0;
  std::uint32_t late = 0;
  std::uint64_t index = 0;
};

inline constexpr std::size_t kHelloBytes = 12;
inline constexpr std::size_t kWelcomeBytes = 32;
inline constexpr std::size_t kBlockHeaderBytes = 16;

Bytes encode(const Hello& hello);
Bytes encode(const Welcome& welcome);
/// Appends the header and the samples.
void append_block(const BlockHeader& header, std::span<const float> samples, Bytes& out);

// The input must be exactly as long as the constants above; any content is safe.
Result<Hello> decode_hello(ByteSpan bytes);
Result<Welcome> decode_welcome(ByteSpan bytes);
/// Refuses a block whose size is not `block_samples`.
Result<BlockHeader> decode_block_header(ByteSpan bytes, std::size_t block_samples);
/// Refuses samples that are not finite or above kLevelMax.
Result<void> decode_samples(ByteSpan bytes, std::span<float> samples);

}  // namespace s5066::modem::cable
