// What a modem and the audio cable's hub say to each other over a Unix stream socket.
//
// Integers are big-endian; samples are float32 in the machine's own order (both ends are on it),
// finite, at most kLevelMax in magnitude.
//
//   station -> hub, once   magic(8) version(2) station(2)
//   hub -> station, once   magic(8) version(2) answer(1) pace(1) station(2) stations(2) rate_hz(4)
//                          block_samples(2) delay_blocks(2) utc_ns(8)
//   then, for ever         hub -> station    block: what the station hears
//                          station -> hub    block of the same index: what it sends meanwhile
//   a block                flags(1) zero(1) count(2) late(4) index(8) samples(4 * count)
//
// A station asks for its number, or kAnyStation; the hub answers `accepted` or says why not and
// closes. `flags` is 1 on the way up while the transmitter is keyed, else 0; unkeyed samples are
// not heard. `late` on the way down is how many blocks of this station were too late to be heard
// since the last block; 0 on the way up. Indices rise by one; a gap on the way down is lost time.
//
// `utc_ns` is the time of day by the cable's own clock, since 1970: the wall's when the cable
// began, and what its blocks have lasted since. At pace `max` it is the only one that stations can
// share.
//
// The block that answers index k is heard by others in their block k + 1 + delay_blocks. At pace
// `max` the delay is 0 and the hub waits for every station's answer; at pace `real` it sends a
// block per block time, and the delay is the time that a station has to answer.
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
/// From there it can count on for a century.
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
/// Appends header and samples.
void append_block(const BlockHeader& header, std::span<const float> samples, Bytes& out);

// The input is exactly as long as the constants above say; any content is safe.
Result<Hello> decode_hello(ByteSpan bytes);
Result<Welcome> decode_welcome(ByteSpan bytes);
/// Refuses a block of another size than `block_samples`.
Result<BlockHeader> decode_block_header(ByteSpan bytes, std::size_t block_samples);
/// Refuses samples that are not finite or over kLevelMax.
Result<void> decode_samples(ByteSpan bytes, std::span<float> samples);

}  // namespace s5066::modem::cable
