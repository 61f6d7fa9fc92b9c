// SPDX-License-Identifier: Apache-2.0
#include "sis/tools/command_line.h"

#include <boost/program_options.hpp>
#include <sstream>

#include "s5066d/base/version.h"
#include "s5066d/posix/unknown_option.h"
#include "sis/tools/connection_options.h"

namespace s5066::sis_tools {

namespace po = boost::program_options;

void add_common_options(po::options_description& all) {
  all.add_options()("help,h", "print this")("version", "print the version");
}

bool read_command_line(int argc, char** argv, const char* program,
                       const po::options_description& all, Instead& instead,
                       const std::function<void(const po::variables_map&)>& read) {
  try {
    po::variables_map given;
    const auto parsed = po::command_line_parser(argc, argv).options(all).run();
    po::store(parsed, given);
    if (given.count("help")) {
      std::ostringstream help;
      help << all;
      instead.help = help.str();
      return false;
    }
    if (given.count("version")) {
      instead.help = version_line(program);
      return false;
    }
    if (auto wrong = posix::stray_word_text(parsed); !wrong.empty()) throw Wrong{wrong};
    read(given);
    return true;
  } catch (const po::unknown_option& error) {
    instead.problem = posix::unknown_option_text(error, all);
  } catch (const po::error& error) {
    instead.problem = error.what();
  } catch (const Wrong& wrong) {
    instead.problem = wrong.what;
  }
  return false;
}

}  // namespace s5066::sis_tools
