// SPDX-License-Identifier: Apache-2.0
// The messages about an option or another word that a program does not have. The types are those of
// Boost.Program_options, which this layer does not include.
#pragma once

#include <string>
#include <vector>

#include "s5066d/base/log.h"
#include "s5066d/base/nearest.h"

namespace s5066::posix {

/// `problem` is boost::program_options::unknown_option, `known` the options_description.
template <typename UnknownOption, typename Known>
std::string unknown_option_text(const UnknownOption& problem, const Known& known) {
  std::vector<std::string> names;
  for (const auto& option : known.options()) names.push_back("--" + option->long_name());
  std::string given = problem.get_option_name();
  if (given.rfind("--", 0) != 0) given.insert(0, given.size() == 2 ? "" : "--");
  return "no such option: " + given + "; --help lists them" + did_you_mean(given, names);
}

/// Returns what is wrong with the first word that is no option, for a program that takes none; ""
/// if there is no such word. `parsed` is boost::program_options::parsed_options of a parser without
/// positional options, which keeps such words aside.
template <typename Parsed>
std::string stray_word_text(const Parsed& parsed) {
  for (const auto& option : parsed.options) {
    if (option.position_key < 0 || option.value.empty()) continue;
    return "no such argument: " + escaped(option.value.front()) + "; --help lists the options";
  }
  return "";
}

}  // namespace s5066::posix
