// SPDX-License-Identifier: Apache-2.0
#include "modem/audio/cable_protocol.h"

#include <cmath>
#include <cstring>
#include <string_view>

#include "s5066d/base/assert.h"

namespace s5066::modem::cable {
namespace {

constexpr std::string_view kMagic = "HFMCABLE";

Bytes magic() {
  return {kMagic.begin(), kMagic.end()};
}

bool has_magic(ByteSpan bytes) {
  return std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
}

void put_u64(Bytes& out, std::uint64_t value) {
  put_u32(out, static_cast<std::uint32_t>(value >> 32));
  put_u32(out, static_cast<std::uint32_t>(value));
}

std::uint64_t get_u64(ByteSpan bytes, std::size_t at) {
  return std::uint64_t{get_u32(bytes, at)} << 32 | get_u32(bytes, at + 4);
}

}  // namespace

Bytes encode(const Hello& hello) {
  Bytes out = magic();
  put_u16(out, hello.version);
  put_u16(out, hello.station);
  S5066_ASSERT(out.size() == kHelloBytes);
  return out;
}

Bytes encode(const Welcome& welcome) {
  Bytes out = magic();
  put_u16(out, welcome.version);
  out.push_back(static_cast<std::uint8_t>(welcome.answer));
  out.push_back(static_cast<std::uint8_t>(welcome.pace));
  put_u16(out, welcome.station);
  put_u16(out, welcome.stations);
  put_u32(out, welcome.rate_hz);
  put_u16(out, welcome.block_samples);
  put_u16(out, welcome.delay_blocks);
  put_u64(out, static_cast<std::uint64_t>(welcome.utc.count()));
  S5066_ASSERT(out.size() == kWelcomeBytes);
  return out;
}

void append_block(const BlockHeader& header, std::span<const float> samples, Bytes& out) {
  S5066_ASSERT(header.count == samples.size());
  out.push_back(header.keyed ? 1 : 0);
  out.push_back(0);
  put_u16(out, header.count);
  put_u32(out, header.late);
  put_u64(out, header.index);
  const std::size_t at = out.size();
  out.resize(at + samples.size_bytes());
  std::memcpy(out.data() + at, samples.data(), samples.size_bytes());
}

Result<Hello> decode_hello(ByteSpan bytes) {
  S5066_ASSERT(bytes.size() == kHelloBytes);
  if (!has_magic(bytes)) return Error{ErrorCode::bad_sync, "not a station of the audio cable"};
  return Hello{.version = get_u16(bytes, 8), .station = get_u16(bytes, 10)};
}

Result<Welcome> decode_welcome(ByteSpan bytes) {
  S5066_ASSERT(bytes.size() == kWelcomeBytes);
  if (!has_magic(bytes)) return Error{ErrorCode::bad_sync, "not a hub of the audio cable"};
  if (bytes[10] > static_cast<std::uint8_t>(Answer::taken)) {
    return Error{ErrorCode::bad_field, "answer"};
  }
  if (bytes[11] > static_cast<std::uint8_t>(Pace::max)) return Error{ErrorCode::bad_field, "pace"};
  const Welcome welcome{.version = get_u16(bytes, 8),
                        .answer = static_cast<Answer>(bytes[10]),
                        .pace = static_cast<Pace>(bytes[11]),
                        .station = get_u16(bytes, 12),
                        .stations = get_u16(bytes, 14),
                        .rate_hz = get_u32(bytes, 16),
                        .block_samples = get_u16(bytes, 20),
                        .delay_blocks = get_u16(bytes, 22),
                        .utc = Duration{static_cast<std::int64_t>(get_u64(bytes, 24))}};
  if (welcome.answer != Answer::accepted) return welcome;
  if (welcome.rate_hz == 0 || welcome.rate_hz > kRateHzMax) {
    return Error{ErrorCode::bad_field, "sample rate"};
  }
  if (welcome.block_samples == 0 || welcome.block_samples > kBlockSamplesMax) {
    return Error{ErrorCode::bad_field, "block size"};
  }
  if (welcome.delay_blocks > kDelayBlocksMax) return Error{ErrorCode::bad_field, "delay"};
  if (welcome.utc < Duration::zero() || welcome.utc > kUtcMax) {
    return Error{ErrorCode::bad_field, "time of day"};
  }
  return welcome;
}

Result<BlockHeader> decode_block_header(ByteSpan bytes, std::size_t block_samples) {
  S5066_ASSERT(bytes.size() == kBlockHeaderBytes);
  if (bytes[0] > 1) return Error{ErrorCode::bad_field, "flags"};
  if (bytes[1] != 0) return Error{ErrorCode::bad_field, "padding"};
  const BlockHeader header{.keyed = bytes[0] != 0,
                           .count = get_u16(bytes, 2),
                           .late = get_u32(bytes, 4),
                           .index = get_u64(bytes, 8)};
  if (header.count != block_samples) return Error{ErrorCode::bad_field, "sample count"};
  return header;
}

Result<void> decode_samples(ByteSpan bytes, std::span<float> samples) {
  S5066_ASSERT(bytes.size() == samples.size_bytes());
  std::memcpy(samples.data(), bytes.data(), bytes.size());
  for (const float sample : samples) {
    // The comparison is written so that NaN fails as well.
    if (!(std::abs(sample) <= kLevelMax)) return Error{ErrorCode::bad_field, "sample"};
  }
  return {};
}

}  // namespace s5066::modem::cable
