// SPDX-License-Identifier: Apache-2.0
// `hfmodem modes` lists every mode by name, with its shortest time on the air.
#include <cstdio>
#include <string>
#include <vector>

#include "modem/api/airtime.h"
#include "modem/api/receive_modes.h"
#include "modem/tools/options.h"
#include "modem/tools/subcommands.h"

namespace s5066::modem::tools {
namespace {

namespace po = boost::program_options;

void print_text(const std::vector<Mode>& modes) {
  std::printf("%-18s %7s %12s  %s\n", "mode", "bit/s", "shortest, s", "recognised by its receiver");
  for (const Mode& mode : modes) {
    std::printf("%-18s %7u %12.2f  %s\n", to_string(mode).c_str(), mode.rate_bps,
                to_seconds(airtime(mode, 1)),
                tells_itself(mode) ? "automatically" : "only if named with --mode");
  }
}

void print_json(const std::vector<Mode>& modes) {
  for (const Mode& mode : modes) {
    std::printf("{\"mode\":\"%s\",\"bps\":%u,\"shortest_s\":%.3f,\"tells_itself\":%s}\n",
                to_string(mode).c_str(), mode.rate_bps, to_seconds(airtime(mode, 1)),
                tells_itself(mode) ? "true" : "false");
  }
}

}  // namespace

int run_modes(const std::vector<std::string>& arguments) {
  std::vector<std::string> patterns;
  po::options_description description;
  description.add_options()  //
      ("mode", po::value(&patterns)->composing(),
       "list only these: a mode, the beginning of names (4285), or a pattern (4539-*-vl)")  //
      ("json", po::bool_switch(), "print one JSON object per mode");
  const PlainArguments plain{.option = "mode", .count_max = -1, .words = "[MODE...]"};
  const ParsedOptions parsed = parse_options("modes", description, arguments, plain);
  if (parsed.exit_code) return *parsed.exit_code;
  if (patterns.empty()) patterns.emplace_back("*");
  const auto modes = modes_of(patterns);
  if (!modes) return usage_error("modes", modes.error());
  parsed.values["json"].as<bool>() ? print_json(*modes) : print_text(*modes);
  return kExitOk;
}

}  // namespace s5066::modem::tools
