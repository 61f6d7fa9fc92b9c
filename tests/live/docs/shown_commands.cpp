// SPDX-License-Identifier: Apache-2.0
#include "tests/live/docs/shown_commands.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <sstream>

namespace s5066::live {
namespace {

constexpr std::array<std::string_view, 10> kPrograms = {
    "s5066-chat",    "s5066d",      "s5066-relay", "s5066-acp142", "s5066-ip",
    "s5066-traffic", "s5066-setup", "hfmodem",     "sis_cat",      "s5066"};
constexpr std::string_view kBackToBack = "config/back-to-back/run";
constexpr int kUsage = 2;

bool is_program(std::string_view word) {
  if (word.ends_with(kBackToBack)) return true;
  return std::find(kPrograms.begin(), kPrograms.end(), word) != kPrograms.end();
}

/// Returns the words of a shell line, cut into its commands at | ; && and brackets; a comment ends
/// it.
std::vector<std::vector<std::string>> split(std::string_view line) {
  std::vector<std::vector<std::string>> commands(1);
  std::string word;
  bool begun = false;
  const auto end_word = [&] {
    if (begun) commands.back().push_back(word);
    word.clear();
    begun = false;
  };
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (c == '\'' || c == '"') {
      const std::size_t close = std::min(line.find(c, at + 1), line.size());
      word.append(line.substr(at + 1, close - at - 1));
      begun = true;
      at = close;
    } else if (c == '#' && !begun) {
      break;
    } else if (c == '|' || c == ';' || c == '&' || c == '(' || c == ')') {
      end_word();
      commands.emplace_back();
    } else if (c == ' ' || c == '\t') {
      end_word();
    } else {
      word.push_back(c);
      begun = true;
    }
  }
  end_word();
  return commands;
}

/// Returns what the command s5066 makes of its words: those of the program behind it, or the words
/// themselves if there is none.
std::vector<std::string> behind_front(std::vector<std::string> words) {
  static const std::map<std::string_view, std::vector<std::string>> behind = {
      {"station", {"s5066d", "--control", "SOCKET"}},
      {"file", {"s5066-relay"}},
      {"mail", {"s5066-acp142"}},
      {"ip", {"s5066-ip"}},
      {"setup", {"s5066-setup"}},
      {"check", {"s5066d", "check"}},
      {"modem", {"hfmodem"}},
      {"chat", {"s5066-chat"}},
      {"cat", {"sis_cat"}},
  };
  if (words.size() > 2 && words[1] == "-S") words.erase(words.begin() + 1, words.begin() + 3);
  const auto found = words.size() > 1 ? behind.find(words[1]) : behind.end();
  if (found == behind.end()) return words;
  std::vector<std::string> whole = found->second;
  whole.insert(whole.end(), words.begin() + 2, words.end());
  return whole;
}

/// Returns the command without `sudo`, its options, and folders; empty if it is not one of our
/// programs.
std::vector<std::string> ours(std::vector<std::string> words) {
  if (!words.empty() && words.front() == "sudo") {
    words.erase(words.begin());
    if (words.size() > 1 && words.front() == "-u") words.erase(words.begin(), words.begin() + 2);
  }
  if (words.empty()) return {};
  std::string& program = words.front();
  if (!program.ends_with(kBackToBack) && program.find('/') != std::string::npos) {
    program = program.substr(program.rfind('/') + 1);
  }
  if (!is_program(program)) return {};
  if (program == "s5066") return behind_front(std::move(words));
  return words;
}

void take_line(const std::string& line, std::size_t number, bool in_block,
               std::vector<ShownCommand>& commands) {
  for (auto& words : split(line)) {
    auto command = ours(std::move(words));
    if (!command.empty()) commands.push_back({number, in_block, std::move(command)});
  }
}

/// Collects the commands between backticks that are more than the name of a program.
void take_spans(const std::string& line, std::size_t number, std::vector<ShownCommand>& commands) {
  for (std::size_t begin = 0; (begin = line.find('`', begin)) != std::string::npos;) {
    const std::size_t end = line.find('`', begin + 1);
    if (end == std::string::npos) return;
    const std::string span = line.substr(begin + 1, end - begin - 1);
    if (span.find(' ') != std::string::npos) take_line(span, number, false, commands);
    begin = end + 1;
  }
}

bool has_word(std::string_view text, std::string_view word) {
  const auto is_of_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
  };
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string_view::npos; ++at) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !is_of_word(text[at - 1]);
    if (begins && (end == text.size() || !is_of_word(text[end]))) return true;
  }
  return false;
}

bool is_option(std::string_view word) {
  return word.size() > 1 && word[0] == '-' &&
         std::isdigit(static_cast<unsigned char>(word[1])) == 0;
}

std::string option_of(std::string_view word) {
  return std::string(word.substr(0, word.find('=')));
}

std::string unknown_option(const ShownCommand& command, std::string_view help) {
  for (const std::string& word : command.words) {
    if (is_option(word) && !has_word(help, option_of(word))) {
      return command.words.front() + " has no option " + option_of(word);
    }
  }
  return {};
}

/// Checks the request to a daemon, which stands behind --control SOCKET.
std::string unknown_request(const ShownCommand& command, const Ask& ask) {
  const auto& words = command.words;
  const auto control = std::find(words.begin(), words.end(), "--control");
  if (!command.in_block || control == words.end() || words.end() - control < 3) return {};
  std::vector<std::string> question = {"s5066d", "--control", "/nonexistent/socket"};
  question.insert(question.end(), control + 2, words.end());
  const Answer answer = ask(question);
  return answer.status == kUsage ? "s5066d does not know the request: " + answer.text : "";
}

}  // namespace

ShownCommands commands_of(std::string_view page) {
  ShownCommands shown;
  std::istringstream lines{std::string(page)};
  bool fenced = false;
  std::string mark;
  std::string joined;
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    if (line.starts_with("```")) {
      fenced = !fenced;
      mark = fenced ? line.substr(3) : "";
    } else if (!fenced) {
      take_spans(line, number, shown.commands);
    } else if (mark == "sh" && line.ends_with('\\')) {
      joined += line.substr(0, line.size() - 1) + " ";
    } else if (mark == "sh") {
      take_line(joined + line, number, true, shown.commands);
      joined.clear();
    } else if (mark.empty() && is_program(line.substr(0, line.find(' ')))) {
      shown.problems.push_back(std::to_string(number) +
                               ": mark the block as sh, or as `sh not-run`: " + line);
    }
  }
  return shown;
}

std::string wrong_with(const ShownCommand& command, const Ask& ask) {
  const std::string& program = command.words.front();
  const std::string second = command.words.size() > 1 ? command.words[1] : "";
  const bool has_subcommand = !second.empty() && !is_option(second);
  if (program == "s5066" && has_subcommand) return "s5066 has no subcommand " + second;
  const Answer general = ask({program, "--help"});
  if (general.text.empty()) return program + " has no help";
  if (program == "hfmodem" && has_subcommand) {
    if (second == "SUBCOMMAND") return {};
    if (!has_word(general.text, second)) return "hfmodem has no subcommand " + second;
    return unknown_option(command, ask({program, second, "--help"}).text);
  }
  const bool gateway =
      program == "s5066-relay" || program == "s5066-acp142" || program == "s5066-ip";
  if (gateway && has_subcommand && general.text.find(program + " " + second) == std::string::npos) {
    return program + " has no command " + second;
  }
  if (const auto wrong = unknown_option(command, general.text); !wrong.empty()) return wrong;
  return program == "s5066d" ? unknown_request(command, ask) : "";
}

}  // namespace s5066::live
