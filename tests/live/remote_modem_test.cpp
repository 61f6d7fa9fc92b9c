// SPDX-License-Identifier: Apache-2.0
// Tests two stations whose modems belong to other processes, over TCP, in real time.
#include <gtest/gtest.h>

#include "tests/live/pair.h"

namespace s5066::live {
namespace {

// The modem of the receiving station is killed during the transfer and started again.
TEST(LiveRemoteModem, a_file_crosses_though_a_modem_is_killed_on_the_way) {
  const std::string file = noise(1'500, 4);
  Pair pair({}, "real");
  for (const char* name : {"alpha", "bravo"}) ASSERT_NO_FATAL_FAILURE(pair.lend_modem(name));
  ASSERT_NO_FATAL_FAILURE(pair.start_all());
  pair.folder().write("noise.bin", file);

  Process send = pair.send("noise.bin");
  ASSERT_TRUE(await([&] { return pair.counter("bravo", "dpdus_received") > 0; }))
      << pair.ask("bravo", "counters") << pair.log("alpha") << pair.log("bravo");
  pair.kill("bravo-modem");
  ASSERT_TRUE(await([&] { return pair.log("bravo").find("device_lost") != std::string::npos; }));
  ASSERT_NO_FATAL_FAILURE(pair.lend_modem("bravo"));
  ASSERT_TRUE(await([&] { return pair.log("bravo").find("device_back") != std::string::npos; }));

  ASSERT_EQ(send.wait(), 0) << pair.log("send") << pair.log("alpha") << pair.log("bravo");
  EXPECT_EQ(pair.received("noise.bin"), file);
  for (const char* name : {"alpha", "bravo"}) {
    EXPECT_EQ(pair.process(name).stop(), 0) << pair.log(name);
    EXPECT_EQ(pair.process(std::string(name) + "-modem").stop(), 0);
  }
}

TEST(LiveRemoteModem, the_host_answers_who_has_the_modem_and_what_it_counts) {
  Pair pair({}, "real");
  ASSERT_NO_FATAL_FAILURE(pair.lend_modem("alpha", {"--control", "alpha-modem.control"}));
  const auto user = [&] { return json_value(pair.ask("alpha-modem", "status"), "user"); };
  EXPECT_EQ(user(), "");
  ASSERT_NO_FATAL_FAILURE(pair.start_node("alpha"));
  EXPECT_TRUE(await([&] { return user() == "127.0.0.1"; })) << pair.ask("alpha-modem", "status");
  EXPECT_TRUE(await([&] { return pair.counter("alpha-modem", "modem_blocks") > 0; }))
      << pair.ask("alpha-modem", "counters");
  EXPECT_NE(pair.ask("alpha-modem", "events event=modem_user_connected").find("127.0.0.1"),
            std::string::npos);
  EXPECT_EQ(pair.process("alpha").stop(), 0) << pair.log("alpha");
  EXPECT_TRUE(await([&] { return user().empty(); })) << pair.ask("alpha-modem", "status");
  EXPECT_EQ(pair.process("alpha-modem").stop(), 0);
  EXPECT_EQ(pair.ask("alpha-modem", "status"), "");
}

}  // namespace
}  // namespace s5066::live
