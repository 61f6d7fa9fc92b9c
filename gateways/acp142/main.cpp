// SPDX-License-Identifier: Apache-2.0
// s5066-acp142, the mail gateway of STANAG 5066 (ACP 142, RFC 8494): arguments, configuration, exit
// status.
#include <algorithm>
#include <boost/program_options.hpp>
#include <initializer_list>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "config/load.h"
#include "gateways/acp142/mail/mail_service.h"
#include "gateways/common/spool_lock.h"
#include "s5066d/base/version.h"
#include "s5066d/posix/log_limiter.h"
#include "s5066d/posix/log_writer.h"
#include "s5066d/posix/main_tail.h"
#include "s5066d/posix/socket.h"

namespace {

namespace options = boost::program_options;
using namespace s5066;

constexpr auto kControlTimeout = std::chrono::seconds(10);
constexpr std::size_t kWordOctetsMax = 300;  // of a request

constexpr const char* kSynopsis =
    "s5066-acp142 run      --config FILE       serve\n"
    "s5066-acp142 check    --config FILE       only check the configuration\n"
    "s5066-acp142 queue    --config FILE [--all] [--state STATE] [--station NAME] [--from "
    "ADDRESS]\n"
    "                                          id, state, transport, priority, octets, attempts,\n"
    "                                          from, Message-ID, what it waits for and why\n"
    "s5066-acp142 trace    --config FILE ID|MESSAGE-ID|ADDRESS\n"
    "                                          the whole course of a message\n"
    "s5066-acp142 show     --config FILE ID    one message and each of its recipients\n"
    "s5066-acp142 hold     --config FILE ID    keep it until it is released\n"
    "s5066-acp142 release  --config FILE ID\n"
    "s5066-acp142 requeue  --config FILE ID    try again at once, for as long as it had at first;\n"
    "                                          also retry\n"
    "s5066-acp142 delete   --config FILE ID    forget it without a report; also cancel\n"
    "s5066-acp142 stations --config FILE       name, address, state, failures, messages, reason,\n"
    "                                          whether it answers, when it was heard, and what "
    "waits\n"
    "s5066-acp142 station  --config FILE NAME silent|answering\n"
    "                                          whether that station is in EMCON\n"
    "s5066-acp142 emcon    --config FILE on|off|show\n"
    "                                          whether this one may transmit\n"
    "s5066-acp142 status   --config FILE       counters\n";

int serve(const acp142::MailConfig& config, LogSink& log) {
  auto table = acp142::address_table(config);
  if (!table) {
    std::cerr << "s5066-acp142: " << to_string(table.error()) << "\n";
    return posix::kExitUsage;
  }
  const auto fail = [&](const Error& error, int status) {
    LogLine(log, LogLevel::error, "mail_gateway_failed").kv("reason", to_string(error));
    std::cerr << "s5066-acp142: " << error.detail << "\n";
    return status;
  };
  // No restart mends the owner of a file.
  if (auto may = gateways::check_spool_writable(config.spool_directory); !may) {
    return fail(may.error(), posix::kExitUsage);
  }
  std::random_device random;
  acp142::MailService service(config, std::move(table).value(),
                              std::uint64_t{random()} << 32 | random(), log);
  const auto served = service.run();
  return served ? posix::kExitOk : fail(served.error(), posix::kExitEnvironment);
}

int ask(const acp142::MailConfig& config, const std::string& request) {
  const auto answer =
      posix::ask_control(acp142::control_socket_path(config), request, kControlTimeout);
  if (!answer) {
    const bool absent = answer.error().code == ErrorCode::link_down;
    std::cerr << "s5066-acp142: "
              << (absent ? "no gateway runs with this configuration: "
                         : "the gateway does not answer: ")
              << answer.error().detail << "\n";
    return posix::kExitEnvironment;
  }
  const bool refused = answer->rfind("error: ", 0) == 0;
  (refused ? std::cerr : std::cout) << *answer;
  return refused ? posix::kExitEnvironment : posix::kExitOk;
}

/// True if the text can be one word of a request.
bool is_one_line(const std::string& word) {
  return !word.empty() && word.size() <= kWordOctetsMax &&
         std::all_of(word.begin(), word.end(), [](char c) { return c > 32 && c < 127; });
}

std::optional<std::string> queue_request(const acp142::MailConfig& config,
                                         const options::variables_map& given) {
  std::string request = "queue";
  if (given.count("all")) request += " all=1";
  for (const char* key : {"state", "from"}) {
    if (!given.count(key)) continue;
    const std::string value = given[key].as<std::string>();
    if (!is_one_line(value)) {
      std::cerr << "s5066-acp142: --" << key << " is one word in printable ASCII\n";
      return std::nullopt;
    }
    request += std::string(" ") + key + "=" + value;
  }
  if (!given.count("station")) return request;
  for (const auto& station : config.stations) {
    if (station.name != given["station"].as<std::string>()) continue;
    return request + " station=" + std::to_string(station.node.value);
  }
  std::cerr << "s5066-acp142: no station " << given["station"].as<std::string>() << "\n";
  return std::nullopt;
}

/// The file relay's names for the same commands.
std::string same_command(const std::string& command) {
  if (command == "retry") return "requeue";
  return command == "cancel" ? "delete" : command;
}

/// A station is asked for by its number, however long its name is.
std::optional<std::string> request_of(const acp142::MailConfig& config, const std::string& command,
                                      const std::vector<std::string>& words,
                                      const options::variables_map& given) {
  const auto is_one_of = [&command](std::initializer_list<std::string_view> known) {
    return std::find(known.begin(), known.end(), command) != known.end();
  };
  if (command == "queue" && words.empty()) return queue_request(config, given);
  if (command == "trace" && words.size() == 1) {
    if (is_one_line(words[0])) return command + " " + words[0];
    std::cerr << "s5066-acp142: a number, a Message-ID or an address in printable ASCII\n";
    return std::nullopt;
  }
  if (is_one_of({"stations", "status"}) && words.empty()) return command;
  if (command == "emcon" && words.size() == 1) return command + " " + words[0];
  if (is_one_of({"show", "hold", "release", "requeue", "delete"}) && words.size() == 1) {
    const bool number = !words[0].empty() && words[0].size() < 19 &&
                        words[0].find_first_not_of("0123456789") == std::string::npos;
    return number ? std::optional(command + " " + words[0]) : std::nullopt;
  }
  if (command != "station" || words.size() != 2) return std::nullopt;
  for (const auto& station : config.stations) {
    if (station.name != words[0]) continue;
    return command + " " + std::to_string(station.node.value) + " " + words[1];
  }
  std::cerr << "s5066-acp142: no station " << words[0] << "\n";
  return std::nullopt;
}

int run(int argc, char** argv) {
  options::options_description known("Options");
  auto add = known.add_options();
  add("command", options::value<std::string>(), "see above");
  add("words", options::value<std::vector<std::string>>(), "what it needs besides");
  add("config", options::value<std::string>()->value_name("FILE"), "see config/examples");
  add("all", "with queue: what is over, too");
  add("state", options::value<std::string>()->value_name("STATE"), "with queue: only these");
  add("station", options::value<std::string>()->value_name("NAME"), "with queue: only for it");
  add("from", options::value<std::string>()->value_name("ADDRESS"), "with queue: only by it");
  add("version", "its version");
  add("help", "this text");
  options::positional_options_description positions;
  positions.add("command", 1).add("words", -1);
  options::variables_map given;
  options::store(
      options::command_line_parser(argc, argv).options(known).positional(positions).run(), given);
  if (given.count("help")) {
    std::cout << kSynopsis << "\n" << known;
    return posix::kExitOk;
  }
  if (given.count("version")) {
    std::cout << version_line("s5066-acp142");
    return posix::kExitOk;
  }
  if (!given.count("command") || !given.count("config")) {
    std::cerr << kSynopsis;
    return posix::kExitUsage;
  }
  const auto loaded = config::load_mail(given["config"].as<std::string>());
  for (const auto& problem : loaded.problems) std::cerr << to_string(problem) << "\n";
  if (!loaded.value) return posix::kExitUsage;
  posix::LogWriter writer(loaded.value->log_level);
  posix::LogLimiter log(writer, LogLevel::warning);  // what is said of each message stays whole
  const std::string command = same_command(given["command"].as<std::string>());
  if (command == "run" || command == "check") {
    for (const auto& warning : loaded.warnings) std::cerr << to_string(warning) << "\n";
  }
  std::vector<std::string> words;
  if (given.count("words")) words = given["words"].as<std::vector<std::string>>();
  if (command == "run" && words.empty()) return serve(*loaded.value, log);
  if (command == "check" && words.empty()) return posix::kExitOk;
  const auto request = request_of(*loaded.value, command, words, given);
  if (request) return ask(*loaded.value, *request);
  std::cerr << kSynopsis;
  return posix::kExitUsage;
}

}  // namespace

int main(int argc, char** argv) {
  return posix::run_main<options::error>("s5066-acp142", run, argc, argv);
}
