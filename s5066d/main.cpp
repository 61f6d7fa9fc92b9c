// SPDX-License-Identifier: Apache-2.0
// s5066d, the STANAG 5066 subnet server: arguments, configuration, exit status.
#include <boost/program_options.hpp>
#include <cstdint>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "config/control_request.h"
#include "config/load.h"
#include "config/node_setup.h"
#include "modem/audio/portaudio_device.h"
#include "s5066d/base/nearest.h"
#include "s5066d/base/version.h"
#include "s5066d/control/ask.h"
#include "s5066d/control/station_files.h"
#include "s5066d/control/verbs.h"
#include "s5066d/posix/log_writer.h"
#include "s5066d/posix/main_tail.h"
#include "s5066d/posix/unknown_option.h"
#include "s5066d/runtime/daemon.h"

namespace {

namespace options = boost::program_options;
using namespace s5066;

options::options_description known_options() {
  options::options_description known("s5066d, a STANAG 5066 subnet server");
  auto add = known.add_options();
  add("config", options::value<std::string>()->value_name("FILE"), control::kConfigurationHelp);
  add("check-config", "the same as `s5066d check`");
  add("capture", options::value<std::string>()->value_name("FILE.pcap"),
      "write all D_PDUs sent and received to a file for tshark; at most 4 files of 64 MiB");
  add("seed", options::value<std::uint64_t>()->value_name("N"),
      "seed of the random back-off, to repeat a run in lockstep");
  add("control", options::value<std::string>()->value_name("SOCKET"),
      "send the request to the daemon that has this control socket");
  add("status", "the same as the request `status`");
  add("counters", "the same as the request `counters`");
  add("json", "print the answer to a request as JSON");
  add("quiet,q", "print and log errors only");
  add("verbose,v", "log everything; `check` also names the file that is good");
  add("version", "print the version");
  add("ask-mode",
      options::value<std::vector<std::string>>()->multitoken()->value_name("STATION MODE"),
      "the same as the request `mode`");
  add("help,h", "print this help");
  return known;
}

/// Options for the words of a request to a running daemon.
options::options_description hidden_options() {
  options::options_description hidden;
  hidden.add_options()("request", options::value<std::vector<std::string>>());
  return hidden;
}

std::vector<control::VerbInfo> known_verbs() {
  std::vector<control::VerbInfo> verbs;
  for (const config::ControlVerb& verb : config::control_verbs()) verbs.push_back(verb.info);
  verbs.insert(verbs.end(), {control::kCountersVerb, control::kEventsVerb, control::kHelpVerb});
  return verbs;
}

/// Returns the verb of a request, or an error if the first word is no request or its arguments are
/// wrong. Only the daemon has the address book, so a name of a station is for it to find.
Result<control::VerbInfo> verb_of(const std::string& request) {
  const std::string word = request.substr(0, request.find(' '));
  std::vector<std::string> names = {"run", "check"};
  for (const control::VerbInfo& verb : known_verbs()) {
    names.emplace_back(verb.name);
    if (verb.name != word) continue;
    const auto own = config::parse_control_request(request);
    const bool passes = own || own.error().code == ErrorCode::not_found ||
                        own.error().code == ErrorCode::unsupported;
    return passes ? Result<control::VerbInfo>(verb) : own.error();
  }
  return Error{ErrorCode::bad_field,
               "no such request: " + word + "; --help lists them" + did_you_mean(word, names)};
}

/// Returns the one request line for a running daemon; nothing if none or more than one is given.
std::optional<std::string> control_request(const options::variables_map& given) {
  std::vector<std::string> requests;
  if (given.count("status")) requests.push_back("status");
  if (given.count("counters")) requests.push_back("counters");
  const auto joined = [](const std::vector<std::string>& words) {
    std::string line;
    for (const std::string& word : words) line.append(line.empty() ? "" : " ").append(word);
    return line;
  };
  if (given.count("ask-mode")) {
    requests.push_back("mode " + joined(given["ask-mode"].as<std::vector<std::string>>()));
  }
  if (given.count("request")) {
    requests.push_back(joined(given["request"].as<std::vector<std::string>>()));
  }
  if (requests.size() != 1) return std::nullopt;
  return requests.front();
}

std::uint64_t seed_of(const options::variables_map& given) {
  if (given.count("seed")) return given["seed"].as<std::uint64_t>();
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

/// Warns if the sound card is missing. The configuration is still good, because the card may be
/// plugged in later or belong to another machine.
void warn_of_missing_card(const config::NodeSetup& setup) {
  const auto* card = std::get_if<modem::PortAudioDevice::Config>(&setup.device);
  if (card == nullptr) return;
  const auto found = modem::PortAudioDevice::look_for(*card);
  if (!found) std::cerr << "s5066d: warning: sound_card: " << found.error().detail << "\n";
}

/// Loads the configuration and prints its problems and, unless it is to be quiet, its warnings.
std::optional<config::NodeSetup> load(const options::variables_map& given, const std::string& file,
                                      config::Scope scope) {
  auto loaded = config::load_node(file, scope);
  for (const auto& problem : loaded.problems) std::cerr << to_string(problem) << "\n";
  if (loaded.value && !given.count("quiet")) {
    for (const auto& warning : loaded.warnings) std::cerr << to_string(warning) << "\n";
  }
  return std::move(loaded.value);
}

int check(const options::variables_map& given, const std::string& file) {
  const auto setup = load(given, file, config::Scope::before_start);
  if (!setup) return posix::kExitUsage;
  if (!given.count("quiet")) warn_of_missing_card(*setup);
  if (given.count("verbose")) std::cout << file << ": good\n";
  return posix::kExitOk;
}

int serve(const options::variables_map& given, const std::string& file) {
  auto setup = load(given, file, config::Scope::start);
  if (!setup) return posix::kExitUsage;
  if (given.count("capture")) {
    auto& capture = setup->capture;  // the configuration may limit the capture
    if (!capture) capture.emplace();
    capture->path = given["capture"].as<std::string>();
  }
  if (given.count("quiet")) setup->log_level = LogLevel::error;
  if (given.count("verbose")) setup->log_level = LogLevel::debug;

  posix::LogWriter log(setup->log_level);
  runtime::Daemon daemon(*setup, seed_of(given), log,
                         {.load = [file] { return config::load_node(file); },
                          .set_log_level = [&log](LogLevel level) { log.set_least(level); }});
  const auto outcome = daemon.run();
  if (outcome) return posix::kExitOk;
  std::cerr << "s5066d: " << outcome.error().detail << "\n";
  // A restart does not cure what is wrong by itself or not offered.
  const bool may_pass = outcome.error().code != ErrorCode::bad_field &&
                        outcome.error().code != ErrorCode::unsupported;
  return may_pass ? posix::kExitEnvironment : posix::kExitUsage;
}

Result<std::string> configuration_of(const options::variables_map& given) {
  if (given.count("config")) return given["config"].as<std::string>();
  return control::default_configuration("");
}

/// Returns the control socket of the daemon that is asked.
Result<std::string> control_socket_of(const options::variables_map& given) {
  if (given.count("control")) return given["control"].as<std::string>();
  const auto file = configuration_of(given);
  if (!file) return file.error();
  const auto loaded = config::load_node(*file);
  if (!loaded.value) {
    return Error{ErrorCode::bad_field,
                 loaded.problems.empty() ? *file : to_string(loaded.problems.front())};
  }
  if (loaded.value->control) return loaded.value->control->path;
  return Error{ErrorCode::not_found,
               *file + " has no section `control` with a socket; add one, or give --control"};
}

int fail(const Error& error) {
  std::cerr << "s5066d: " << escaped(error.detail) << "\n";
  return posix::kExitUsage;
}

options::variables_map parse(const options::options_description& known, int argc, char** argv) {
  options::variables_map given;
  options::options_description all;
  all.add(known).add(hidden_options());
  options::positional_options_description words;
  words.add("request", -1);
  try {
    options::store(options::command_line_parser(argc, argv).options(all).positional(words).run(),
                   given);
  } catch (const options::unknown_option& problem) {
    throw options::error(posix::unknown_option_text(problem, known));
  }
  return given;
}

void print_help(const options::options_description& known) {
  std::cout << "s5066d run\n    serve\ns5066d check\n    only check the configuration\n"
            << "s5066d REQUEST\n    ask or tell the daemon that runs\n\n"
            << known << "\nRequests:\n"
            << control::synopsis(known_verbs());
}

int run(int argc, char** argv) {
  const auto known = known_options();
  const options::variables_map given = parse(known, argc, argv);
  if (given.count("help")) {
    print_help(known);
    return posix::kExitOk;
  }
  if (given.count("version")) {
    std::cout << version_line("s5066d");
    return posix::kExitOk;
  }
  const auto request = control_request(given);
  const bool checks = request == "check" || (!request && given.count("check-config"));
  // A configuration without a command is served.
  const bool runs = request == "run" || (!request && !checks && given.count("config"));
  if ((checks || runs) && !given.count("control")) {
    const auto file = configuration_of(given);
    if (!file) return fail(file.error());
    return checks ? check(given, *file) : serve(given, *file);
  }
  if (!request || checks || runs) {
    std::cerr << "s5066d: give one command: run, check or a request; --help lists them\n";
    return posix::kExitUsage;
  }
  const auto verb = verb_of(*request);
  if (!verb) return fail(verb.error());
  const auto socket = control_socket_of(given);
  if (!socket) return fail(socket.error());
  return control::ask_and_print("s5066d", *socket, *request, verb->answer(),
                                given.count("json") ? control::Form::json : control::Form::text);
}

}  // namespace

int main(int argc, char** argv) {
  return posix::run_main<options::error>("s5066d", run, argc, argv);
}
