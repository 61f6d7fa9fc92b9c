// SPDX-License-Identifier: Apache-2.0
// These tests check Annex A from outside: hard links (A.1.1.2, A.2.1.18 to A.2.1.25, A.3.1.4 to
// A.3.1.8, A.3.2.2). S_PDUs of types 3 to 7 follow the C_PDU octet "00" in D_PDUs of type 4.
#include <optional>
#include <tuple>

#include "tests/unit/conformance/stations.h"

namespace s5066::test {
namespace {

using std::chrono::hours;

class AnnexAHardLink : public Stations {
 protected:
  /// Binds a client of rank 5 on SAP 3 of alpha and of bravo.
  void two_clients() {
    a.emplace(bind(alpha, 3, "10 00"));
    b.emplace(bind(bravo, 3, "10 00"));
  }
  HexClient bind_with_rank(Medium::Station* station, unsigned sap, unsigned rank) {
    HexClient client = connect(station);
    client.give("01 " + to_hex(Bytes{static_cast<std::uint8_t>(sap << 4 | rank)}) + " 10 00");
    EXPECT_EQ(client.got().substr(0, 2), "03");
    return client;
  }
  void establish_type_2() {
    two_clients();
    a->give("06 93 E1020305");
    run(seconds(30));
    EXPECT_EQ(b->got(), compact("0B 01 93 E1020304"));
    b->give("0C 93 E1020304");
    run(seconds(30));
    EXPECT_EQ(a->got(), compact("08 01 93 E1020305"));
    air();
  }
  void establish(std::string_view argument) {
    two_clients();
    a->give("06 " + std::string(argument) + " E1020305");
    run(seconds(30));
    EXPECT_EQ(a->got(), compact("08 01 " + std::string(argument) + " E1020305"));
    EXPECT_EQ(b->got(), "");
    air();
  }

