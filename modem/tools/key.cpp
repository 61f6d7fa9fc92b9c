// SPDX-License-Identifier: Apache-2.0
// `hfmodem key` keys the transmitter for a moment, reports whether it was unkeyed, and prints the
// setting for a configuration.
#include <iostream>
#include <memory>
#include <thread>
#include <utility>

#include "modem/tools/key_options.h"
#include "modem/tools/key_trial.h"
#include "modem/tools/options.h"
#include "modem/tools/subcommands.h"
#include "s5066d/base/time.h"
#include "s5066d/posix/ending_signals.h"

namespace s5066::modem::tools {
namespace {

namespace po = boost::program_options;

constexpr double kSecondsMax = 10;

}  // namespace

int run_key(const std::vector<std::string>& arguments) {
  KeyOptions given;
  double seconds = 1;
  po::options_description description;
  describe(given, description);
  description.add_options()("seconds", po::value(&seconds)->default_value(1),
                            "seconds to key, up to 10");
  const ParsedOptions parsed = parse_options("key", description, arguments);
  if (parsed.exit_code) return *parsed.exit_code;
  auto way = key_way_of(given);
  if (!way) return usage_error("key", way.error());
  if (!way->ptt) return usage_error("key", {ErrorCode::bad_field, kOneWay});
  if (!(seconds > 0 && seconds <= kSecondsMax)) {
    return usage_error("key", {ErrorCode::bad_field, "--seconds must be above 0 and at most 10"});
  }
  posix::ignore_terminal_stops();
  const auto tried = try_key(std::move(way->ptt), seconds,
                             [&] { std::this_thread::sleep_for(from_seconds(seconds)); });
  if (!tried) return failure("key", tried.error());
  std::cout << "keyed for " << seconds << " s, then " << text_of(*tried, *way) << "\n\nmodem {\n  "
            << way->setting << "\n}\n";
  return kExitOk;
}

}  // namespace s5066::modem::tools
