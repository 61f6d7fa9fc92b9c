// SPDX-License-Identifier: Apache-2.0
#include "config/setup/dialogue.h"

#include <charconv>
#include <cstdio>
#include <istream>
#include <ostream>

namespace s5066::config {
namespace {

std::string number_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

std::optional<double> number_of(const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

std::string trimmed(const std::string& line) {
  const auto first = line.find_first_not_of(" \t\r");
  if (first == std::string::npos) return {};
  return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

}  // namespace

void Dialogue::say(const std::string& line) {
  out_ << line << "\n" << std::flush;
}

std::string Dialogue::ask(const std::string& question, const std::string& otherwise,
                          const Check& check) {
  for (unsigned wrong = 0; wrong < kWrongMax; ++wrong) {
    out_ << question << (otherwise.empty() ? "" : " [" + otherwise + "]") << ": " << std::flush;
    std::string line;
    if (!std::getline(in_, line)) throw InputEnded{};
    std::string answer = trimmed(line);
    if (answer.empty()) answer = otherwise;
    auto problem = answer.size() > kAnswerOctetsMax
                       ? std::optional<std::string>("this answer is too long")
                       : check(answer);
    if (!problem) return answer;
    say("  " + *problem);
  }
  throw InputEnded{};
}

bool Dialogue::ask_yes_no(const std::string& question, bool otherwise) {
  const auto check = [](const std::string& answer) -> std::optional<std::string> {
    if (answer == "y" || answer == "n" || answer == "yes" || answer == "no") return std::nullopt;
    return "answer y or n";
  };
  return ask(question + " (y/n)", otherwise ? "y" : "n", check).front() == 'y';
}

double Dialogue::ask_number(const std::string& question, double otherwise, double min, double max) {
  const auto check = [&](const std::string& answer) -> std::optional<std::string> {
    const auto number = number_of(answer);
    if (number && *number >= min && *number <= max) return std::nullopt;
    return "answer a number from " + number_text(min) + " to " + number_text(max);
  };
  return *number_of(ask(question, number_text(otherwise), check));
}

std::size_t Dialogue::choose(const std::string& question, const std::vector<std::string>& lines,
                             std::size_t otherwise) {
  say("");
  for (std::size_t i = 0; i < lines.size(); ++i) {
    say("  " + std::to_string(i + 1) + "  " + lines[i]);
  }
  const auto check = [&](const std::string& answer) -> std::optional<std::string> {
    const auto number = number_of(answer);
    const bool whole = number && *number == static_cast<double>(static_cast<long>(*number));
    if (whole && *number >= 1 && *number <= static_cast<double>(lines.size())) return std::nullopt;
    return "answer the number of a line, 1 to " + std::to_string(lines.size());
  };
  const double number = *number_of(ask(question, std::to_string(otherwise + 1), check));
  return static_cast<std::size_t>(number) - 1;
}

}  // namespace s5066::config
