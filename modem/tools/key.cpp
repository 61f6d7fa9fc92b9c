// hfmodem key: keys the transmitter for a moment, says whether it was unkeyed, and prints the
// setting for a configuration.
#include <cstdio>
#include <iostream>
#include <memory>
#include <thread>
#include <utility>

#include "modem/ptt/key_watchdog.h"
#include "modem/tools/key_options.h"
#include "modem/tools/options.h"
#include "modem/tools/subcommands.h"
#include "s5066d/posix/socket.h"

namespace s5066::modem::tools {
namespace {

namespace po = boost::program_options;

constexpr double kSecondsMax = 10;
constexpr unsigned kUnkeyAttempts = 20;
constexpr auto kUnkeyPause = std::chrono::milliseconds(250);

/// Whatever it takes: a transmitter is keyed.
Result<void> insist_on_unkeying(KeyWatchdog& key) {
  for (unsigned attempt = 1;; ++attempt) {
    auto unkeyed = key.unkey();
    if (unkeyed || attempt == kUnkeyAttempts) return unkeyed;
    std::this_thread::sleep_for(kUnkeyPause);
  }
}

}  // namespace

int run_key(const std::vector<std::string>& arguments) {
  KeyOptions given;
  double seconds = 1;
  po::options_description description;
  describe(given, description);
  description.add_options()("seconds", po::value(&seconds)->default_value(1), "to key, up to 10");
  const ParsedOptions parsed = parse_options("key", description, arguments);
  if (parsed.exit_code) return *parsed.exit_code;
  auto way = key_way_of(given);
  if (!way) return usage_error("key", way.error());
  if (!way->ptt) return usage_error("key", {ErrorCode::bad_field, kOneWay});
  if (!(seconds > 0 && seconds <= kSecondsMax)) {
    return usage_error("key", {ErrorCode::bad_field, "--seconds is above 0 and at most 10"});
  }
  KeyWatchdog key({.hang_max = from_seconds(seconds + 3)}, std::move(way->ptt),
                  posix::monotonic_now);
  if (const auto unkeyed = key.unkey(); !unkeyed) {
    std::cerr << "hfmodem key: not keyed: " << to_string(unkeyed.error()) << '\n';
    return kExitFailed;
  }
  const auto keyed = key.key(from_seconds(seconds + 2));
  if (keyed) std::this_thread::sleep_for(from_seconds(seconds));
  const auto unkeyed = insist_on_unkeying(key);
  if (!keyed) std::cerr << "hfmodem key: " << to_string(keyed.error()) << '\n';
  if (!unkeyed) {
    std::cerr << "hfmodem key: NOT UNKEYED, switch the transmitter off: "
              << to_string(unkeyed.error()) << '\n';
  }
  if (!keyed || !unkeyed) return kExitFailed;
  std::cout << "keyed for " << seconds << " s, then unkeyed: " << way->confirmed
            << "\n\nmodem {\n  " << way->setting << "\n}\n";
  return kExitOk;
}

}  // namespace s5066::modem::tools
