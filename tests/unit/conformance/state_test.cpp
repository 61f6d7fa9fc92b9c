// SPDX-License-Identifier: Apache-2.0
// These tests check Annex A from outside: management, broadcast sessions and availability (A.1.1.3,
// A.2.1.15, A.2.1.16, A.2.1.26, A.3.2.3).
#include "tests/unit/conformance/stations.h"

namespace s5066::test {
namespace {

class AnnexAState : public Stations {
 protected:
  AnnexAState() {
    config_a.sap.bind.allow_rank_15 = true;
    restart();
  }
  HexClient manager() {
    HexClient client = connect(alpha);
    client.give("01 1F 20 00");
    EXPECT_EQ(client.got(), compact("03 10 0800"));
    return client;
  }
  static std::string text(std::string_view words) {
    return to_hex(Bytes(words.begin(), words.end()));
  }
};

// A.2.1.15(1)-(3) A.2.1.16(1),(2)
TEST_F(AnnexAState, a_client_of_rank_15_is_answered_and_one_of_rank_14_is_not) {
  HexClient chief = manager();
  chief.give("12 01");
  EXPECT_EQ(chief.got().substr(0, 4), "1301");
  chief.give("12 77 00FF");  // no such message: answered too, and not counted as invalid
  EXPECT_EQ(chief.got().substr(0, 4), "13FF");
  EXPECT_EQ(invalid(alpha), 0u);
  HexClient other = connect(alpha);
  other.give("01 2E 14 00");
  other.got();
  other.give("12 01");
  EXPECT_EQ(other.got(), "");
  EXPECT_EQ(invalid(alpha), 1u);
  run(minutes(1));
  EXPECT_EQ(air(), "");
}

// A.1.1.3(1),(2) A.3.2.3(1)-(3) A.2.1.4(1)-(4) A.2.1.5(1)-(3) A.2.1.26(1) A.2.2.16(1)
TEST_F(AnnexAState, a_broadcast_session_is_begun_and_ended_by_management) {
  HexClient chief = manager();
  HexClient arq = bind(alpha, 3, "14 00");
  HexClient plain = bind(alpha, 4, "20 00");
  HexClient b = bind(bravo, 4, "10 00");
  chief.give("12 07 " + text("on=1"));
  EXPECT_EQ(arq.got().substr(0, 4), "0505");
  EXPECT_FALSE(arq.closed());
  EXPECT_EQ(plain.got().substr(0, 4), "0E05");  // it only transmits
  arq.give("01 35 14 00");
  EXPECT_EQ(arq.got().substr(0, 4), "0404");
  plain.give("14 04 E1020305 00 000000 0001 41");
  run(seconds(30));
  EXPECT_EQ(air(), "A7:0000440041");  // no handshake
  EXPECT_EQ(b.got(), compact("15 04 E1020305 24 E1020304 0001 41"));
  chief.give("12 07 " + text("on=0"));
  EXPECT_EQ(plain.got().substr(0, 2), "0E");
  arq.got();
  arq.give("01 35 14 00");
  EXPECT_EQ(arq.got().substr(0, 8), compact("03 30 0800"));
  EXPECT_EQ(air(), "");
}

}  // namespace
}  // namespace s5066::test
