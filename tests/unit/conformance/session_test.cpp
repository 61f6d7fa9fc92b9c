// SPDX-License-Identifier: Apache-2.0
// These tests check Annex A from outside: soft link sessions and broadcast (A.1.1.1, A.1.1.3,
// A.3.2.1, A.3.2.3).
#include "tests/unit/conformance/stations.h"

namespace s5066::test {
namespace {

class AnnexASession : public Stations {};

// A.1.1.1(1),(2) A.1.1.2(1) A.3(3) A.3.2.1.1(1)-(3) A.3.2.1.2(1),(2),(4) A.1.1.1(3),(4) B.3(4),(6)
TEST_F(AnnexASession, arq_data_starts_a_soft_link_that_ends_after_its_configured_idle_time) {
  config_a.sap.links.idle_timeout = seconds(12);
  restart();
  HexClient a = bind(alpha, 3, "10 00");
  run(minutes(1));
  EXPECT_EQ(air(), "");
  a.give("14 04 E1020305 00 000000 0001 41");
  run(seconds(12));
  EXPECT_EQ(air(), "A8:10 B8:20 A0:0000340041");  // link control of channel access, no S_PDU
  EXPECT_EQ(alpha->node.status().links.at(0).state, cas::LinkState::made);
  EXPECT_EQ(bravo->node.status().links.at(0).state, cas::LinkState::made);
  run(seconds(12));
  EXPECT_EQ(air(), "A8:44 B8:50");
  for (const Medium::Station* station : {alpha, bravo}) {
    for (const auto& link : station->node.status().links) {
      EXPECT_EQ(link.state, cas::LinkState::idle);
    }
  }
  EXPECT_EQ(a.got(), "");
}

// A.3.2.1.2(2),(4)
TEST_F(AnnexASession, the_called_node_may_end_the_session_too) {
  config_b.sap.links.called_minimum = seconds(5);
  config_b.sap.links.idle_timeout = seconds(5);
  config_a.sap.links.idle_timeout = minutes(10);
  restart();
  HexClient a = bind(alpha, 3, "10 00");
  a.give("14 04 E1020305 00 000000 0001 41");
  run(minutes(1));
  EXPECT_EQ(air(), "A8:10 B8:20 A0:0000340041 B8:44 A8:50");
}

// A.1.1.1(5),(6)
TEST_F(AnnexASession, data_for_another_node_waits_no_longer_than_the_configured_maximum) {
  config_a.sap.links.soft_links_max = 1;
  config_a.sap.links.session_max = minutes(2);
  config_a.sap.link_outstanding_octets_max = 8192;  // outstanding data is finished first
  restart();
  HexClient a = bind(alpha, 3, "10 00");
  HexClient c = bind(charlie, 4, "10 00");
  const std::string kilobyte = " 0400 " + to_hex(Bytes(1024, 0x41));
  for (int i = 0; i < 200; ++i) a.give("14 04 E1020305 00 000000" + kilobyte);
  run(seconds(30));
  a.give("14 04 E1020306 00 000000 0001 42");
  run(seconds(89));  // the session with bravo is two minutes old
  EXPECT_EQ(c.got(), "");
  run(minutes(3));
  EXPECT_EQ(c.got(), compact("15 04 E1020306 13 E1020304 0001 42"));
}

// A.3.2.1.2(3)
TEST_F(AnnexASession, a_called_node_leaves_the_caller_in_peace_for_its_configured_minimum) {
  config_b.sap.links.soft_links_max = 1;
  config_b.sap.links.called_minimum = minutes(4);
  config_a.sap.links.idle_timeout = minutes(30);
  restart();
  HexClient a = bind(alpha, 3, "10 00");
  HexClient b = bind(bravo, 4, "10 00");
  HexClient c = bind(charlie, 4, "10 00");
  a.give("14 04 E1020305 00 000000 0001 41");
  run(seconds(20));
  b.give("14 04 E1020306 00 000000 0001 42");  // bravo wants a session of its own
  run(minutes(3));
  EXPECT_EQ(c.got(), "");
  run(minutes(2));
  EXPECT_EQ(c.got(), compact("15 04 E1020306 14 E1020305 0001 42"));
}

// A.1.1.3(1),(3),(4) A.2.1.4(1)-(4) A.3.2.3(1),(3) A.3.2.4(1)
TEST_F(AnnexASession, a_broadcast_only_node_serves_no_arq_and_no_links) {
  config_a.sap.broadcast_only = true;
  restart();
  HexClient a = connect(alpha);
  a.give("01 35 10 00");
  EXPECT_EQ(a.got(), "0404");
  a.give("01 35 20 00");
  EXPECT_EQ(a.got(), compact("03 30 0800"));
  HexClient b = bind(bravo, 4, "10 00");
  a.give("14 04 E1020305 00 000000 0001 41");
  run(seconds(20));
  EXPECT_EQ(air(), "A7:0000340041");  // no handshake
  EXPECT_EQ(b.got(), compact("15 04 E1020305 23 E1020304 0001 41"));
  a.give("14 04 E1020305 14 000000 0001 42");
  EXPECT_EQ(a.got(), compact("17 54 E1020305 0001 42"));
  b.give("14 04 E1020304 00 000000 0001 43");
  run(seconds(20));
  EXPECT_EQ(air(), "B8:10 A8:31");
}

// A.2.1.3(6),(8),(9)
TEST_F(AnnexASession, a_broadcast_only_node_may_take_4096_octets_and_general_nodes_deliver_them) {
  config_a.sap.broadcast_only = true;
  config_a.sap.mtu = 4096;
  restart();
  HexClient a = connect(alpha);
  a.give("01 35 20 00");
  EXPECT_EQ(a.got(), compact("03 30 1000"));
  HexClient b = bind(bravo, 4, "10 00");
  a.give("14 04 FFFFFFFF 00 000000 1000 " + to_hex(Bytes(4096, 0x41)));
  run(minutes(2));
  EXPECT_EQ(b.got(), compact("15 04 FFFFFFFF 23 E1020304 1000 " + to_hex(Bytes(4096, 0x41))));
  a.give("14 04 FFFFFFFF 00 000000 1001 " + to_hex(Bytes(4097, 0x41)));
  EXPECT_EQ(a.got().substr(0, 4), "1744");
}

// A.2.1.9(9)-(16) A.2.2.21(1)-(3) A.2.2.28.3(1)
TEST_F(AnnexASession, a_damaged_u_pdu_comes_with_its_blocks_and_only_where_it_was_asked_for) {
  HexClient a = bind(alpha, 3, "30 00");
  HexClient with = bind(bravo, 4, "30 00");
  HexClient without = bind(charlie, 4, "20 00");
  config_a.dts.segment_octets = 0;
  const std::size_t segment = dts::segment_octets(config_a.dts);
  const Bytes updu(3 * segment - 5, 0x41);  // three segments with C_PCI, S_PCI and no date
  damage = [&](Bytes& octets) {
    std::size_t segments = 0;
    for (std::size_t at = 0; at + 6 < octets.size() && octets[at] == 0x90;) {
      const std::size_t header = 2 + (octets[at + 5] & 0x1Fu) + (octets[at + 5] >> 5);
      const std::size_t size = get_u16(octets, at + 6 + (octets[at + 5] >> 5)) & 0x3FFu;
      ++segments;
      if (segments == 2) octets[at + header + 7] ^= 0xFF;  // the eighth octet
      if (segments == 3) octets[at + 5 + 2] ^= 0xFF;       // an address, so the header is bad
      at += header + size + 4;
    }
  };
  const std::string octets = to_hex(
      Bytes{static_cast<std::uint8_t>(updu.size() >> 8), static_cast<std::uint8_t>(updu.size())});
  a.give("14 04 FFFFFFFF 00 000000 " + octets + to_hex(updu));
  run(minutes(5));
  const std::string got = with.got();
  ASSERT_GT(got.size(), 60u);
  const auto number = [](std::size_t n) {
    return compact(Bytes{static_cast<std::uint8_t>(n >> 8), static_cast<std::uint8_t>(n)});
  };
  // One block is errored and one is missing. The positions count in the U_PDU, whose control
  // information precedes it in the first segment.
  EXPECT_EQ(got.substr(0, 26 + 24), compact("15 04 FFFFFFFF 33 E1020304") + compact(octets) +
                                        "0001" + number(segment - 4) + number(segment) + "0001" +
                                        number(2 * segment - 4) + number(segment - 1));
  Bytes expected = updu;
  expected[segment - 4 + 7] ^= 0xFF;
  for (std::size_t i = 2 * segment - 4; i < expected.size(); ++i) expected[i] = 0;
  EXPECT_EQ(got.substr(26 + 24), compact(expected));
  EXPECT_EQ(without.got(), "");

  damage = nullptr;
  a.give("14 04 FFFFFFFF 00 000000 0001 42");
  run(minutes(1));
  EXPECT_EQ(with.got(), compact("15 04 FFFFFFFF 23 E1020304 0001 42"));
  EXPECT_EQ(without.got(), compact("15 04 FFFFFFFF 23 E1020304 0001 42"));
}

}  // namespace
}  // namespace s5066::test
