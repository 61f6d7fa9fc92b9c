// SPDX-License-Identifier: Apache-2.0
// Tests s5066-chat between two stations on the cable.
#include <gtest/gtest.h>

#include "tests/live/pair.h"

namespace s5066::live {
namespace {

class LiveChat : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"alpha", "bravo"}) ASSERT_NO_FATAL_FAILURE(pair.start_node(name));
  }
  /// Runs a chat at a station with its input in a file. What it prints is in the log `name`.
  Process chat(const std::string& name, const std::string& station, const std::string& options,
               const std::string& input) const {
    pair.folder().write(name + ".in", input);
    const std::string line = "exec " S5066_CHAT " --port " +
                             std::to_string(pair.sis_port(station)) + " " + options + " < " + name +
                             ".in";
    return {{"/bin/sh", "-c", line}, pair.options(name)};
  }
  bool shows(const std::string& name, const std::string& text) const {
    return await([&] { return pair.log(name).find(text) != std::string::npos; });
  }
  std::size_t times(const std::string& name, const std::string& text) const {
    const std::string log = pair.log(name);
    std::size_t n = 0;
    for (std::size_t at = 0; (at = log.find(text, at)) != std::string::npos; ++at) ++n;
    return n;
  }

  Pair pair;
};

// F.7.3(1)
TEST_F(LiveChat, operators_talk_over_the_air) {
  Process listener = chat("bravo_chat", "bravo", "--stay", "");
  ASSERT_TRUE(shows("bravo_chat", "connected")) << pair.log("bravo_chat");
  Process sender = chat("alpha_chat", "alpha", "--to 1.2.0.2", "QSL?\nGrüße\n");
  EXPECT_EQ(sender.wait(), 0) << pair.log("alpha_chat");
  EXPECT_TRUE(shows("alpha_chat", "#2 delivered to 1.2.0.2"));
  EXPECT_TRUE(shows("bravo_chat", "1.2.0.1: QSL?\n")) << pair.log("bravo_chat");
  EXPECT_TRUE(shows("bravo_chat", "1.2.0.1: Gruesse\n")) << pair.log("bravo_chat");
  EXPECT_EQ(listener.stop(), 0);
}

// F.7.3(2)
TEST_F(LiveChat, a_message_to_all_is_heard_once) {
  Process listener = chat("bravo_chat", "bravo", "--stay --json", "");
  ASSERT_TRUE(shows("bravo_chat", "connected")) << pair.log("bravo_chat");
  Process sender =
      chat("alpha_chat", "alpha", "--to 31.255.255.255 --repeats 2 --linger 3600", "to all\n");
  ASSERT_TRUE(shows("bravo_chat", "\"from\": \"1.2.0.1\"")) << pair.log("bravo_chat");
  EXPECT_TRUE(shows("alpha_chat", "without ARQ no station confirms it"));
  EXPECT_EQ(sender.stop(), 1) << "it lingers until the node has sent all";
  Process later = chat("alpha_later", "alpha", "--to 1.2.0.2", "done\n");
  EXPECT_EQ(later.wait(), 0) << pair.log("alpha_later");
  ASSERT_TRUE(shows("bravo_chat", "\"text\": \"done\""));
  EXPECT_EQ(times("bravo_chat", "\"text\": \"to all\""), 1u) << pair.log("bravo_chat");
}

// F.7.4(3)
TEST_F(LiveChat, a_message_that_does_not_arrive_is_reported) {
  Process sender = chat("alpha_chat", "alpha", "--to 1.2.0.9 --ttl 120", "anybody there?\n");
  EXPECT_EQ(sender.wait(), 1);
  EXPECT_NE(pair.log("alpha_chat").find("#1 NOT delivered to 1.2.0.9: "), std::string::npos)
      << pair.log("alpha_chat");
}

}  // namespace
}  // namespace s5066::live
