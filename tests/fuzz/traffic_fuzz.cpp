// SPDX-License-Identifier: Apache-2.0
// Input: probes of the traffic tool, one after another. They go to a receiver as they are and with
// the start and the checksum of the first one mended: as one datagram, and as the octets of a TCP
// connection, in pieces of one size. The figures are always consistent.
#include <algorithm>

#include "gateways/traffic/probe.h"
#include "gateways/traffic/receiver_core.h"
#include "s5066d/base/assert.h"
#include "s5066d/base/crc.h"

using namespace s5066;
using namespace s5066::traffic;

namespace {

constexpr std::size_t kCrcAt = 32;

void check(ByteSpan octets) {
  ReceiverCore core{{}};
  ReceiverCore::Time time{Instant(std::chrono::hours(1)), 1'700'000'000'000'000};
  const auto pass = [&](Duration step) {
    time.at += step;
    time.utc_us += std::chrono::duration_cast<std::chrono::microseconds>(step).count();
  };
  for (int i = 0; i < 2; ++i) {
    core.on_datagram(time, "10.66.0.1", octets, octets.size() + 28);
    pass(std::chrono::hours(i));
  }
  const std::size_t piece = octets.empty() ? 1 : 1 + octets[0] % 50;
  bool open = core.on_stream(1, "10.66.0.1");
  for (std::size_t at = 0; open && at < octets.size(); at += piece) {
    open = core.on_stream_octets(time, 1, octets.subspan(at, std::min(piece, octets.size() - at)));
    pass(std::chrono::seconds(1));
  }
  core.on_stream_end(1);
  for (const RunReport& report : core.reports()) {
    const RunFigures& figures = report.figures;
    S5066_ASSERT(figures.received + figures.lost >= figures.planned);
    S5066_ASSERT(figures.received <= kProbesMax && figures.lost <= kProbesMax);
    S5066_ASSERT(figures.delay.samples <= figures.received);
    std::uint64_t in_intervals = 0;
    for (const Interval& interval : figures.intervals) in_intervals += interval.probes;
    S5066_ASSERT(in_intervals <= figures.received + figures.doubles);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4096) return 0;
  const ByteSpan octets(data, size);
  check(octets);
  if (size < kProbeHeader) return 0;
  Bytes mended = {'S', '5', 'T', 'R', 1, static_cast<std::uint8_t>(octets[5] & 1)};
  append(mended, octets.subspan(6, kCrcAt - 6));
  put_u32(mended, segment_crc(mended));
  append(mended, octets.subspan(kProbeHeader));
  check(mended);
  return 0;
}