  std::optional<HexClient> a, b;
};

// A.1.1.2(1) A.1.1.2.3(1) A.2.1.18(2),(3),(6)-(10) A.2.1.19(2),(4) A.2.1.20(1)-(9)
// A.2.1.22(1),(3)-(8) A.2.1.23(1)-(7) A.2.1.24(1)-(5) A.2.2.8(1) A.2.2.9(1) A.2.2.10(1)
// A.2.2.12(1) A.2.2.13(1) A.2.2.14(1) A.2.2.28.4(1),(2) A.3(1),(2) A.3.1(1)-(3) A.3.1.4(1)-(7)
// A.3.1.5(1)-(4) A.3.1.7(1)-(5) A.3.1.8(1)-(3) A.3.2.2(2) A.3.2.2.2(9)-(11),(14),(16),(23)-(25)
// A.3.2.2.3(1)-(3),(6) A.3.2.4(1) B.3(5)
TEST_F(AnnexAHardLink, a_type_2_link_lives_as_the_annex_draws_it) {
  config_a.sap.hard_links.probe_interval = config_b.sap.hard_links.probe_interval = {};
  restart();
  two_clients();
  a->give("06 93 E1020305");
  run(seconds(30));
  EXPECT_EQ(air(), "A8:11 B8:20 A4:003933");
  EXPECT_EQ(a->got(), "");
  EXPECT_EQ(b->got(), compact("0B 01 93 E1020304"));
  b->give("0C 93 E1020304");
  run(seconds(30));
  EXPECT_EQ(air(), "B4:0040");
  EXPECT_EQ(a->got(), compact("08 01 93 E1020305"));
  EXPECT_EQ(b->got(), "");
  a->give("14 03 E1020305 14 000000 0001 41");
  run(seconds(20));
  EXPECT_EQ(air(), "A0:0000330041");
  EXPECT_EQ(b->got(), compact("15 03 E1020305 13 E1020304 0001 41"));
  EXPECT_EQ(a->got(), compact("16 03 E1020305 0001 41"));
  run(hours(2));  // no idle time ends it
  EXPECT_EQ(air(), "");
  a->give("07 E1020305");
  run(minutes(1));
  EXPECT_EQ(air(), "A4:0061 B4:0070 A8:41 B8:50");
  EXPECT_EQ(a->got(), "");
  EXPECT_EQ(b->got(), compact("0A 01 93 E1020304"));
}

// A.2.1.18(6),(7) A.2.1.20(1)-(9) A.2.1.22(2) A.2.1.23(1) A.3.1.4(4)-(7) A.3.2.2.2(22)
TEST_F(AnnexAHardLink, types_0_and_1_ask_no_client_at_the_called_node) {
  for (const auto& [argument, request] :
       {std::pair{"13", "A4:003130"}, std::pair{"73", "A4:003730"}}) {
    restart();
    two_clients();
    a->give("06 " + std::string(argument) + " E1020305");
    run(minutes(1));
    EXPECT_EQ(air(), std::string("A8:11 B8:20 ") + request + " B4:0040");
    EXPECT_EQ(a->got(), compact("08 01 " + std::string(argument) + " E1020305"));
    a->give("07 E1020305");
    run(minutes(1));
    EXPECT_EQ(air(), "A4:0061 B4:0070 A8:41 B8:50");
    EXPECT_EQ(a->got() + b->got(), "");
  }
}

// A.2.1.21(1)-(6) A.2.2.11(1) A.3.1.6(1)-(6) A.3.2.2.2(13),(17),(18)
TEST_F(AnnexAHardLink, a_sap_that_nobody_bound_is_reason_4) {
  HexClient client = bind(alpha, 3, "10 00");
  client.give("06 94 E1020305");
  run(minutes(2));
  EXPECT_EQ(air(), "A8:11 B8:20 A4:003934 B4:0054 A8:41 B8:50");
  EXPECT_EQ(client.got(), compact("09 04 94 E1020305"));
}

// A.2.1.25(1)-(6) A.2.2.15(1) A.3.2.2.2(24)
TEST_F(AnnexAHardLink, a_client_may_say_no) {
  for (const auto& [reason, spdu, rejected] :
       {std::tuple{"01", "B4:0051", "0901"}, std::tuple{"02", "B4:0052", "0902"},
        std::tuple{"07", "B4:0051", "0901"}}) {
    restart();
    two_clients();
    a->give("06 93 E1020305");
    run(seconds(30));
    air();
    b->give("0D " + std::string(reason) + " 93 E1020304");
    run(minutes(2));
    EXPECT_EQ(air(), std::string(spdu) + " A8:41 B8:50");
    EXPECT_EQ(a->got(), rejected + compact("93 E1020305"));
  }
}

// A.3.2.2.2(12),(15),(23),(24) A.2.1.21(2)
TEST_F(AnnexAHardLink, a_client_that_does_not_answer_is_reason_3) {
  two_clients();
  a->give("06 93 E1020305");
  run(minutes(10));
  EXPECT_NE(air().find("B4:0053"), std::string::npos);
  EXPECT_EQ(a->got(), compact("09 03 93 E1020305"));
  EXPECT_EQ(b->got(), compact("0B 01 93 E1020304") + " " + compact("0A 03 93 E1020304"));
  const auto before = invalid(bravo);
  b->give("0C 93 E1020304");  // too late
  EXPECT_EQ(invalid(bravo), before + 1);
}

// A.3.2.2.2(9),(15) A.2.1.21(1),(2)
TEST_F(AnnexAHardLink, a_node_that_does_not_answer_is_reason_3) {
  two_clients();
  medium->silent = true;
  a->give("06 93 E1020305");
  run(minutes(30));
  EXPECT_EQ(a->got(), compact("09 03 93 E1020305"));
}

// A.2.1.18(2)-(7) A.2.2.28.1(3) A.2.2.28.4(1) A.2.1.19(2)
TEST_F(AnnexAHardLink, what_no_hard_link_can_be_is_refused) {
  HexClient client = bind(alpha, 3, "10 00");
  auto before = invalid(alpha);
  for (const char* argument : {"D3 E1020305", "13 F1020305", "13 E1020304"}) {
    client.give("06 " + std::string(argument));  // type 3; a group; our own address
    EXPECT_EQ(client.got(), compact("09 03 " + std::string(argument)));
    EXPECT_EQ(invalid(alpha), ++before);
  }
  client.give("07 E1020305");  // no such link exists
  client.give("0C 93 E1020305");
  client.give("0D 01 93 E1020305");
  EXPECT_EQ(invalid(alpha), before + 3);
  run(minutes(1));
  EXPECT_EQ(client.got() + air(), "");
}

// A.1.1.3(4)
TEST_F(AnnexAHardLink, a_broadcast_only_node_has_none) {
  config_a.sap.broadcast_only = true;
  restart();
  HexClient client = connect(alpha);
  client.give("01 35 20 00");
  client.got();
  client.give("06 13 E1020305");
  EXPECT_EQ(client.got(), compact("09 03 13 E1020305"));
}

// A.2.1.18(5) A.3.2.2(1),(3)-(5) A.3.2.2.1(1),(2) A.3.2.2.2(1)-(4),(8) A.2.1.22(1),(2),(4)-(8)
TEST_F(AnnexAHardLink, rank_decides_before_priority) {
  establish("33");  // type 0, priority 3, rank 5
  HexClient lower = bind_with_rank(alpha, 4, 4);
  lower.give("06 34 E1020306");
  EXPECT_EQ(lower.got(), compact("09 02 34 E1020306"));
  EXPECT_EQ(a->got(), "");
  HexClient higher = bind_with_rank(alpha, 5, 6);
  higher.give("06 05 E1020306");  // priority 0
  run(minutes(3));
  EXPECT_EQ(a->got(), compact("0A 02 33 E1020305"));
  EXPECT_EQ(higher.got(), compact("08 01 05 E1020306"));
  const std::string all = air();
  EXPECT_EQ(all.substr(0, 15), "A4:0062 B4:0070");
  EXPECT_NE(all.find("A4:003050 C4:0040"), std::string::npos) << all;
}

// A.2.1.18(4) A.3.2.2.1(3),(4) A.3.2.2.2(1)-(4)
TEST_F(AnnexAHardLink, priority_decides_at_equal_rank_and_the_existing_link_at_equal_priority) {
  establish("13");
  HexClient other = bind(alpha, 4, "10 00");
  for (const char* argument : {"04", "14", "94"}) {  // lower; equal; equal, of a larger type
    other.give("06 " + std::string(argument) + " E1020306");
    EXPECT_EQ(other.got(), compact("09 02 " + std::string(argument) + " E1020306"));
  }
  other.give("06 24 E1020306");
  run(minutes(3));
  EXPECT_EQ(a->got(), compact("0A 02 13 E1020305"));
  EXPECT_EQ(other.got(), compact("08 01 24 E1020306"));
}

// A.3.2.2.1(5),(6) A.3.2.2(6) A.3.2.2.2(5)-(7) A.2.1.21(2)
TEST_F(AnnexAHardLink, to_the_same_node_the_larger_type_wins_and_a_second_type_0_is_reason_5) {
  establish("13");
  HexClient other = bind(alpha, 4, "10 00");
  other.give("06 14 E1020305");
  EXPECT_EQ(other.got(), compact("09 05 14 E1020305"));
  run(minutes(1));
  EXPECT_EQ(a->got() + air(), "");
  other.give("06 54 E1020305");
  run(minutes(3));
  EXPECT_EQ(a->got(), compact("0A 02 13 E1020305") + " " + compact("0E 02 02"));  // A.2.1.26(1)
  EXPECT_EQ(other.got(), compact("08 01 54 E1020305"));
  a->give("06 53 E1020305");  // all values are equal
  EXPECT_EQ(a->got(), compact("09 02 53 E1020305"));
}

// A.3.2.2.2(19)-(21) A.3.2.2(1)
TEST_F(AnnexAHardLink, the_called_node_compares_with_what_it_has) {
  HexClient b4 = bind(bravo, 4, "10 00");
  b4.give("06 24 E1020306");  // bravo to charlie, priority 2, rank 5
  run(minutes(1));
  EXPECT_EQ(b4.got(), compact("08 01 24 E1020306"));
  air();
  HexClient a3 = bind(alpha, 3, "10 00");
  a3.give("06 13 E1020305");
  run(minutes(3));
  EXPECT_EQ(a3.got(), compact("09 02 13 E1020305"));  // a higher one exists
  EXPECT_NE(air().find("B4:0052"), std::string::npos);
  a3.give("06 23 E1020305");
  run(minutes(3));
  EXPECT_EQ(a3.got(), compact("09 01 23 E1020305"));  // an equal one: busy
  EXPECT_EQ(b4.got(), "");
  a3.give("06 33 E1020305");
  run(minutes(3));
  EXPECT_EQ(a3.got(), compact("08 01 33 E1020305"));
  EXPECT_EQ(b4.got(), compact("0A 02 24 E1020306"));
}

// A.3.2.2.2(19),(20)
TEST_F(AnnexAHardLink, for_type_2_the_called_client_brings_its_own_rank) {
  HexClient b4 = bind(bravo, 4, "10 00");
  b4.give("06 04 E1020306");  // bravo to charlie, priority 0, rank 5
  run(minutes(1));
  EXPECT_EQ(b4.got(), compact("08 01 04 E1020306"));
  HexClient low = bind_with_rank(bravo, 6, 4);
  HexClient high = bind_with_rank(bravo, 7, 6);
  HexClient a3 = bind(alpha, 3, "10 00");
  a3.give("06 B6 E1020305");  // priority 3, for the client of rank 4
  run(minutes(3));
  EXPECT_EQ(a3.got(), compact("09 02 B6 E1020305"));
  EXPECT_EQ(low.got(), "");
  a3.give("06 87 E1020305");  // priority 0, for the client of rank 6
  run(minutes(3));
  EXPECT_EQ(high.got().substr(0, 14), compact("0B 01 83 E1020304"));
}

// A.2.1.19(2) A.3.2.2.3(1)-(3) A.2.1.22(3)
TEST_F(AnnexAHardLink, only_the_owner_and_the_called_client_of_type_2_may_end_it) {
  establish_type_2();
  HexClient other = bind(alpha, 4, "10 00");
  HexClient another = bind(bravo, 4, "10 00");
  other.give("07 E1020305");
  another.give("07 E1020304");
  a->give("07 E1020306");  // not the node of the link
  run(minutes(1));
  EXPECT_EQ(air(), "");
  EXPECT_EQ(invalid(alpha), 2u);
  EXPECT_EQ(invalid(bravo), 1u);
  b->give("07 E1020304");
  run(minutes(2));
  EXPECT_EQ(air().substr(0, 15), "B4:0061 A4:0070");
  EXPECT_EQ(a->got(), compact("0A 01 93 E1020305"));
  EXPECT_EQ(b->got(), "");
  EXPECT_EQ(other.got(), compact("0E 01 00"));  // they may send again
  EXPECT_EQ(another.got(), compact("0E 01 00"));
}

// A.2.1.19(2) A.2.1.22(2)
TEST_F(AnnexAHardLink, nobody_at_the_called_node_may_end_a_type_1_link) {
  establish("53");
  b->give("07 E1020304");
  run(minutes(1));
  EXPECT_EQ(air(), "");
  EXPECT_EQ(invalid(bravo), 1u);
}

// A.2.1.22(1),(4) A.3.1.7(4)
TEST_F(AnnexAHardLink, a_client_that_leaves_ends_its_link) {
  establish_type_2();
  b->give("02");
  run(minutes(2));
  EXPECT_EQ(air().substr(0, 15), "B4:0064 A4:0070");
  EXPECT_EQ(a->got(), compact("0A 04 93 E1020305"));

  restart();
  establish_type_2();
  a->hang_up();
  run(minutes(2));
  EXPECT_EQ(air(), "A4:0061 B4:0070 A8:41 B8:50");
  EXPECT_EQ(b->got(), compact("0A 01 93 E1020304"));
}

// A.3.2.2.3(7),(8) A.2.1.22(4)
TEST_F(AnnexAHardLink, a_lost_physical_link_is_reason_5_for_both_clients) {
  establish_type_2();
  medium->silent = true;
  a->give("14 03 E1020305 10 000000 0001 41");
  b->give("14 03 E1020304 10 000000 0001 41");
  run(hours(1));
  EXPECT_EQ(a->got(), compact("0A 05 93 E1020305"));
  EXPECT_EQ(b->got(), compact("0A 05 93 E1020304"));
}

// A.3.2.2.2(12),(15)
TEST_F(AnnexAHardLink, the_caller_waits_for_an_answer_as_long_as_configured) {
  config_a.sap.hard_links.response_wait = seconds(50);
  config_b.sap.hard_links.client_wait = minutes(10);
  restart();
  two_clients();
  a->give("06 93 E1020305");
  while (b->got().empty()) run(milliseconds(100));
  run(seconds(45));
  EXPECT_EQ(a->got(), "");
  run(seconds(10));
  EXPECT_EQ(a->got(), compact("09 03 93 E1020305"));
}

// A.3.2.2.2(23)
TEST_F(AnnexAHardLink, the_called_node_waits_for_its_client_as_long_as_configured) {
  config_b.sap.hard_links.client_wait = seconds(20);
  restart();
  two_clients();
  a->give("06 93 E1020305");
  while (b->got().empty()) run(milliseconds(100));
  run(seconds(19));
  EXPECT_EQ(air(), "A8:11 B8:20 A4:003933");
  run(seconds(5));
  EXPECT_EQ(air().substr(0, 7), "B4:0053");
}

// A.3.2.2.3(4),(5) A.3.1.7(6)
TEST_F(AnnexAHardLink, a_termination_that_nobody_confirms_is_done_all_the_same) {
  config_a.sap.hard_links.terminate_wait = seconds(10);
  restart();
  establish_type_2();
  medium->silent = true;
  a->give("07 E1020305");
  run(seconds(9));
  EXPECT_EQ(a->got(), "");
  run(seconds(2));
  EXPECT_EQ(a->got(), compact("0A 03 93 E1020305"));
  run(minutes(10));
  medium->silent = false;
  a->give("06 93 E1020305");  // a new link can be made
  run(seconds(30));
  EXPECT_EQ(b->got().substr(0, 2), "0A");
}

// A.1.1.2.1(1)-(4) A.3.2.1.1(2)
TEST_F(AnnexAHardLink, type_0_is_for_all_clients_of_the_two_nodes) {
  establish("13");
  HexClient other = bind(alpha, 4, "14 00");
  other.give("14 03 E1020305 00 000000 0001 41");
  run(seconds(20));
  EXPECT_EQ(air(), "A0:0000430041");
  EXPECT_EQ(other.got(), compact("16 03 E1020305 0001 41"));
  b->got();
  b->give("14 04 E1020304 14 000000 0001 42");
  run(seconds(20));
  EXPECT_EQ(other.got(), compact("15 04 E1020304 13 E1020305 0001 42"));
}

// A.1.1.2.2(1)-(3)
TEST_F(AnnexAHardLink, type_1_is_for_its_owner_and_its_correspondents) {
  establish("53");
  HexClient other = bind(alpha, 4, "14 00");
  HexClient b4 = bind(bravo, 4, "14 00");
  other.give("14 03 E1020305 00 000000 0001 41");
  b4.give("14 04 E1020304 00 000000 0001 42");
  run(minutes(2));
  EXPECT_EQ(air(), "");
  a->give("14 04 E1020305 14 000000 0001 43");
  b4.give("14 03 E1020304 00 000000 0001 44");
  run(minutes(1));
  const std::string own = a->got();  // in either order, because either station may key first
  EXPECT_NE(own.find(compact("16 04 E1020305 0001 43")), std::string::npos) << own;
  EXPECT_NE(own.find(compact("15 03 E1020304 14 E1020305 0001 44")), std::string::npos) << own;
  a->give("07 E1020305");
  run(minutes(5));  // now the others send
  const std::string got = other.got();
  EXPECT_NE(got.find(compact("16 03 E1020305 0001 41")), std::string::npos) << got;
  EXPECT_NE(got.find(compact("15 04 E1020304 14 E1020305 0001 42")), std::string::npos) << got;
}

// A.1.1.2.3(2),(3)
TEST_F(AnnexAHardLink, type_2_is_for_the_two_clients_only) {
  establish_type_2();
  HexClient b4 = bind(bravo, 4, "14 00");
  a->give("14 04 E1020305 14 000000 0001 41");  // the owner to another client
  b4.give("14 03 E1020304 00 000000 0001 42");  // another client to the owner
  b->give("14 04 E1020304 14 000000 0001 43");  // the called client to another
  run(minutes(2));
  EXPECT_EQ(air(), "");
  b->give("14 03 E1020304 14 000000 0001 44");
  run(minutes(1));
  EXPECT_EQ(a->got(), compact("15 03 E1020304 13 E1020305 0001 44"));
}

// A.1.1.2.1(1),(2) B.3.2.1(19)
TEST_F(AnnexAHardLink, soft_links_end_for_it_and_wait_for_its_end) {
  HexClient soft = bind(alpha, 4, "14 00");
  HexClient c = bind(charlie, 4, "10 00");
  soft.give("14 04 E1020306 00 000000 0001 41");
  run(seconds(15));
  soft.got();
  c.got();
  air();
  establish("13");
  soft.give("14 04 E1020306 00 000000 0001 42");
  run(minutes(10));
  EXPECT_EQ(c.got(), "");
  a->give("07 E1020305");
  run(minutes(5));
  EXPECT_EQ(c.got(), compact("15 04 E1020306 14 E1020304 0001 42"));
  EXPECT_EQ(soft.got(), compact("16 04 E1020306 0001 42"));
}

}  // namespace
}  // namespace s5066::test
