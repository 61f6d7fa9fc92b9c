// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "s5066d/cas/channel_access.h"

namespace s5066::cas {
namespace {

using namespace std::chrono_literals;

TEST(DamagedCpdu, positions_are_those_in_the_s_pdu_and_a_damaged_c_pci_drops_it) {
  Rng rng(1);
  Counters counters;
  TraceRing trace;
  ChannelAccess core({}, rng, counters, trace);
  const Instant now(1min);
  dts::CpduIndication in{Service::nonarq, Address{2}, Address{1}, *from_hex("00 01 02 03 04")};
  in.errored = {{1, 2}};
  in.missing = {{4, 1}};
  core.on_cpdu(now, in);
  const auto action = core.poll_action();
  ASSERT_TRUE(action);
  const auto& spdu = std::get<SpduIndication>(*action);
  EXPECT_EQ(spdu.spdu, *from_hex("01 02 03 04"));
  EXPECT_EQ(spdu.errored, (std::vector<OctetRange>{{0, 2}}));
  EXPECT_EQ(spdu.missing, (std::vector<OctetRange>{{3, 1}}));

  in.errored = {{0, 1}};
  core.on_cpdu(now, in);
  in.errored = {};
  in.missing = {{0, 2}};
  core.on_cpdu(now, in);
  in.cpdu = *from_hex("10 00");  // a C_PDU of link control that is not whole
  in.missing = {{1, 1}};
  core.on_cpdu(now, in);
  EXPECT_FALSE(core.poll_action());
  EXPECT_EQ(counters[Counter::cpdus_damaged], 3u);
  std::vector<std::size_t> discarded;
  for (const TraceEvent& event : trace.events()) {
    if (!event.discarded) continue;
    EXPECT_EQ(event.kind, TraceKind::cpdu_discarded);
    EXPECT_EQ(event.peer, Address{2});
    EXPECT_EQ(event.discarded->reason, DiscardReason::damaged);
    discarded.push_back(event.discarded->octets);
  }
  EXPECT_EQ(discarded, (std::vector<std::size_t>{5, 5, 2}));
}

}  // namespace
}  // namespace s5066::cas
