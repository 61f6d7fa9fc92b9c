// SPDX-License-Identifier: Apache-2.0
// These tests check Annex A from outside: binds and unbinds, flow, keep-alive, management (A.2.1.1
// to A.2.1.5, A.2.1.14 to A.2.1.17), and the frame that carries them (A.2.2.1, A.2.2.2).
#include "tests/unit/conformance/stations.h"

namespace s5066::test {
namespace {

class AnnexABind : public Stations {};

// F.16 A.2.2.1(1)-(4) A.2.2.2(1)-(8),(11)-(13) A.2.2.3(1)-(3) A.2.2.5(1) A.2.1.3(1)-(5),(7)
TEST_F(AnnexABind, a_bind_in_its_frame_is_answered_in_a_frame_and_nothing_else) {
  HexClient client = connect(alpha);
  client.write(*from_hex("90EB00 0004 01 37 14 00"));
  const auto frames = client.frames();
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0], *from_hex("90EB00 0004 03 30 0800"));
}

// A.2.1.1(1)
TEST_F(AnnexABind, nothing_but_a_bind_and_a_keep_alive_is_served_before_a_bind) {
  for (const char* primitive :
       {"02", "06 93 E1020305", "07 E1020305", "0C 93 E1020305", "0D 01 93 E1020305", "12 01 4142",
        "14 53 E1020305 14 000000 0001 41", "18 05 E1020305 14 000000 0001 41"}) {
    HexClient client = connect(alpha);
    const auto before = invalid(alpha);
    client.give(primitive);
    EXPECT_EQ(invalid(alpha), before + 1) << primitive;
    EXPECT_EQ(client.got(), "") << primitive;
    client.give("11");
    EXPECT_EQ(client.got(), "11");
    client.give("01 35 14 00");
    EXPECT_EQ(client.got(), compact("03 30 0800")) << primitive;
    client.hang_up();
  }
  run(minutes(1));
  EXPECT_EQ(air(), "");
}

// A.2.1.1(2),(3) A.2.1.4(1)-(4)
TEST_F(AnnexABind, a_sap_has_one_client_and_those_that_may_not_be_had_are_refused) {
  for (const unsigned sap : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 12u, 13u, 14u, 15u}) {
    HexClient client = bind(alpha, sap, "14 00");
    HexClient second = connect(alpha);
    second.give("01 " + to_hex(Bytes{static_cast<std::uint8_t>(sap << 4 | 14)}) + " 14 00");
    EXPECT_EQ(second.got(), "0403");  // the SAP is already allocated, at any rank
    second.hang_up();
    client.give("02");
    client.hang_up();
  }
  HexClient client = connect(alpha);
  client.give("01 05 14 00");
  EXPECT_EQ(client.got(), "0402");  // SAP 0 is for the management of the node
  client.give("01 F5 14 00");
  EXPECT_EQ(client.got(), compact("03 F0 0800"));
}

// A.2.1.1(4)-(6) A.2.1.4(1)-(4)
TEST_F(AnnexABind, ranks_below_15_are_free_and_15_is_by_configuration) {
  for (unsigned rank = 0; rank < 15; ++rank) {
    HexClient client = connect(alpha);
    client.give("01 " + to_hex(Bytes{static_cast<std::uint8_t>(0x30 | rank)}) + " 14 00");
    EXPECT_EQ(client.got(), compact("03 30 0800")) << rank;
    client.hang_up();
  }
  HexClient client = connect(alpha);
  client.give("01 3F 14 00");
  EXPECT_EQ(client.got(), "0401");
  client.give("01 3E 14 00");
  EXPECT_EQ(client.got(), compact("03 30 0800"));
}

// A.2.2.3(7)-(9),(11)-(13) A.2.1.4(1)
TEST_F(AnnexABind, a_service_type_that_the_annex_forbids_is_refused) {
  HexClient client = connect(alpha);
  for (const char* service :
       {"00 00", "04 00", "40 00", "F0 00", "1C 00", "11 00", "24 00", "28 20", "34 00", "3C 00"}) {
    client.give("01 35 " + std::string(service));
    EXPECT_EQ(client.got(), "0401") << service;
  }
  for (const char* service : {"10 00", "14 00", "18 00", "12 00", "20 F0", "22 20", "30 00"}) {
    client.give("01 35 " + std::string(service));
    EXPECT_EQ(client.got(), compact("03 30 0800")) << service;
    client.give("02");
  }
}

