// SPDX-License-Identifier: Apache-2.0
// The examples for other applications do what they say.
#include "tests/support/program_test.h"

namespace s5066::sis {
namespace {

constexpr Address kOther{0x01020305};

class Examples : public test::ProgramTest {};

TEST_F(Examples, the_echo_client_sends_every_updu_back) {
  on_primitive = [this, usual = on_primitive](const Primitive& primitive) {
    usual(primitive);
    if (std::holds_alternative<BindRequest>(primitive)) {
      say(UnidataIndication{.priority = 3,
                            .destination_sap = {15},
                            .source_sap = {7},
                            .source = kOther,
                            .updu = {'h', 'i'}});
    }
    if (std::holds_alternative<UnidataRequest>(primitive)) {
      say(UnbindIndication{UnbindReason::preempted});
    }
  };
  const Outcome outcome = run(ECHO_CLIENT, {"127.0.0.1", port(), "--once"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].updu, (Bytes{'h', 'i'}));
  EXPECT_EQ(received[0].priority, 3u);
  EXPECT_EQ(received[0].destination, kOther);
  EXPECT_EQ(received[0].destination_sap, SapId{7});
}

TEST_F(Examples, the_hard_link_session_sends_its_lines_over_the_link_and_ends_it) {
  on_primitive = [this, usual = on_primitive](const Primitive& primitive) {
    if (const auto* p = std::get_if<HardLinkEstablish>(&primitive)) {
      EXPECT_TRUE(received.empty());
      say(HardLinkEstablished{1, p->link});
    }
    usual(primitive);
  };
  const Outcome outcome =
      run(HARD_LINK_SESSION, {"127.0.0.1", port(), "6", "1.2.3.5", "7"}, "one\ntwo\n");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  ASSERT_EQ(received.size(), 2u);
  EXPECT_EQ(received[1].updu, (Bytes{'t', 'w', 'o'}));
  ASSERT_EQ(seen.size(), 6u);  // bind, link, two lines, end of the link, unbind
  EXPECT_EQ(seen[4], Primitive{HardLinkTerminate{kOther}});
}

TEST_F(Examples, the_hard_link_session_fails_when_the_link_is_terminated) {
  on_primitive = [this](const Primitive& primitive) {
    if (std::holds_alternative<BindRequest>(primitive)) say(BindAccepted{.sap = {6}});
    if (const auto* p = std::get_if<HardLinkEstablish>(&primitive)) {
      say(HardLinkEstablished{1, p->link});
      say(HardLinkTerminated{HardLinkEndReason::physical_link_broken, p->link});
    }
  };
  EXPECT_EQ(run(HARD_LINK_SESSION, {"127.0.0.1", port(), "6", "1.2.3.5", "7"}, "one\n").exit_code,
            1);
}

TEST_F(Examples, the_expedited_sender_counts_what_was_not_confirmed) {
  on_primitive = [this, usual = on_primitive](const Primitive& primitive) {
    usual(primitive);
    const auto* p = std::get_if<ExpeditedUnidataRequest>(&primitive);
    if (p == nullptr) return;
    EXPECT_EQ(p->time_to_live, 150u);
    if (p->updu.size() == 3) {
      say(ExpeditedUnidataRequestConfirm{p->destination_sap, p->destination, p->updu});
    } else {
      say(ExpeditedUnidataRequestRejected{RejectReason::destination_sap_not_bound,
                                          p->destination_sap, p->destination, p->updu});
    }
  };
  const Outcome outcome =
      run(EXPEDITED_SENDER, {"127.0.0.1", port(), "6", "1.2.3.5", "one", "two", "three"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_NE(outcome.out.find("two: confirmed\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("three: rejected: destination SAP not bound\n"), std::string::npos);
}

TEST_F(Examples, the_c_client_sends_a_text_and_waits_for_its_confirmation) {
  const Outcome outcome = run(C_CLIENT, {"127.0.0.1", port(), "6", "1.2.3.5", "hello"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].updu, (Bytes{'h', 'e', 'l', 'l', 'o'}));
  EXPECT_EQ(received[0].destination, kOther);
  EXPECT_EQ(outcome.out, "bound mtu=100\nconfirmed request=1\n");
}

TEST_F(Examples, the_c_client_gives_up_when_no_server_answers) {
  const Outcome outcome = run(C_CLIENT, {"127.0.0.1", "1", "6", "1.2.3.5", "hello"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.out.find("lost"), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace s5066::sis
