// SPDX-License-Identifier: Apache-2.0
// Tests processes that die in the middle of a transfer, and a receiver that cannot store its data.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "config/proto/control.pb.h"
#include "s5066d/control/json.h"
#include "tests/live/hand_client.h"
#include "tests/live/pair.h"

namespace s5066::live {
namespace {

namespace fs = std::filesystem;

class LiveRestart : public testing::Test {
 protected:
  void SetUp() override { pair_.folder().write("noise.bin", file_); }

  void send_and_wait_for_the_middle() {
    send_.emplace(pair_.send("noise.bin"));
    ASSERT_TRUE(await([&] { return pair_.acknowledged_octets("alpha") >= 4096; }))
        << pair_.log("alpha");
    ASSERT_FALSE(fs::exists(pair_.folder() / "bravo-inbox/noise.bin")) << "it was over too soon";
  }

  void expect_delivered_once() {
    EXPECT_TRUE(await([&] { return pair_.list_shows("alpha", "delivered"); }))
        << pair_.relay("alpha", {"list"}).output << pair_.log("alpha-relay");
    EXPECT_EQ(pair_.received("noise.bin") == file_, true);
    std::size_t files = 0;
    for (const auto& entry : fs::directory_iterator(pair_.folder() / "bravo-inbox")) {
      files += entry.is_regular_file() && entry.path().filename().string().front() != '.';
    }
    EXPECT_EQ(files, 1u);
  }

  const std::string file_ = noise(60'000, 4);
  Pair pair_;
  std::optional<Process> send_;
};

TEST_F(LiveRestart, a_transfer_survives_the_death_of_the_sending_relay) {
  ASSERT_NO_FATAL_FAILURE(pair_.start_all());
  ASSERT_NO_FATAL_FAILURE(send_and_wait_for_the_middle());
  pair_.kill("alpha-relay");
  ASSERT_NO_FATAL_FAILURE(pair_.start_relay("alpha"));
  expect_delivered_once();
}

TEST_F(LiveRestart, a_transfer_survives_the_death_of_the_receiving_relay) {
  ASSERT_NO_FATAL_FAILURE(pair_.start_all());
  ASSERT_NO_FATAL_FAILURE(send_and_wait_for_the_middle());
  pair_.kill("bravo-relay");
  ASSERT_NO_FATAL_FAILURE(pair_.start_relay("bravo"));
  expect_delivered_once();
}

TEST_F(LiveRestart, a_transfer_survives_the_death_of_the_sending_server) {
  ASSERT_NO_FATAL_FAILURE(pair_.start_all());
  ASSERT_NO_FATAL_FAILURE(send_and_wait_for_the_middle());
  pair_.kill("alpha");
  ASSERT_NO_FATAL_FAILURE(pair_.start_node("alpha"));
  expect_delivered_once();
}

TEST_F(LiveRestart, a_transfer_survives_the_death_of_the_receiving_server) {
  ASSERT_NO_FATAL_FAILURE(pair_.start_all());
  ASSERT_NO_FATAL_FAILURE(send_and_wait_for_the_middle());
  pair_.kill("bravo");
  ASSERT_NO_FATAL_FAILURE(pair_.start_node("bravo"));
  expect_delivered_once();
}

TEST_F(LiveRestart, an_inbox_without_write_permission_is_reported_and_loses_nothing) {
  const std::string inbox = pair_.folder() / "bravo-inbox";
  ASSERT_NO_FATAL_FAILURE(pair_.start_node("alpha"));
  ASSERT_NO_FATAL_FAILURE(pair_.start_node("bravo"));
  ASSERT_NO_FATAL_FAILURE(pair_.start_relay("alpha"));
  ASSERT_NO_FATAL_FAILURE(pair_.start_relay("bravo", true));
  ASSERT_EQ(::chmod(inbox.c_str(), 0555), 0);
  send_.emplace(pair_.send("noise.bin"));
  EXPECT_TRUE(await([&] {
    return pair_.log("bravo-relay").find("ermission denied") != std::string::npos;
  })) << pair_.log("bravo-relay");
  EXPECT_FALSE(fs::exists(inbox + "/noise.bin"));
  EXPECT_FALSE(pair_.list_shows("alpha", "delivered"));

  ASSERT_EQ(::chmod(inbox.c_str(), 0777), 0);
  expect_delivered_once();
}

// Goal:   a restarted server measures a time to die like the others, although the cable's clock is
//         ahead of the time of day.
// Method: the cable runs for four minutes of its clock, which take seconds; then the restarted
//         server sends a U_PDU with a time to live of 30 s.
TEST(LiveClock, a_server_that_starts_anew_has_the_time_of_day_of_the_cable) {
  Pair pair;
  for (const char* name : {"alpha", "bravo"}) ASSERT_NO_FATAL_FAILURE(pair.start_node(name));
  ASSERT_TRUE(await([&] {
    proto::Status status;
    return control::read_answer(pair.ask("bravo", "status"), status).ok() && status.up_s() > 240;
  }));
  pair.kill("alpha");
  ASSERT_NO_FATAL_FAILURE(pair.start_node("alpha"));
  HandClient alpha(pair.sis_port("alpha"));
  HandClient bravo(pair.sis_port("bravo"));
  for (HandClient* client : {&alpha, &bravo}) client->bind(SapId{6});
  alpha.send(sis::UnidataRequest{.destination_sap = SapId{6},
                                 .destination = Address{0x01020002U},
                                 .time_to_live = 30,
                                 .updu = {2}});
  EXPECT_EQ(bravo.next<sis::UnidataIndication>().updu, Bytes{2});
}

}  // namespace
}  // namespace s5066::live
