// SPDX-License-Identifier: Apache-2.0
// Reads the command line of a client program, which has options and no other words.
#pragma once

#include <boost/program_options/options_description.hpp>
#include <boost/program_options/variables_map.hpp>
#include <functional>
#include <string>

namespace s5066::sis_tools {

/// Output instead of running: help to print, or an error.
struct Instead {
  std::string help;
  std::string problem;
};

/// Adds --help and --version.
void add_common_options(boost::program_options::options_description& all);

/// Calls `read` with the options; it may throw Wrong. Returns true if all options are good.
/// Otherwise, and for --help and --version, sets `instead` and returns false.
bool read_command_line(
    int argc, char** argv, const char* program,
    const boost::program_options::options_description& all, Instead& instead,
    const std::function<void(const boost::program_options::variables_map&)>& read);

}  // namespace s5066::sis_tools
