// SPDX-License-Identifier: Apache-2.0
// The command lines of the subcommands are read with Boost.Program_options in one way for all of
// them.
#pragma once

#include <boost/program_options.hpp>
#include <optional>
#include <string>
#include <vector>

#include "modem/api/modes.h"
#include "modem/waveforms/burst_symbols.h"
#include "s5066d/base/result.h"

namespace s5066::modem::tools {

/// The values, or the exit code with which to end: help was requested and printed, or the command
/// line is wrong and that was reported.
struct ParsedOptions {
  boost::program_options::variables_map values;
  std::optional<int> exit_code;
};

/// Arguments without a name before them count as this option, if there is one.
struct PlainArguments {
  std::string option;
  int count_max = 0;  // -1 means any number
  std::string words;  // for the usage line: "FILE..."
};
ParsedOptions parse_options(const std::string& subcommand,
                            boost::program_options::options_description description,
                            const std::vector<std::string>& arguments,
                            const PlainArguments& plain = {});

/// An error names the option and its range; NaN is out of the range.
Result<void> check_within(const std::string& option, double value, double low, double high);

/// Returns the modes that the values of --mode name: each is a mode, the beginning of some ("4285",
/// "110a-2400") or a shell pattern ("4539-*-vl").
Result<std::vector<Mode>> modes_of(const std::vector<std::string>& names);
/// Does the same and checks that one receiver can listen for all of them.
Result<std::vector<Mode>> modes_of_one_receiver(const std::vector<std::string>& names);

/// Adds --constraint-length-7. `choice` must exist until the options are parsed.
void describe(Ms110dChoice& choice, boost::program_options::options_description& description);

/// Prints "hfmodem SUBCOMMAND: DETAIL" on standard error and returns the exit code.
int usage_error(const std::string& subcommand, const Error& error);
int failure(const std::string& subcommand, const Error& error);

}  // namespace s5066::modem::tools
