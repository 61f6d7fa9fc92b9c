#include "modem/tools/options.h"

#include <array>
#include <cstdio>
#include <iostream>

#include "modem/tools/subcommands.h"

namespace s5066::modem::tools {

namespace po = boost::program_options;

ParsedOptions parse_options(const std::string& subcommand, po::options_description description,
                            const std::vector<std::string>& arguments) {
  description.add_options()("help,h", "list the options");
  ParsedOptions parsed;
  try {
    const po::positional_options_description none;
    po::store(po::command_line_parser(arguments).options(description).positional(none).run(),
              parsed.values);
    if (parsed.values.count("help") > 0) {
      std::cout << "usage: hfmodem " << subcommand << " [OPTIONS]\n" << description;
      parsed.exit_code = kExitOk;
      return parsed;
    }
    po::notify(parsed.values);
  } catch (const po::error& error) {
    std::fprintf(stderr, "hfmodem %s: %s\n", subcommand.c_str(), error.what());
    parsed.exit_code = kExitUsage;
  }
  return parsed;
}

Result<void> check_within(const std::string& option, double value, double low, double high) {
  if (value >= low && value <= high) return {};
  std::array<char, 64> range{};
  std::snprintf(range.data(), range.size(), " is %.10g to %.10g", low, high);
  return Error{ErrorCode::bad_field, option + range.data()};
}

Result<std::vector<Mode>> modes_of(const std::vector<std::string>& names) {
  std::vector<Mode> modes;
  for (const std::string& name : names) {
    const auto mode = parse_mode(name);
    if (!mode) return Error{ErrorCode::bad_field, "--mode " + name + ": one of " + mode_names()};
    modes.push_back(*mode);
  }
  return modes;
}

int usage_error(const std::string& subcommand, const Error& error) {
  std::fprintf(stderr, "hfmodem %s: %s\n", subcommand.c_str(), error.detail.c_str());
  return kExitUsage;
}

int failure(const std::string& subcommand, const Error& error) {
  std::fprintf(stderr, "hfmodem %s: %s\n", subcommand.c_str(), error.detail.c_str());
  return kExitFailed;
}

}  // namespace s5066::modem::tools
