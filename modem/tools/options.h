// Command lines of the subcommands, read with Boost.Program_options in one way for all of them.
#pragma once

#include <boost/program_options.hpp>
#include <optional>
#include <string>
#include <vector>

namespace s5066::modem::tools {

/// The values, or the exit code to leave with: help was asked for and printed, or the command line
/// is wrong and that was said.
struct ParsedOptions {
  boost::program_options::variables_map values;
  std::optional<int> exit_code;
};

ParsedOptions parse_options(const std::string& subcommand,
                            boost::program_options::options_description description,
                            const std::vector<std::string>& arguments);

}  // namespace s5066::modem::tools
