// SPDX-License-Identifier: Apache-2.0
#include "gateways/chat/chat_options.h"

#include <gtest/gtest.h>

namespace s5066::chat {
namespace {

using std::chrono::seconds;

struct Read {
  std::optional<Options> options;
  Instead instead;
};

Read read(std::vector<std::string> words, bool terminal = false) {
  words.insert(words.begin(), "s5066-chat");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  Read read;
  read.options =
      read_command_line(static_cast<int>(argv.size()), argv.data(), terminal, read.instead);
  return read;
}

TEST(ChatOptions, each_limit_holds_at_its_edge) {
  using Words = std::vector<std::string>;
  const std::pair<Words, bool> cases[] = {
      {{"--repeats", "15"}, true},   {{"--repeats", "16"}, false},  {{"--priority", "15"}, true},
      {{"--priority", "16"}, false}, {{"--history", "10"}, true},   {{"--history", "9"}, false},
      {{"--history", "100"}, true},  {{"--history", "101"}, false}, {{"--rank", "16"}, false},
      {{"--ttl", "1296000"}, true},  {{"--ttl", "1296001"}, false}, {{"--cert", "x"}, false}};
  for (const auto& [more, good] : cases) {
    Words words = more;
    words.insert(words.end(), {"--to", "1.2.3.4"});
    const Read got = read(words);
    EXPECT_EQ(got.options.has_value(), good) << more[0] << ' ' << more[1];
    EXPECT_EQ(got.instead.problem.empty(), good);
  }
}

TEST(ChatOptions, without_a_destination_there_must_be_another_way_to_name_one) {
  EXPECT_FALSE(read({}).options);
  EXPECT_TRUE(read({"--stay"}).options);
  EXPECT_TRUE(read({"--commands"}).options);
  EXPECT_TRUE(read({}, /*terminal=*/true).options);
}

TEST(ChatOptions, a_terminal_has_commands_and_stays) {
  const Read at_terminal = read({"--to", "1.2.3.4"}, /*terminal=*/true);
  EXPECT_TRUE(at_terminal.options->stay && at_terminal.options->core.commands);
  const Read in_pipe = read({"--to", "1.2.3.4"});
  EXPECT_FALSE(in_pipe.options->stay || in_pipe.options->core.commands);
}

// F.7.3(1), F.7.3(2)
TEST(ChatOptions, the_bind_asks_for_the_service_of_the_destination) {
  EXPECT_EQ(read({"--to", "1.2.3.4"}).options->client.core.service.mode,
            sis::TransmissionMode::arq);
  EXPECT_EQ(read({"--to", "31.255.255.255"}).options->client.core.service.mode,
            sis::TransmissionMode::nonarq);
}

TEST(ChatOptions, the_program_stays_until_the_last_message_without_arq_has_expired) {
  const Options options = *read({"--to", "31.255.255.255"}).options;
  EXPECT_EQ(linger_of(options, 0), seconds(0));
  EXPECT_EQ(linger_of(options, 10), seconds(120));
  EXPECT_EQ(linger_of(*read({"--to", "31.255.255.255", "--linger", "7"}).options, 10), seconds(7));
  EXPECT_GT(linger_of(*read({"--to", "31.255.255.255", "--ttl", "0"}).options, 10'000),
            seconds(30));
}

TEST(ChatOptions, help_and_version_are_printed_instead) {
  EXPECT_NE(read({"--help"}).instead.help.find("--history"), std::string::npos);
  EXPECT_TRUE(read({"--version"}).instead.help.starts_with("s5066-chat "));
}

}  // namespace
}  // namespace s5066::chat
