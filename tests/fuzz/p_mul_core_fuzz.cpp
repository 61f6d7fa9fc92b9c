// SPDX-License-Identifier: Apache-2.0
// Input: a script for one P_MUL node that sends a message and receives others. Each step is an
// octet: below 64, that many times ten seconds pass; above, a datagram of as many octets less 63
// follows, whose length and checksum are corrected first. Memory stays within its limits, every
// destination ends at most once, the joins and leaves of a group alternate, and no message is
// acknowledged as complete before it is committed.
#include <algorithm>
#include <set>

#include "gateways/p_mul/p_mul_core.h"

using namespace s5066;
using namespace s5066::p_mul;

namespace {

PMulCore::Config config() {
  PMulCore::Config config;
  config.sender.node = config.receiver.node = {0x0A010102};
  config.sender.block_octets = 20;
  config.sender.coded = true;
  config.sender.groups = {{{1}, {{0x0A010101}, {0x0A010103}}}};
  config.receiver.octets_max = 20'000;
  config.receiver.message_octets_max = 10'000;
  config.receiver.messages_max = 8;
  config.receiver.source_octets_max = 12'000;
  config.receiver.source_messages_max = 5;
  config.groups.pool = {0xE0000201, 0xE0000202};
  config.groups.joined_max = 4;
  config.groups.rejects_max = 4;
  return config;
}

void drain(PMulCore& core, Instant now, bool commit, unsigned& ended,
           std::set<std::uint32_t>& joined) {
  while (const auto event = core.poll_event()) {
    if (std::holds_alternative<DestinationEnded>(*event)) ++ended;
    const auto* received = std::get_if<Received>(&*event);
    if (received == nullptr) continue;
    if (commit) {
      core.on_committed(now, received->name);
    } else {
      core.on_not_committed(now, received->name);
    }
  }
  for (int i = 0; i < 20; ++i) {
    const auto pdu = core.poll_pdu(now);
    if (!pdu) break;
    S5066_ASSERT(decode(pdu->octets).ok());
  }
  while (const auto group = core.poll_membership()) {
    const bool known = joined.contains(group->address);
    S5066_ASSERT(group->address == 0xE0000201 || group->address == 0xE0000202);
    S5066_ASSERT(known != group->joined);
    if (group->joined) joined.insert(group->address);
    if (!group->joined) joined.erase(group->address);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Rng rng(1);
  PMulCore core(config(), rng);
  Instant now{};
  core.on_clock(now, {1'700'000'000});
  core.on_start(now);
  Submission submission{.key = {1},
                        .message_id = 123456,
                        .expiry = {1'700'003'600},
                        .destinations = {{{0x0A010101}, 1}, {{0x0A010103}, 1}},
                        .group = {}};
  submission.content.assign(100, 7);
  S5066_ASSERT(core.request_submit(now, submission).ok());
  // A second message needs a group of its own.
  submission.key = {2};
  submission.message_id = 123457;
  submission.destinations = {{{0x0A010101}, 2}, {{0x0A010104}, 1}};
  S5066_ASSERT(core.request_submit(now, std::move(submission)).ok());
  unsigned ended = 0;
  std::set<std::uint32_t> joined;
  ByteSpan script(data, std::min<std::size_t>(size, 4096));
  while (!script.empty()) {
    const std::uint8_t step = script[0];
    script = script.subspan(1);
    if (step < 64) {
      now += std::chrono::seconds(10) * step;
      core.on_deadline(now);
    } else {
      Bytes pdu(script.begin(),
                script.begin() + std::min<std::ptrdiff_t>(step - 63, std::ssize(script)));
      script = script.subspan(pdu.size());
      if (pdu.size() >= 12) {
        pdu[0] = 0;
        pdu[1] = static_cast<std::uint8_t>(pdu.size());
        const std::uint16_t sum = fletcher_checksum(pdu);
        pdu[6] = static_cast<std::uint8_t>(sum >> 8);
        pdu[7] = static_cast<std::uint8_t>(sum);
      }
      core.on_datagram(now, pdu);
    }
    drain(core, now, step % 3 != 0, ended, joined);
    S5066_ASSERT(core.groups().joined() <= 4 && core.groups().own() <= 1);
    S5066_ASSERT(core.receiver().octets() <= 20'000 && core.receiver().messages() <= 8);
    S5066_ASSERT(ended <= 4);
  }
  now += std::chrono::hours(48);
  core.on_deadline(now);
  drain(core, now, true, ended, joined);
  S5066_ASSERT(ended == 4);
  now += std::chrono::hours(2);
  core.on_deadline(now);
  while (core.has_pdu()) drain(core, now, true, ended, joined);
  S5066_ASSERT(joined.empty() && core.groups().own() == 0);
  return 0;
}
