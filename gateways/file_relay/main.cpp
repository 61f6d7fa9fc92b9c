// SPDX-License-Identifier: Apache-2.0
// s5066-relay, the file relay of STANAG 5066 Annex F: arguments, configuration, exit status.
#include <boost/program_options.hpp>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "config/load.h"
#include "gateways/common/spool_lock.h"
#include "gateways/file_relay/relay_commands.h"
#include "gateways/file_relay/relay_service.h"
#include "s5066d/base/log.h"
#include "s5066d/base/version.h"
#include "s5066d/posix/log_limiter.h"
#include "s5066d/posix/log_writer.h"
#include "s5066d/posix/main_tail.h"

namespace {

namespace options = boost::program_options;
using namespace s5066;

constexpr const char* kSynopsis =
    "s5066-relay run     --config FILE        serve\n"
    "s5066-relay check   --config FILE        only check the configuration\n"
    "s5066-relay send    --config FILE --to ADDRESS [--priority N] FILE [--wait] [--progress]\n"
    "s5066-relay queue   --config FILE [--all] [--state STATE] [--station ADDRESS]\n"
    "                                         id, state, destination, octets, attempts, name and\n"
    "                                         what the last attempt came to\n"
    "s5066-relay list    --config FILE        the same as queue --all\n"
    "s5066-relay show    --config FILE ID     one file, and what it waits for\n"
    "s5066-relay hold    --config FILE ID     keep it until it is released\n"
    "s5066-relay release --config FILE ID\n"
    "s5066-relay retry   --config FILE ID     try again at once, for as long as it had at first\n"
    "s5066-relay cancel  --config FILE ID     give it up\n";

options::options_description known_options() {
  options::options_description known("Options");
  auto add = known.add_options();
  add("command", options::value<std::string>(), "see above");
  add("file", options::value<std::string>(), "the file to send, or the number of one");
  add("config", options::value<std::string>()->value_name("FILE"), "see config/examples");
  add("to", options::value<std::string>()->value_name("ADDRESS"), "station, such as 1.2.3.4");
  add("priority", options::value<unsigned>()->value_name("N"),
      "0 to 15, larger goes first; left out it is that of the configuration");
  add("all", "with queue: what is over, too");
  add("state", options::value<std::string>()->value_name("STATE"), "with queue: only these");
  add("station", options::value<std::string>()->value_name("ADDRESS"), "with queue: only for it");
  add("wait", "until the file is delivered or given up");
  add("progress", "with --wait: show how far it is");
  add("version", "its version");
  add("help", "this text");
  return known;
}

int serve(const file_relay::RelayConfig& config, LogSink& log) {
  const auto fail = [&](const Error& error, int status) {
    LogLine(log, LogLevel::error, "relay_failed").kv("reason", to_string(error));
    std::cerr << "s5066-relay: " << escaped(error.detail) << "\n";
    return status;
  };
  // No restart mends the owner of a file.
  if (auto may = gateways::check_spool_writable(config.spool_directory); !may) {
    return fail(may.error(), posix::kExitUsage);
  }
  file_relay::RelayService service(config, log);
  const auto served = service.run();
  return served ? posix::kExitOk : fail(served.error(), posix::kExitEnvironment);
}

int send(const file_relay::RelayConfig& config, const options::variables_map& given, LogSink& log) {
  if (!given.count("to") || !given.count("file")) {
    std::cerr << "s5066-relay: send needs --to ADDRESS and a file\n";
    return posix::kExitUsage;
  }
  const auto destination = parse_address(given["to"].as<std::string>());
  if (!destination || destination->group) {
    std::cerr << "s5066-relay: " << escaped(given["to"].as<std::string>())
              << " is not a station address\n";
    return posix::kExitUsage;
  }
  std::optional<std::uint8_t> priority;
  if (given.count("priority")) {
    const unsigned value = given["priority"].as<unsigned>();
    if (value > 15) {
      std::cerr << "s5066-relay: --priority is 0 to 15\n";
      return posix::kExitUsage;
    }
    priority = static_cast<std::uint8_t>(value);
  }
  return file_relay::send_file(config,
                               {.destination = *destination,
                                .file = given["file"].as<std::string>(),
                                .priority = priority,
                                .wait = given.count("wait") > 0 || given.count("progress") > 0,
                                .progress = given.count("progress") > 0},
                               log);
}

int usage(const std::string& problem) {
  std::cerr << "s5066-relay: " << problem << "\n";
  return posix::kExitUsage;
}

int queue(const file_relay::RelayConfig& config, const options::variables_map& given) {
  gateways::ListFilter filter{.over = given.count("all") > 0};
  if (given.count("state")) {
    const std::string text = given["state"].as<std::string>();
    const auto state = gateways::parse_spool_state(text);
    if (!state) return usage("no such state: " + escaped(text));
    filter.state = *state;
  }
  if (given.count("station")) {
    const std::string text = given["station"].as<std::string>();
    const auto station = parse_address(text);
    if (!station) return usage(escaped(text) + " is not a station address");
    filter.destination = *station;
  }
  return file_relay::show_queue(config, filter);
}

/// The commands that are about one file. Empty if the command is none of them.
std::optional<int> about_file(const file_relay::RelayConfig& config, const std::string& command,
                              const options::variables_map& given) {
  const auto change = gateways::parse_spool_change(command);
  if (!change && command != "show") return std::nullopt;
  const auto id =
      gateways::parse_spool_id(given.count("file") ? given["file"].as<std::string>() : "");
  if (!id) return usage(command + " needs the number of a file, as in queue");
  return change ? file_relay::change_file(config, *change, *id)
                : file_relay::show_file(config, *id);
}

int run(int argc, char** argv) {
  const auto known = known_options();
  options::positional_options_description positions;
  positions.add("command", 1).add("file", 1);
  options::variables_map given;
  options::store(
      options::command_line_parser(argc, argv).options(known).positional(positions).run(), given);
  if (given.count("help")) {
    std::cout << kSynopsis << "\n" << known;
    return posix::kExitOk;
  }
  if (given.count("version")) {
    std::cout << version_line("s5066-relay");
    return posix::kExitOk;
  }
  if (!given.count("command") || !given.count("config")) {
    std::cerr << kSynopsis;
    return posix::kExitUsage;
  }
  const auto loaded = config::load_relay(given["config"].as<std::string>());
  for (const auto& problem : loaded.problems) std::cerr << to_string(problem) << "\n";
  if (!loaded.value) return posix::kExitUsage;

  posix::LogWriter writer(loaded.value->log_level);
  posix::LogLimiter log(writer, LogLevel::warning);  // what is said of each message stays whole
  const std::string command = given["command"].as<std::string>();
  if (command == "run") return serve(*loaded.value, log);
  if (command == "send") return send(*loaded.value, given, log);
  if (command == "queue") return queue(*loaded.value, given);
  if (command == "list") return file_relay::show_queue(*loaded.value, {.over = true});
  if (command == "check") return posix::kExitOk;
  if (const auto status = about_file(*loaded.value, command, given)) return *status;
  std::cerr << kSynopsis;
  return posix::kExitUsage;
}

}  // namespace

int main(int argc, char** argv) {
  return posix::run_main<options::error>("s5066-relay", run, argc, argv);
}
