// Command lines of the subcommands, read with Boost.Program_options in one way for all of them.
#pragma once

#include <boost/program_options.hpp>
#include <optional>
#include <string>
#include <vector>

#include "modem/api/modes.h"
#include "modem/waveforms/burst_symbols.h"
#include "s5066d/base/result.h"

namespace s5066::modem::tools {

/// The values, or the exit code to leave with: help was asked for and printed, or the command line
/// is wrong and that was said.
struct ParsedOptions {
  boost::program_options::variables_map values;
  std::optional<int> exit_code;
};

/// Arguments without a name in front count as that option, if there is one.
struct PlainArguments {
  std::string option;
  int count_max = 0;  // -1: any number
  std::string words;  // for the line of usage: "FILE..."
};
ParsedOptions parse_options(const std::string& subcommand,
                            boost::program_options::options_description description,
                            const std::vector<std::string>& arguments,
                            const PlainArguments& plain = {});

/// Says the option and its range; what is not a number is out of it.
Result<void> check_within(const std::string& option, double value, double low, double high);

/// Returns the modes that --mode names, given as often as wanted: a mode, the beginning of some
/// ("4285", "110a-2400") or a pattern of the shell ("4539-*-vl").
Result<std::vector<Mode>> modes_of(const std::vector<std::string>& names);
/// The same where one receiver is to listen for all of them.
Result<std::vector<Mode>> modes_of_one_receiver(const std::vector<std::string>& names);

/// Adds --constraint-length-7. The choice has to outlast the parsing.
void describe(Ms110dChoice& choice, boost::program_options::options_description& description);

/// "hfmodem SUBCOMMAND: DETAIL" on standard error; returns the exit code.
int usage_error(const std::string& subcommand, const Error& error);
int failure(const std::string& subcommand, const Error& error);

}  // namespace s5066::modem::tools