// A.2.1.2(2),(3) A.2.2.3(5),(6) A.2.2.4(1)
TEST_F(AnnexABind, an_unbind_frees_the_sap_at_once_and_only_a_new_bind_changes_the_service_type) {
  HexClient first = bind(alpha, 3, "14 00");
  first.give("01 35 20 00");
  EXPECT_EQ(first.got(), "0403");  // the old binding stays
  first.give("14 04 E1020305 00 000000 0001 41");
  run(seconds(20));
  EXPECT_EQ(first.got(), compact("16 04 E1020305 0001 41"));
  air();
  first.give("02");
  bind(alpha, 3, "20 00");
  EXPECT_EQ(first.got(), "");
  first.give("01 45 20 00");
  EXPECT_EQ(first.got(), compact("03 40 0800"));
  first.give("14 04 E1020305 00 000000 0001 42");
  run(seconds(20));
  EXPECT_NE(air().find("A7:0000440042"), std::string::npos);
}

// A.2.1.2(2),(3)
TEST_F(AnnexABind, a_lost_connection_is_an_unbind) {
  HexClient first = bind(alpha, 3, "14 00");
  first.hang_up();
  bind(alpha, 3, "14 00");
}

// A.2.1.5(1)-(3) A.2.2.7(1)
TEST_F(AnnexABind, a_higher_rank_takes_the_place_of_a_lower_one_when_there_is_no_other) {
  config_a.clients_max = 2;
  restart();
  HexClient low = connect(alpha);
  low.give("01 32 14 00");
  HexClient middle = connect(alpha);
  middle.give("01 45 14 00");
  low.got();
  HexClient equal = connect(alpha);
  equal.give("01 52 14 00");
  EXPECT_EQ(equal.got(), "0401");  // not enough resources
  equal.hang_up();
  HexClient high = connect(alpha);
  high.give("01 59 14 00");
  EXPECT_EQ(high.got(), compact("03 50 0800"));
  EXPECT_EQ(low.got(), "0501");
  EXPECT_EQ(middle.got(), compact("03 40 0800"));
}

// A.2.1.5(1)-(3)
TEST_F(AnnexABind, too_many_invalid_primitives_end_the_binding_with_reason_3) {
  HexClient client = bind(alpha, 3, "14 00");
  for (int i = 0; i < 10; ++i) client.give("03 30 0800");
  EXPECT_EQ(client.got(), "");
  client.give("1C");
  EXPECT_EQ(client.got(), "0503");
  EXPECT_TRUE(client.closed());
  bind(alpha, 3, "14 00");
}

// A.2.1.5(1)-(3) A.2.1.17(3)
TEST_F(AnnexABind, a_client_that_does_not_answer_a_keep_alive_is_unbound_with_reason_2) {
  config_a.sap.keep_alive_interval = minutes(5);
  restart();
  HexClient client = bind(alpha, 3, "14 00");
  run(seconds(299));
  EXPECT_EQ(client.got(), "");
  run(seconds(1));
  EXPECT_EQ(client.got(), "11");
  run(config_a.sap.keep_alive_answer_wait);
  EXPECT_EQ(client.got(), "0502");
  EXPECT_TRUE(client.closed());
}

// A.2.1.17(1)-(3) A.2.2.18(1)
TEST_F(AnnexABind, a_keep_alive_is_answered_at_once_and_once_in_120_seconds) {
  HexClient client = bind(alpha, 3, "14 00");
  client.give("11");
  EXPECT_EQ(client.got(), "11");
  run(seconds(119));
  client.give("11");
  EXPECT_EQ(client.got(), "");
  run(seconds(1));
  EXPECT_EQ(client.got(), "");  // no answer is sent late
  client.give("11");
  EXPECT_EQ(client.got(), "11");
}

