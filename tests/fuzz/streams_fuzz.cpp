// SPDX-License-Identifier: Apache-2.0
// Input: octets after the header of RCOP. They go through the parser; a U_PDU that it accepts is
// encoded again, and goes to a core with streams in all states, also after a change of the epoch
// that it is meant for. No assert fails, the core comes to rest, and what it holds stays bounded.
#include "gateways/common/rcop.h"
#include "gateways/streams/streams_core.h"

using namespace s5066;
using namespace s5066::streams;

namespace {

constexpr Address kStation{0x01020302};
constexpr int kStepsMax = 100'000;

/// Takes all actions; U_PDUs are confirmed at once.
std::uint32_t drain(StreamsCore& core, Instant now) {
  std::uint32_t epoch = 0;
  for (int steps = 0;; ++steps) {
    S5066_ASSERT(steps < kStepsMax);
    const auto action = core.poll_action();
    if (!action) return epoch;
    if (const auto* sent = std::get_if<gateways::SisUnidata>(&*action)) {
      const auto pdu = decode_streams(sent->updu);
      S5066_ASSERT(pdu.ok());
      epoch = pdu->header.from_epoch;
      core.on_sis(now, gateways::SisConfirmed{sent->id});
    } else if (const auto* arrived = std::get_if<Arrived>(&*action)) {
      core.request_consumed(now, arrived->id, arrived->octets.size());
    } else if (const auto* opened = std::get_if<Opened>(&*action)) {
      core.request_write(now, opened->id, Bytes(100, 'x'));
    }
  }
}

void check_encoding(ByteSpan updu) {
  const auto pdu = decode_streams(updu);
  if (!pdu) return;
  Bytes again;
  encode(pdu->header, again);
  for (const Frame& frame : pdu->frames) encode(frame, again);
  const auto same = decode_streams(again);
  S5066_ASSERT(same.ok() && same->frames.size() == pdu->frames.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 2042) return 0;
  Bytes updu;
  gateways::encode(gateways::RcopHeader{.connection_id = kStreamsConnection,
                                        .application_id = kStreamsApplication},
                   updu);
  append(updu, ByteSpan(data, size));
  check_encoding(updu);

  Instant now{std::chrono::hours(1)};
  StreamsCore core(StreamsConfig(), 1);
  core.on_sis(now, gateways::SisBound{2048});
  for (const bool compress : {false, true}) {
    const auto id = core.request_open(now, kStation, {"a", 1}, compress);
    core.request_write(now, *id, Bytes(5000, 'y'));
  }
  const std::uint32_t epoch = drain(core, now);
  const auto give = [&] {
    core.on_sis(now, gateways::SisIndication{kStation, SapId{9}, updu});
    drain(core, now);
    S5066_ASSERT(core.octets_held() <= 1U << 20);
  };
  give();
  if (updu.size() >= kStreamsHeaderOctets) {
    for (std::size_t i = 0; i < 4; ++i) {
      updu[11 + i] = static_cast<std::uint8_t>(epoch >> (24 - 8 * i));
    }
    give();
    give();
  }
  core.on_sis(now, gateways::SisLost{});
  core.on_sis(now, gateways::SisBound{2048});
  now += std::chrono::hours(1);
  core.on_deadline(now);
  drain(core, now);
  return 0;
}
