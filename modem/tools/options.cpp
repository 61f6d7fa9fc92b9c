#include "modem/tools/options.h"

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

}  // namespace s5066::modem::tools
