// SPDX-License-Identifier: Apache-2.0
// These tests run `hfmodem key` on stand-ins for the devices that key a transmitter.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "tests/support/rigctld_stand_in.h"

namespace s5066::modem {
namespace {

struct Ended {
  int exit_code = -1;
  std::string text;  // both outputs together
};

Ended key(const std::string& arguments) {
  Ended ended;
  std::FILE* const output =
      ::popen((std::string(HFMODEM) + " key " + arguments + " 2>&1").c_str(), "r");
  std::array<char, 256> part;
  while (std::fgets(part.data(), static_cast<int>(part.size()), output)) ended.text += part.data();
  ended.exit_code = WEXITSTATUS(::pclose(output));
  return ended;
}

TEST(HfmodemKey, keys_unkeys_and_prints_the_setting) {
  const test::RigctldStandIn rig;
  const std::string port = std::to_string(rig.port());
  const Ended ended = key("--seconds 0.01 --data-input --rigctld-port " + port);
  EXPECT_EQ(ended.exit_code, 0) << ended.text;
  EXPECT_EQ(rig.heard(), "T 0\nt\nT 3\nT 0\nt\nt\n");
  EXPECT_NE(ended.text.find("rigctld { port: " + port + " data_input: true }"), std::string::npos);
}

TEST(HfmodemKey, says_whether_it_is_known_that_the_transmitter_is_unkeyed) {
  test::RigctldStandIn rig;
  const std::string arguments = "--seconds 0.01 --rigctld-port " + std::to_string(rig.port());
  Ended ended = key(arguments);
  EXPECT_EQ(ended.exit_code, 0) << ended.text;
  EXPECT_NE(ended.text.find("cannot be confirmed"), std::string::npos) << ended.text;
  rig.tell_key();
  rig.ignore_unkeying(2);  // the first comes before keying
  ended = key(arguments);
  EXPECT_EQ(ended.exit_code, 0) << ended.text;
  EXPECT_NE(ended.text.find("unkeyed, confirmed: the radio reports it"), std::string::npos)
      << ended.text;
  EXPECT_TRUE(rig.done().ends_with("t\nT 0\nt\nt\n")) << rig.done();
}

TEST(HfmodemKey, does_not_key_what_it_cannot_unkey) {
  const test::RigctldStandIn rig("RPRT -5\n");
  const Ended ended = key("--rigctld-port " + std::to_string(rig.port()));
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_NE(ended.text.find("not keyed"), std::string::npos) << ended.text;
  EXPECT_EQ(rig.heard().find("T 1"), std::string::npos);
}

TEST(HfmodemKey, asks_a_rigctld_that_is_late_with_its_first_answer_once_more) {
  test::RigctldStandIn rig;
  rig.tell_nothing(true);
  std::atomic<bool> over{false};
  std::thread late([&] {
    while (!over && rig.heard().find("t\n") == std::string::npos) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    rig.tell_nothing(false);
  });
  const Ended ended = key("--seconds 0.01 --rigctld-port " + std::to_string(rig.port()));
  over = true;
  late.join();
  EXPECT_EQ(ended.exit_code, 0) << ended.text;
  EXPECT_NE(rig.heard().find("T 1"), std::string::npos) << rig.heard();
}

TEST(HfmodemKey, wants_one_way_and_sensible_figures) {
  for (const char* arguments :
       {"", "--cm108 /dev/null --serial-rts /dev/null", "--rigctld-port 65536",
        "--cm108 /dev/null --pin 9", "--cm108 /dev/null --pin 0", "--cm108 /dev/null --seconds 11",
        "--cm108 /dev/null --seconds nan"}) {
    EXPECT_EQ(key(arguments).exit_code, 2) << arguments;
  }
}

}  // namespace
}  // namespace s5066::modem
