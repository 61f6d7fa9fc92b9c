// SPDX-License-Identifier: Apache-2.0
// Input: C_PDUs from one peer, each behind an octet that gives its length and service or lets time
// pass. Codec and link machine must accept any input, and the machine must become idle.
#include <algorithm>

#include "s5066d/cas/channel_access.h"

using namespace s5066;

namespace {

void check_codec(ByteSpan octets) {
  const auto first = cas::decode(octets);
  if (!first) return;
  const auto second = cas::decode(cas::encode(*first));
  S5066_ASSERT(second.ok() && *second == *first);
}

/// Transmits every C_PDU of the core; the only answers are those in the input.
void drain(cas::ChannelAccess& core, Instant now) {
  while (auto action = core.poll_action()) {
    const auto* cpdu = std::get_if<dts::CpduRequest>(&*action);
    if (cpdu == nullptr) continue;
    check_codec(cpdu->cpdu);
    core.on_cpdu_confirm(now, {cpdu->id});
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Rng rng(1);
  Counters counters;
  NullTrace trace;
  cas::ChannelAccess core({}, rng, counters, trace);
  constexpr Address kOwn{1};
  constexpr Address kPeer{2};
  Instant now{};
  std::uint64_t id = 0;

  ByteSpan input(data, size);
  while (!input.empty()) {
    const std::uint8_t head = input[0];
    input = input.subspan(1);
    const std::size_t length = std::min<std::size_t>(head & 0x0F, input.size());
    const ByteSpan octets = input.first(length);
    input = input.subspan(length);
    check_codec(octets);
    switch (head >> 4) {
      case 0:
        static_cast<void>(core.request_link(now, kPeer, cas::LinkType::nonexclusive));
        break;
      case 1:
        static_cast<void>(core.request_break(now, kPeer, cas::BreakReason::no_more_data));
        break;
      case 2:
        now = std::max(now, core.next_deadline().value_or(now));
        core.on_deadline(now);
        break;
      case 3:
        core.on_warning(now, {kPeer, 0, 1});
        break;
      case 4:
        core.on_connection_lost(now, {kPeer});
        break;
      case 5: {
        cas::SpduRequest request;
        request.id = CpduId{++id};
        request.destination = kPeer;
        request.spdu = Bytes{0, 0x33, 0};
        core.request_unidata(now, std::move(request));
        break;
      }
      case 6:
        core.on_connection_heard(now, kPeer);
        break;
      default:
        core.on_cpdu(now, {static_cast<dts::Service>(head >> 4 & 3), kPeer, kOwn,
                           Bytes(octets.begin(), octets.end())});
    }
    drain(core, now);
  }

  for (int i = 0; i < 100 && core.next_deadline(); ++i) {
    now = *core.next_deadline();
    core.on_deadline(now);
    drain(core, now);
  }
  S5066_ASSERT(!core.next_deadline());
  return 0;
}
