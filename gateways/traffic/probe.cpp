// SPDX-License-Identifier: Apache-2.0
#include "gateways/traffic/probe.h"

#include <algorithm>
#include <array>

#include "s5066d/base/assert.h"
#include "s5066d/base/crc.h"

namespace s5066::traffic {
namespace {

constexpr std::array<std::uint8_t, 4> kMagic = {'S', '5', 'T', 'R'};
constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kLastFlag = 1;
constexpr std::size_t kCrcAt = 32;

/// Returns the octets of a content one after another (a linear congruential generator).
class Content {
 public:
  explicit Content(const Probe& probe) : state_(std::uint64_t{probe.run} << 32 | probe.number) {}
  std::uint8_t next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint8_t>(state_ >> 56);
  }

 private:
  std::uint64_t state_;
};

}  // namespace

Bytes encode(const Probe& probe) {
  S5066_ASSERT(probe.octets >= kProbeHeader && probe.octets <= kProbeMax);
  Bytes out(kMagic.begin(), kMagic.end());
  out.reserve(probe.octets);
  out.push_back(kVersion);
  out.push_back(probe.last ? kLastFlag : 0);
  put_u16(out, static_cast<std::uint16_t>(probe.octets));
  put_u32(out, probe.run);
  put_u32(out, probe.number);
  put_u32(out, probe.planned);
  put_u32(out, probe.line_rate_bps);
  put_u32(out, static_cast<std::uint32_t>(probe.sent_us >> 32));
  put_u32(out, static_cast<std::uint32_t>(probe.sent_us));
  put_u32(out, segment_crc(out));
  for (Content content(probe); out.size() < probe.octets;) out.push_back(content.next());
  return out;
}

Result<Probe> decode_header(ByteSpan octets) {
  if (octets.size() < kProbeHeader) return Error{ErrorCode::truncated, "header"};
  if (!std::equal(kMagic.begin(), kMagic.end(), octets.begin())) {
    return Error{ErrorCode::bad_sync, "first octets"};
  }
  if (octets[4] != kVersion) return Error{ErrorCode::unsupported, "version"};
  if (octets[5] > kLastFlag) return Error{ErrorCode::bad_field, "flags"};
  if (get_u32(octets, kCrcAt) != segment_crc(octets.first(kCrcAt))) {
    return Error{ErrorCode::bad_checksum, "header"};
  }
  const Probe probe{.last = octets[5] == kLastFlag,
                    .octets = get_u16(octets, 6),
                    .run = get_u32(octets, 8),
                    .number = get_u32(octets, 12),
                    .planned = get_u32(octets, 16),
                    .line_rate_bps = get_u32(octets, 20),
                    .sent_us = std::uint64_t{get_u32(octets, 24)} << 32 | get_u32(octets, 28)};
  if (probe.octets < kProbeHeader || probe.octets > kProbeMax) {
    return Error{ErrorCode::bad_field, "octets"};
  }
  if (probe.planned > kProbesMax || probe.number >= kProbesMax) {
    return Error{ErrorCode::too_large, "number"};
  }
  if (probe.planned > 0 && probe.number >= probe.planned) {
    return Error{ErrorCode::bad_field, "number"};
  }
  return probe;
}

bool is_intact(const Probe& probe, ByteSpan octets) {
  if (octets.size() != probe.octets) return false;
  Content content(probe);
  const ByteSpan body = octets.subspan(kProbeHeader);
  return std::all_of(body.begin(), body.end(),
                     [&](std::uint8_t octet) { return octet == content.next(); });
}

}  // namespace s5066::traffic
