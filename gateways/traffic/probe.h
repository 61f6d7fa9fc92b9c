// SPDX-License-Identifier: Apache-2.0
// The unit that s5066-traffic sends: a header of 36 octets and a content that the receiver can
// compute, so that it finds octets that were altered. UDP carries one probe in a datagram, TCP one
// after another. Numbers are big-endian.
//
//   0  "S5TR"
//   4  version, 1
//   5  flags; bit 0: the last probe of its run
//   6  octets of the probe with its header
//   8  run, chosen by the sender
//  12  number of the probe in its run, from 0
//  16  probes in the run; 0: not known
//  20  line rate in bit/s that the load refers to; 0: not known
//  24  time of sending in microseconds since 1970-01-01 00:00 UTC, eight octets
//  32  segment_crc() of the octets before
//  36  content
#pragma once

#include <cstddef>
#include <cstdint>

#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"

namespace s5066::traffic {

inline constexpr std::size_t kProbeHeader = 36;
inline constexpr std::size_t kProbeMax = 65'000;
/// Probes that a run may have, so that a receiver's memory is bounded.
inline constexpr std::uint32_t kProbesMax = 1'000'000;

struct Probe {
  bool last = false;
  std::size_t octets = kProbeHeader;
  std::uint32_t run = 0;
  std::uint32_t number = 0;
  std::uint32_t planned = 0;
  std::uint32_t line_rate_bps = 0;
  std::uint64_t sent_us = 0;
  friend bool operator==(const Probe&, const Probe&) = default;
};

/// `octets` must be kProbeHeader to kProbeMax.
Bytes encode(const Probe& probe);
/// Reads the header at the start of some octets. Any input is safe.
Result<Probe> decode_header(ByteSpan octets);
/// True if the content of a whole probe is what its sender made.
bool is_intact(const Probe& probe, ByteSpan octets);

}  // namespace s5066::traffic
