// SPDX-License-Identifier: Apache-2.0
// These tests check Annex A from outside: data between clients (A.2.1.6 to A.2.1.9, A.3.1.1 to
// A.3.1.3, A.3.2.4).
#include "s5066d/pdu/scanner.h"
#include "tests/unit/conformance/stations.h"

namespace s5066::test {
namespace {

class AnnexAData : public Stations {};

// A.2.1.6(3),(4),(13),(14) A.2.1.7(1)-(7) A.2.1.9(1)-(8) A.2.2.20(1)-(3) A.2.2.21(1)-(3)
// A.2.2.22(1)-(3) A.3(1) A.3(2) A.3.1.1(1)-(14) A.3.1.2(1)-(8) A.3.2.4(1),(7)-(9),(16),(17)
// A.3.2.4(20),(21),(23),(25),(26)
TEST_F(AnnexAData, a_u_pdu_with_client_confirmation_takes_the_sequence_of_the_annex) {
  HexClient a = bind(alpha, 3, "18 00");
  HexClient b = bind(bravo, 3, "10 00");
  a.give("14 53 E1020305 00 00003C 0005 48454C4C4F");
  run(seconds(20));
  EXPECT_EQ(b.got(), compact("15 53 E1020305 13 E1020304 0005 48454C4C4F"));
  EXPECT_EQ(a.got(), compact("16 03 E1020305 0005 48454C4C4F"));
  // The air carries REQUEST, ACCEPTED, DATA without a date and DATA DELIVERY CONFIRM. The idle link
  // then gets BREAK and CONFIRM.
  EXPECT_EQ(air(), "A8:10 B8:20 A0:0005338048454C4C4F B2:00103348454C4C4F");
  run(minutes(3));
  EXPECT_EQ(air(), "A8:44 B8:50");
  EXPECT_EQ(a.got() + b.got(), "");
}

// A.2.1.6(11),(12) A.3.1.1(15)-(18)
TEST_F(AnnexAData, the_time_to_die_travels_from_acceptance_on) {
  HexClient a = bind(alpha, 3, "18 00");
  HexClient b = bind(bravo, 3, "10 00");
  for (Medium::Station* station : {alpha, bravo}) {
    station->node.on_utc(medium->now(), UtcSeconds{1772409540});  // 2026-03-01 23:59:00
  }
  medium->silent = true;                               // the U_PDU waits for its link
  a.give("14 53 E1020305 00 00003C 0005 48454C4C4F");  // two minutes, over midnight
  run(seconds(10));
  EXPECT_EQ(air(), "A8:10");
  medium->silent = false;
  run(minutes(1));
  // The S_PDU holds the day modulo 16 and 60 s of that day in units of 2 s. The wait for the link
  // does not make the time later.
  EXPECT_NE(air().find("A0:000533CD001E48454C4C4F"), std::string::npos);
  EXPECT_EQ(b.got(), compact("15 53 E1020305 13 E1020304 0005 48454C4C4F"));
}

// A.3.1.1(17),(18) A.3.2.4(21)
TEST_F(AnnexAData, what_arrives_after_its_time_to_die_is_discarded) {
  HexClient a = bind(alpha, 3, "10 00");
  HexClient b = bind(bravo, 3, "10 00");
  alpha->node.on_utc(medium->now(), UtcSeconds{1772409540});
  bravo->node.on_utc(medium->now(), UtcSeconds{1772409540 + 40});
  a.give("14 53 E1020305 00 000E10 0001 40");
  run(seconds(60));
  b.got();
  a.give("14 53 E1020305 00 00000F 0001 41");  // 30 s to live, and bravo's clock is 40 s ahead
  run(seconds(20));
  EXPECT_EQ(b.got(), "");
  a.give("14 53 E1020305 00 000E10 0001 42");  // two hours to live
  run(seconds(20));
  EXPECT_EQ(b.got(), compact("15 53 E1020305 13 E1020304 0001 42"));
}

// A.2.1.6(2),(5),(6)
TEST_F(AnnexAData, the_larger_priority_goes_first) {
  HexClient a = bind(alpha, 3, "10 00");
  HexClient b = bind(bravo, 4, "10 00");
  for (const char* priority : {"0", "9", "F", "1"}) {
    a.give("14 " + std::string(priority) + "4 E1020305 00 000000 0001 41");
  }
  run(minutes(1));
  const std::string tail = compact("E1020305 13 E1020304 0001 41");
  EXPECT_EQ(b.got(), "15F4" + tail + " 1594" + tail + " 1514" + tail + " 1504" + tail);
}

// A.2.1.6(3),(4) A.2.1.9(1)-(3)
TEST_F(AnnexAData, only_the_named_node_and_sap_get_it) {
  HexClient a = bind(alpha, 3, "10 00");
  HexClient b3 = bind(bravo, 3, "10 00");
  HexClient b4 = bind(bravo, 4, "10 00");
  HexClient c = bind(charlie, 4, "10 00");
  a.give("14 04 E1020305 00 000000 0001 41");
  a.give("14 04 E1020306 00 000000 0001 42");
  run(minutes(3));
  EXPECT_EQ(b3.got(), "");
  EXPECT_EQ(b4.got(), compact("15 04 E1020305 13 E1020304 0001 41"));
  EXPECT_EQ(c.got(), compact("15 04 E1020306 13 E1020304 0001 42"));
}

// A.2.1.6(5) A.2.2.3(4) A.2.2.28.2(1)-(5),(7),(8) A.2.1.1(7),(8) A.2.2.3(12),(13)
TEST_F(AnnexAData, default_means_the_service_type_of_the_bind_and_other_modes_override_it) {
  HexClient a = bind(alpha, 3, "20 20");  // non-ARQ, two retransmissions
  HexClient b = bind(bravo, 4, "10 00");
  a.give("14 04 E1020305 0E F00000 0001 41");  // confirmation, order and R of DEFAULT are ignored
  run(seconds(30));
  EXPECT_EQ(air(), "A7:0000340041 A7:0000340041 A7:0000340041");
  EXPECT_EQ(b.got(), compact("15 04 E1020305 23 E1020304 0001 41"));
  a.give("14 04 E1020305 20 000000 0001 42");  // R is 0 here: all attributes are overridden
  run(seconds(30));
  EXPECT_EQ(air(), "A7:0000340042");
  b.got();
  a.give("14 04 E1020305 14 300000 0001 43");  // ARQ: R does not count
  run(seconds(20));
  EXPECT_EQ(air(), "A8:10 B8:20 A0:0000340043");
  EXPECT_EQ(b.got(), compact("15 04 E1020305 13 E1020304 0001 43"));
  EXPECT_EQ(a.got(), compact("16 04 E1020305 0001 43"));
}

// A.2.1.7(2) A.3.2.4(12),(13)
TEST_F(AnnexAData, nobody_is_told_who_did_not_ask) {
  HexClient a = bind(alpha, 3, "10 00");
  a.give("14 04 E1020305 00 000000 0001 41");
  run(minutes(3));
  EXPECT_EQ(air(), "A8:10 B8:20 A0:0000340041 A8:44 B8:50");
  medium->silent = true;
  a.give("14 04 E1020305 00 00001E 0001 42");
  run(minutes(5));
  EXPECT_EQ(a.got(), "");
}

// A.2.1.6(6),(7) A.2.1.8(1),(2),(4)-(10) A.3.2.4(14),(15)
TEST_F(AnnexAData, what_is_not_delivered_in_its_time_to_live_is_rejected_with_reason_1) {
  medium->silent = true;
  HexClient a = bind(alpha, 3, "14 00");
  a.give("14 53 E1020305 00 00001E 0005 48454C4C4F");  // 60 s to live
  run(seconds(59));
  EXPECT_EQ(a.got(), "");
  run(seconds(1));
  EXPECT_EQ(a.got(), compact("17 13 E1020305 0005 48454C4C4F"));
  medium->silent = false;
  air();
  run(minutes(30));
  EXPECT_EQ(air().find("48454C4C4F"), std::string::npos);  // the node has discarded it
}

// A.2.1.6(8)-(11)
TEST_F(AnnexAData, a_time_to_live_of_zero_is_the_configured_maximum) {
  config_a.sap.default_time_to_live = seconds(50);
  restart();
  medium->silent = true;
  HexClient a = bind(alpha, 3, "14 00");
  a.give("14 53 E1020305 00 000000 0001 41");
  run(seconds(49));
  EXPECT_EQ(a.got(), "");
  run(seconds(1));
  EXPECT_EQ(a.got(), compact("17 13 E1020305 0001 41"));
}

// A.2.1.8(1),(2),(4),(5) A.3.2.4(14),(15)
TEST_F(AnnexAData, a_node_that_does_not_answer_is_reason_3) {
  medium->silent = true;
  HexClient a = bind(alpha, 3, "14 00");
  a.give("14 53 E1020305 00 000000 0001 41");
  run(minutes(30));
  EXPECT_EQ(a.got(), compact("17 33 E1020305 0001 41"));
}

// A.2.1.8(4),(5) A.3.1.3(1)-(8) A.3.2.4(18),(19),(22),(27) A.2.2.23(1)-(3)
TEST_F(AnnexAData, a_sap_that_nobody_bound_is_reason_2_where_a_client_was_to_confirm) {
  HexClient a = bind(alpha, 3, "18 00");
  a.give("14 53 E1020305 00 000000 0005 48454C4C4F");
  run(seconds(30));
  EXPECT_EQ(air(), "A8:10 B8:20 A0:0005338048454C4C4F B2:00213348454C4C4F");
  EXPECT_EQ(a.got(), compact("17 23 E1020305 0005 48454C4C4F"));
  // The called node takes a U_PDU that the node has to confirm.
  a.give("14 53 E1020305 14 000000 0001 41");
  run(seconds(20));
  EXPECT_EQ(a.got(), compact("16 03 E1020305 0001 41"));
}

// A.2.1.3(4),(5),(7) A.2.1.8(3) A.3.2.4(2)-(6)
TEST_F(AnnexAData, one_octet_above_the_mtu_is_always_rejected_and_never_sent) {
  HexClient a = bind(alpha, 3, "10 00");
  const auto request = [](std::size_t octets) {
    return "14 53 E1020305 00 000000 " +
           to_hex(
               Bytes{static_cast<std::uint8_t>(octets >> 8), static_cast<std::uint8_t>(octets)}) +
           to_hex(Bytes(octets, 0x41));
  };
  a.give(request(2049));
  const std::string rejected = a.got();
  EXPECT_EQ(rejected.substr(0, 12), "1743E1020305");
  EXPECT_EQ(rejected.substr(12, 4), "0800");  // number of octets that come back
  run(seconds(30));
  EXPECT_EQ(air(), "");
  a.give(request(2048));
  run(seconds(30));
  EXPECT_EQ(a.got(), "");
  EXPECT_NE(air(), "");
}

// A.2.1.8(4),(5)
TEST_F(AnnexAData, a_mode_that_is_not_defined_is_reason_5) {
  HexClient a = bind(alpha, 3, "14 00");
  a.give("14 53 E1020305 40 000000 0001 41");
  EXPECT_EQ(a.got(), compact("17 53 E1020305 0001 41"));
}

// A.2.1.7(9),(10) A.2.1.8(9),(10)
TEST_F(AnnexAData, the_part_that_comes_back_starts_with_octet_0_and_ends_where_configured) {
  config_a.sap.response_octets_local = 3;
  restart();
  HexClient a = bind(alpha, 3, "14 00");
  a.give("14 53 E1020305 00 000000 0005 48454C4C4F");
  run(seconds(20));
  EXPECT_EQ(a.got(), compact("16 03 E1020305 0003 48454C"));
  a.give("14 53 E1020305 40 000000 0002 4845");
  EXPECT_EQ(a.got(), compact("17 53 E1020305 0002 4845"));
}

// A.2.1.9(4) A.2.2.28.1(2) A.2.1.8(2)
TEST_F(AnnexAData, a_group_is_reached_without_arq_and_shown_as_the_destination) {
  config_b.sap.groups = config_b.dts.groups = {Address{9, true}};
  restart();
  HexClient a = bind(alpha, 3, "20 00");
  HexClient b = bind(bravo, 4, "10 00");
  HexClient c = bind(charlie, 4, "10 00");
  a.give("14 04 F0000009 00 000000 0001 41");
  a.give("14 04 FFFFFFFF 00 000000 0001 42");
  run(seconds(30));
  EXPECT_EQ(b.got(), compact("15 04 F0000009 23 E1020304 0001 41 ") + " " +
                         compact("15 04 FFFFFFFF 23 E1020304 0001 42"));
  EXPECT_EQ(c.got(), compact("15 04 FFFFFFFF 23 E1020304 0001 42"));
  air();
  const auto before = invalid(alpha);
  a.give("14 04 F0000009 14 000000 0001 43");
  EXPECT_EQ(a.got(), compact("17 34 F0000009 0001 43"));
  EXPECT_EQ(invalid(alpha), before + 1);
  run(seconds(30));
  EXPECT_EQ(air(), "");
}

// A.2.2.3(9) A.3.1.1(13),(14) A.3.2.4(25)
TEST_F(AnnexAData, without_arq_nothing_is_confirmed) {
  HexClient a = bind(alpha, 3, "20 00");
  HexClient b = bind(bravo, 4, "10 00");
  a.give("14 04 E1020305 28 000000 0001 41");
  run(minutes(1));
  EXPECT_EQ(air(), "A7:0000340041");  // C is 0 on the air, too
  EXPECT_EQ(b.got(), compact("15 04 E1020305 23 E1020304 0001 41"));
  EXPECT_EQ(a.got(), "");
}

// A.2.2.28.2(6) A.2.2.3(11)
TEST_F(AnnexAData, an_extended_field_or_an_undefined_confirmation_is_invalid) {
  HexClient a = bind(alpha, 3, "14 00");
  a.give("14 04 E1020305 11 000000 0001 41");
  a.give("14 04 E1020305 1C 000000 0001 41");
  EXPECT_EQ(invalid(alpha), 2u);
  run(seconds(30));
  EXPECT_EQ(a.got() + air(), "");
}

// A.2.1.6(13),(14) A.2.2.20(1)-(3)
TEST_F(AnnexAData,
       a_size_that_disagrees_with_the_frame_is_invalid_and_the_next_primitive_is_served) {
  HexClient a = bind(alpha, 3, "14 00");
  a.give("14 04 E1020305 10 000000 0002 41");
  a.give("14 04 E1020305 10 000000 0000 41");
  a.give("14 04 E1020305 10 000000 00");
  EXPECT_EQ(invalid(alpha), 3u);
  a.give("14 04 E1020305 14 000000 0000");  // an empty U_PDU is valid
  run(seconds(30));
  EXPECT_EQ(a.got(), compact("16 04 E1020305 0000"));
}

// A.3.2.4(28),(29)
TEST_F(AnnexAData, many_u_pdus_are_on_their_way_at_once) {
  HexClient a = bind(alpha, 3, "18 00");
  HexClient b = bind(bravo, 4, "10 00");
  std::string confirmed;
  for (const char* octet : {"41", "42", "43", "44", "45"}) {
    a.give("14 04 E1020305 00 000000 0001 " + std::string(octet));
    confirmed += (confirmed.empty() ? "" : " ") + compact("16 04 E1020305 0001") + octet;
  }
  while (heard.size() < 7) run(milliseconds(100));
  EXPECT_EQ(a.got(), "");
  EXPECT_EQ(air(),
            "A8:10 B8:20 A0:0000348041 A0:0000348042 A0:0000348043 A0:0000348044 "
            "A0:0000348045");
  run(minutes(1));
  EXPECT_EQ(a.got(), confirmed);
  EXPECT_EQ(b.got().size(), 5u * 2 * 14 + 4);
}

// A.2.2.3(10) A.2.2.28.2(1)
TEST_F(AnnexAData, in_order_or_as_they_arrive_goes_down_to_the_frames) {
  HexClient a = bind(alpha, 3, "10 00");
  std::vector<bool> in_order;
  medium->on_burst = [&](std::size_t from, const Bytes& octets) {
    Counters counters;
    pdu::Scanner scanner(counters);
    scanner.push(octets);
    scanner.finish();
    while (const auto frame = scanner.poll()) {
      const auto* data = std::get_if<pdu::Data>(&frame->dpdu);
      if (from == 0 && data != nullptr) in_order.push_back(data->flags.in_order);
    }
  };
  a.give("14 04 E1020305 10 000000 0001 41");
  run(seconds(20));
  a.give("14 04 E1020305 12 000000 0001 42");
  run(seconds(20));
  EXPECT_EQ(in_order, (std::vector<bool>{true, false}));
}

}  // namespace
}  // namespace s5066::test
