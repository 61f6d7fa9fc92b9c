// SPDX-License-Identifier: Apache-2.0
// These tests check Annex A from outside: expedited data (A.2.1.10 to A.2.1.13).
#include "tests/unit/conformance/stations.h"

namespace s5066::test {
namespace {

using std::chrono::hours;

class AnnexAExpedited : public Stations {};

// A.2.1.10(1)-(11) A.2.1.11(1)-(7) A.2.1.13(1)-(15) A.2.2.24(1)-(3) A.2.2.25(1)-(3)
// A.2.2.26(1)-(3) A.3.1.1(8),(9) A.3.2.4(9)-(11),(24)
TEST_F(AnnexAExpedited, an_expedited_u_pdu_keeps_its_service_all_the_way) {
  HexClient a = bind(alpha, 3, "14 00");
  HexClient b = bind(bravo, 4, "10 00");
  a.give("18 04 E1020305 00 000000 0002 4142");
  run(seconds(30));
  EXPECT_EQ(air(), "A8:10 B8:20 A4:000034004142");
  EXPECT_EQ(b.got(), compact("19 04 E1020305 13 E1020304 0002 4142"));
  EXPECT_EQ(a.got(), compact("1A 04 E1020305 0002 4142"));
}

// A.3.2.4(10),(24) A.2.1.13(5)
TEST_F(AnnexAExpedited, without_arq_it_travels_as_expedited_non_arq_data) {
  HexClient a = bind(alpha, 3, "20 10");
  HexClient b = bind(bravo, 4, "10 00");
  a.give("18 04 E1020305 00 000000 0002 4142");
  run(seconds(30));
  EXPECT_EQ(air(), "A8:000034004142 A8:000034004142");
  EXPECT_EQ(b.got(), compact("19 04 E1020305 23 E1020304 0002 4142"));
  EXPECT_EQ(a.got(), "");
}

// A.2.1.11(1)-(7) A.3.1.1(13),(14) A.3.1.2(1),(2)
TEST_F(AnnexAExpedited, a_client_confirms_it_by_the_service_it_came_by) {
  HexClient a = bind(alpha, 3, "18 00");
  bind(bravo, 4, "10 00");
  a.give("18 04 E1020305 00 000000 0002 4142");
  run(seconds(30));
  EXPECT_EQ(air(), "A8:10 B8:20 A4:000034804142 B4:0010344142");
  EXPECT_EQ(a.got(), compact("1A 04 E1020305 0002 4142"));
}

// A.2.1.12(1)-(9) A.2.1.10(5)-(8) A.2.2.27(1)-(3)
TEST_F(AnnexAExpedited, a_failure_is_reported_with_its_reason) {
  HexClient a = bind(alpha, 3, "18 00");
  a.give("18 04 E1020305 00 000000 0001 41");
  run(seconds(30));
  EXPECT_EQ(a.got(), compact("1B 24 E1020305 0001 41"));  // no client is bound to that SAP
  a.give("18 04 E1020305 40 000000 0001 41");
  EXPECT_EQ(a.got(), compact("1B 54 E1020305 0001 41"));
  a.give("18 04 E1020305 10 000000 0801 " + to_hex(Bytes(2049, 0x41)));
  EXPECT_EQ(a.got().substr(0, 12), "1B44E1020305");
  medium->silent = true;
  a.give("18 04 E1020306 14 00000F 0001 42");
  run(seconds(29));
  EXPECT_EQ(a.got(), "");
  run(seconds(1));
  EXPECT_EQ(a.got(), compact("1B 14 E1020306 0001 42"));
  a.give("18 04 E1020306 14 000000 0001 43");
  run(hours(1));
  EXPECT_EQ(a.got(), compact("1B 34 E1020306 0001 43"));
}

// A.2.1.10(3),(4) A.2.1.5(1)-(3)
TEST_F(AnnexAExpedited, more_requests_than_the_limit_end_the_binding_with_reason_4) {
  config_a.sap.expedited_requests_max = 3;
  config_a.sap.expedited_requests_window = minutes(10);
  restart();
  HexClient a = bind(alpha, 3, "10 00");
  HexClient other = bind(alpha, 4, "10 00");
  for (int i = 0; i < 3; ++i) a.give("18 04 E1020305 00 000000 0001 41");
  other.give("18 04 E1020305 00 000000 0001 41");
  EXPECT_EQ(a.got() + other.got(), "");
  a.give("18 04 E1020305 00 000000 0001 41");
  EXPECT_EQ(a.got(), "0504");
  EXPECT_EQ(other.got(), "");
  EXPECT_FALSE(a.closed());
  a.give("01 35 10 00");
  EXPECT_EQ(a.got(), compact("03 30 0800"));
}

// A.2.1.10(1)
TEST_F(AnnexAExpedited, it_overtakes_normal_data_that_waits) {
  HexClient a = bind(alpha, 3, "10 00");
  HexClient b = bind(bravo, 4, "10 00");
  for (int i = 0; i < 40; ++i) {
    a.give("14 F4 E1020305 00 000000 0400 " + to_hex(Bytes(1024, 0x41)));
  }
  run(seconds(30));
  a.give("18 04 E1020305 00 000000 0001 42");
  run(minutes(2));
  const std::string got = b.got();
  EXPECT_NE(got.find(compact("19 04 E1020305 13 E1020304 0001 42")), std::string::npos);
  EXPECT_LT(got.size(), 40u * 2 * 1024);
}

}  // namespace
}  // namespace s5066::test