// A.2.1.14(1) A.2.2.17(1) A.2.1.14(4),(5)
TEST_F(AnnexABind, flow_goes_off_and_on_from_the_subnetwork_only) {
  config_a.sap.queue.client_updus_max = 20;
  restart();
  medium->silent = true;
  HexClient client = bind(alpha, 3, "10 00");
  for (int i = 0; i < 14; ++i) client.give("14 04 E1020305 00 00001E 0001 41");
  EXPECT_EQ(client.got(), "");
  client.give("14 04 E1020305 00 00001E 0001 41");
  EXPECT_EQ(client.got(), "10");
  run(minutes(1));  // the time to live of the U_PDUs
  EXPECT_EQ(client.got(), "0F");
  const auto before = invalid(alpha);
  client.give("10");
  client.give("0F");
  EXPECT_EQ(invalid(alpha), before + 2);
}

// A.2.2.4(1) A.2.2.6(1) A.2.2.8(1) A.2.2.9(1) A.2.2.14(1) A.2.2.15(1) A.2.2.19(1)
TEST_F(AnnexABind, a_primitive_of_another_length_is_invalid) {
  const char* const wrong[] = {"01 35 14",
                               "01 35 14 00 00",
                               "02 00",
                               "06 93 E10203",
                               "06 93 E1020305 00",
                               "07 E10203",
                               "07 E1020305 00",
                               "0C 93 E1020304 00",
                               "0D 01 93 E10203",
                               "0D 01 93 E1020304 00",
                               "11 00",
                               "12"};
  for (const char* primitive : wrong) {
    HexClient client = bind(alpha, 3, "14 00");
    const auto before = invalid(alpha);
    client.give(primitive);
    EXPECT_EQ(invalid(alpha), before + 1) << primitive;
    EXPECT_EQ(client.got(), "") << primitive;
    client.hang_up();
  }
}

// A.2.1.15(1)-(3) A.2.2.19(1) A.2.1.16(1),(2)
TEST_F(AnnexABind, management_messages_are_taken_and_only_rank_15_is_served) {
  HexClient client = bind(alpha, 3, "14 00");
  const auto before = invalid(alpha);
  client.give("12 01 414243");
  EXPECT_EQ(client.got(), "");
  EXPECT_EQ(invalid(alpha), before + 1);
  client.give("13 01 414243");  // only the server may send it
  EXPECT_EQ(invalid(alpha), before + 2);
  client.give("11");
  EXPECT_EQ(client.got(), "11");
  EXPECT_EQ(air(), "");
}

// A.2.2.28.1(1)-(3) A.2.2.1(4)
TEST_F(AnnexABind, an_address_of_size_0_is_invalid_and_shorter_ones_are_read_from_the_right) {
  config_b.dts.address = Address{0x42};
  restart();
  HexClient a = bind(alpha, 3, "14 00");
  const auto before = invalid(alpha);
  a.give("14 04 01020305 00 000000 0001 41");
  EXPECT_EQ(invalid(alpha), before + 1);
  HexClient b = bind(bravo, 4, "14 00");
  a.give("14 04 40000042 00 000000 0001 42");
  run(seconds(20));
  EXPECT_EQ(b.got(), compact("15 04 E0000042 13 E1020304 0001 42"));
}

// F.16
TEST_F(AnnexABind, sixteen_clients_are_bound_at_once_and_may_be_limited) {
  config_a.sap.bind.allow_management_sap = config_a.sap.bind.allow_reserved_saps = true;
  restart();
  for (unsigned sap = 0; sap < 16; ++sap) bind(alpha, sap, "14 00");
  EXPECT_EQ(alpha->node.status().clients.size(), 16u);
  config_a.clients_max = 5;
  restart();
  for (unsigned sap = 1; sap < 6; ++sap) bind(alpha, sap, "14 00");
  HexClient sixth = connect(alpha);
  sixth.give("01 65 14 00");
  EXPECT_EQ(sixth.got(), "0401");
}

// F.16 A.2.2.2(1)-(8)
TEST_F(AnnexABind, a_stream_may_be_cut_anywhere_and_a_bad_frame_costs_itself_only) {
  HexClient client = connect(alpha);
  Bytes stream = framed("01 35 14 00");
  append(stream, framed("11"));
  for (const std::uint8_t octet : stream) client.write(Bytes{octet});
  EXPECT_EQ(client.got(), compact("03 30 0800") + " 11");
  run(minutes(2));
  client.write(*from_hex("90EB01 0001 02 90EB00 0000 414290 90EB00 0001 11"));
  EXPECT_EQ(client.got(), "11");
  EXPECT_EQ(invalid(alpha), 3u);  // version, size, octets between frames
}

}  // namespace
}  // namespace s5066::test
