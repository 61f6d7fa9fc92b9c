// SPDX-License-Identifier: Apache-2.0
// Goal:   every command that README and docs show exists, with the options shown.
// Method: the test calls the programs with --help, or with a request that no daemon answers.
#include "tests/live/docs/shown_commands.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace s5066::live {
namespace {

namespace fs = std::filesystem;

std::string path_of(const std::string& program) {
  static const std::map<std::string, std::string> paths = {
      {"s5066d", S5066_S5066D},     {"sis_cat", S5066_SIS_CAT},
      {"s5066-relay", S5066_RELAY}, {"s5066-acp142", S5066_ACP142},
      {"s5066-ip", S5066_IP},       {"hfmodem", S5066_HFMODEM},
      {"s5066-chat", S5066_CHAT},   {"s5066-traffic", S5066_TRAFFIC},
      {"s5066-setup", S5066_SETUP}, {"s5066", S5066_FRONT},
  };
  const auto known = paths.find(program);
  return known == paths.end() ? std::string(S5066_SOURCE_DIR) + "/" + program : known->second;
}

Answer ask_program(const std::vector<std::string>& words) {
  static std::map<std::vector<std::string>, Answer> known;
  if (const auto found = known.find(words); found != known.end()) return found->second;
  std::string command = path_of(words.front());
  for (std::size_t i = 1; i < words.size(); ++i) command += " '" + words[i] + "'";
  Answer answer;
  FILE* const out = ::popen((command + " 2>&1 </dev/null").c_str(), "r");
  if (out == nullptr) return answer;
  std::array<char, 4096> piece;
  for (std::size_t n = 0; (n = std::fread(piece.data(), 1, piece.size(), out)) > 0;) {
    answer.text.append(piece.data(), n);
  }
  const int ended = ::pclose(out);
  if (WIFEXITED(ended)) answer.status = WEXITSTATUS(ended);
  return known.emplace(words, answer).first->second;
}

/// Answers like a program with the options --file and --listen.
Answer ask_made_up(const std::vector<std::string>& words) {
  if (words.back() != "--help") return {words.back() == "status" ? 1 : 2, "unknown"};
  return {0, "s5066-relay send --file FILE\n  -l [ --listen ]  tone\n"};
}

std::string wrong(const std::string& page) {
  std::string all;
  const ShownCommands shown = commands_of(page);
  for (const std::string& problem : shown.problems) all += problem + "\n";
  for (const ShownCommand& command : shown.commands) {
    const std::string problem = wrong_with(command, ask_made_up);
    if (!problem.empty()) all += problem + "\n";
  }
  return all;
}

std::string block(const std::string& line, const std::string& mark = "sh") {
  return "```" + mark + "\n" + line + "\n```\n";
}

TEST(ShownCommands, may_have_the_options_of_their_program) {
  EXPECT_EQ(wrong(block("sudo -u s5066 s5066-relay send --file=x  # --no")), "");
  EXPECT_EQ(wrong(block("cat x | sis_cat -l --listen -")), "");
  EXPECT_EQ(wrong("Say `s5066-relay send --file FILE`.\n"), "");
}

TEST(ShownCommands, must_have_no_others) {
  EXPECT_EQ(wrong(block("s5066-relay send \\\n  --fil x")), "s5066-relay has no option --fil\n");
  EXPECT_EQ(wrong(block("true; sis_cat -x")), "sis_cat has no option -x\n");
  EXPECT_EQ(wrong("Say `s5066-relay send --fil FILE`.\n"), "s5066-relay has no option --fil\n");
  EXPECT_EQ(wrong(block("s5066-relay sent --file x")), "s5066-relay has no command sent\n");
  EXPECT_EQ(wrong(block("hfmodem tune")), "hfmodem has no subcommand tune\n");
}

TEST(ShownCommands, of_the_command_s5066_are_those_of_the_program_behind_it) {
  EXPECT_EQ(wrong(block("sudo s5066 -S shore file send --file x")), "");
  EXPECT_EQ(wrong(block("s5066 file sent")), "s5066-relay has no command sent\n");
  EXPECT_EQ(wrong(block("s5066 cat --fil x")), "sis_cat has no option --fil\n");
  EXPECT_EQ(wrong("Say `s5066 fiel send`.\n"), "s5066 has no subcommand fiel\n");
}

TEST(ShownCommands, ask_a_daemon_for_what_it_knows) {
  const auto asked = [](const std::string& request) {
    const Ask ask = [](const std::vector<std::string>& words) {
      return words.back() == "--help" ? Answer{0, "--control SOCKET"} : ask_made_up(words);
    };
    const auto shown = commands_of(block("s5066d --control /run/x " + request));
    return shown.commands.size() == 1 ? wrong_with(shown.commands.front(), ask) : "not one";
  };
  EXPECT_EQ(asked("status"), "");
  EXPECT_EQ(asked("statuz"), "s5066d does not know the request: unknown");
}

TEST(ShownCommands, stand_in_blocks_with_a_mark) {
  EXPECT_EQ(wrong(block("s5066-relay sent", "sh not-run")), "");
  EXPECT_EQ(wrong(block("key: value", "")), "");
  EXPECT_NE(wrong(block("s5066-relay send", "")), "");
}

TEST(ShownCommands, of_all_pages_exist) {
  const fs::path root(S5066_SOURCE_DIR);
  std::vector<fs::path> pages = {root / "README.md"};
  for (const auto& entry : fs::recursive_directory_iterator(root / "docs")) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  }
  std::size_t seen = 0;
  for (const fs::path& page : pages) {
    std::ostringstream text;
    text << std::ifstream(page).rdbuf();
    const ShownCommands shown = commands_of(text.str());
    const std::string name = fs::relative(page, root).string();
    for (const std::string& problem : shown.problems) ADD_FAILURE() << name << ":" << problem;
    for (const ShownCommand& command : shown.commands) {
      const std::string problem = wrong_with(command, ask_program);
      if (!problem.empty()) ADD_FAILURE() << name << ":" << command.line << ": " << problem;
    }
    seen += shown.commands.size();
  }
  EXPECT_GT(seen, 40u);
}

}  // namespace
}  // namespace s5066::live
