// SPDX-License-Identifier: Apache-2.0
// Tests the access rules for binds, and that clients of other machines are refused unless
// configured.
#include <gtest/gtest.h>

#include "tests/live/hand_client.h"
#include "tests/live/pair.h"

namespace s5066::live {
namespace {

using namespace sis;

constexpr std::uint8_t kRankAny = 3;

BindRejected refusal(HandClient& client, SapId sap, std::uint8_t rank) {
  return client.ask<BindRejected>(
      BindRequest{.sap = sap, .rank = rank, .service = {.mode = TransmissionMode::arq}});
}

// Table F-1 for SAP 0; A.2.1.1 has no reject reason for a rank that a client may not have.
TEST(LiveAccess, sap_0_and_rank_15_are_for_nobody_unless_configured) {
  Pair pair;
  ASSERT_NO_FATAL_FAILURE(pair.start_node("alpha"));
  HandClient client(pair.sis_port("alpha"));
  EXPECT_EQ(refusal(client, SapId{0}, kRankAny), BindRejected{BindRejectReason::invalid_sap});
  EXPECT_EQ(refusal(client, SapId{5}, 15), BindRejected{BindRejectReason::not_enough_resources});
  client.bind(SapId{5}, 14);
}

TEST(LiveAccess, a_client_gets_the_saps_and_the_rank_of_its_entry_and_no_more) {
  Pair pair;
  pair.configure_sis("alpha", "allow { address: \"127.0.0.1\" saps: 5 rank_max: 9 }");
  ASSERT_NO_FATAL_FAILURE(pair.start_node("alpha"));
  HandClient client(pair.sis_port("alpha"));
  EXPECT_EQ(refusal(client, SapId{6}, kRankAny), BindRejected{BindRejectReason::invalid_sap});
  EXPECT_EQ(refusal(client, SapId{5}, 10), BindRejected{BindRejectReason::not_enough_resources});
  client.bind(SapId{5}, 9);
}

TEST(LiveAccess, beyond_loopback_it_does_not_start_without_a_list_of_addresses_and_saps) {
  Pair pair;
  const auto start = [&](const std::string& allow) {
    pair.folder().write("open.textproto",
                        "address: \"1.2.0.1\"\n"
                        "modem { mode: \"110a-2400-short\" cable { socket: \"cable.sock\" } }\n"
                        "sis { port: 0 listen: \"0.0.0.0\" " +
                            allow + " }\n");
    return run({S5066_S5066D, "--config", "open.textproto"}, pair.options("s5066d"));
  };
  const Outcome for_all = start("");
  EXPECT_EQ(for_all.status, 2);
  EXPECT_NE(for_all.output.find("listen: \"0.0.0.0\" is not loopback and needs `allow`"),
            std::string::npos)
      << for_all.output;
  const Outcome all_saps = start("allow { address: \"192.0.2.7\" }");
  EXPECT_EQ(all_saps.status, 2);
  EXPECT_NE(all_saps.output.find("allow: needs `saps`"), std::string::npos) << all_saps.output;
}

}  // namespace
}  // namespace s5066::live
