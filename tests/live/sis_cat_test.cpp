// SPDX-License-Identifier: Apache-2.0
// Tests sis_cat against a running server: data without confirmation is sent within the linger time,
// and sis_cat ends when that time is over (A.2.1.2).
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/live/hand_client.h"
#include "tests/live/pair.h"

namespace s5066::live {
namespace {

using namespace sis;

constexpr SapId kSap{6};

class LiveSisCat : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"alpha", "bravo"}) {
      pair.configure_node(name, "subnet_access { bind { allow_rank_15: true } }");
      ASSERT_NO_FATAL_FAILURE(pair.start_node(name));
    }
    manager.emplace(pair.sis_port("alpha"));
    manager->bind(SapId{3}, 15);
    listener.emplace(pair.sis_port("bravo"));
    listener->bind(kSap, 3, TransmissionMode::nonarq);
  }

  /// Silences the transmitter, so that data accepted meanwhile has to wait.
  void silence(bool on) {
    const std::string text = on ? "on=1" : "on=0";
    manager->ask<ManagementIndication>(ManagementRequest{8, Bytes(text.begin(), text.end())});
  }
  Process sis_cat(const std::string& input, const std::string& linger_s) const {
    pair.folder().write("input", input);
    const std::string line = "exec " S5066_SIS_CAT " --to 31.255.255.255 --sap 6 --port " +
                             std::to_string(pair.sis_port("alpha")) + " --linger " + linger_s +
                             " < input";
    return {{"/bin/sh", "-c", line}, pair.options("sis_cat")};
  }
  std::string next_heard() {
    const Bytes updu = listener->next<UnidataIndication>().updu;
    return {updu.begin(), updu.end()};
  }
  bool waits_at_the_server() const {
    const std::string status = pair.ask("alpha", "status");
    return json_value(status, "queued_updus", status.find("\"sap\": 6")) == "1";
  }

  Pair pair;
  std::optional<HandClient> manager;
  std::optional<HandClient> listener;
};

TEST_F(LiveSisCat, what_waits_at_the_server_leaves_while_it_lingers) {
  silence(true);
  Process cat = sis_cat("patience", "3600");
  ASSERT_TRUE(await([&] { return waits_at_the_server(); })) << pair.ask("alpha", "status");
  silence(false);
  EXPECT_EQ(next_heard(), "patience");
  EXPECT_TRUE(cat.running());
  EXPECT_EQ(cat.stop(), 1);
  EXPECT_NE(pair.log("sis_cat").find(
                "stopped before the node may have sent all U_PDUs, so some may be lost"),
            std::string::npos);
}

TEST_F(LiveSisCat, leaves_with_0_after_the_linger_and_what_has_not_left_by_then_never_does) {
  silence(true);
  EXPECT_EQ(sis_cat("too late", "1").wait(), 0) << pair.log("sis_cat");
  silence(false);
  Process cat = sis_cat("in time", "3600");
  EXPECT_EQ(next_heard(), "in time");
}

}  // namespace
}  // namespace s5066::live
