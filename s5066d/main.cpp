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
#include "s5066d/base/version.h"
#include "s5066d/control/ask.h"
#include "s5066d/control/verbs.h"
#include "s5066d/posix/log_writer.h"
#include "s5066d/posix/main_tail.h"
#include "s5066d/runtime/daemon.h"

namespace {

namespace options = boost::program_options;
using namespace s5066;

options::options_description known_options() {
  options::options_description known("s5066d, a STANAG 5066 subnet server");
  auto add = known.add_options();
  add("config", options::value<std::string>()->value_name("FILE"),
      "run the server with this configuration (see config/examples)");
  add("check-config", "check the configuration, list all problems and exit");
  add("capture", options::value<std::string>()->value_name("FILE.pcap"),
      "write all D_PDUs sent and received to a file for tshark; at most 4 files of 64 MiB");
  add("seed", options::value<std::uint64_t>()->value_name("N"),
      "seed of the random back-off, to repeat a run in lockstep");
  add("control", options::value<std::string>()->value_name("SOCKET"),
      "send a request to the daemon that has this control socket");
  add("status", "with --control: print the status");
  add("counters", "with --control: print the counters");
  add("json", "with --control: print the answer as JSON");
  add("version", "print the version");
  add("ask-mode",
      options::value<std::vector<std::string>>()->multitoken()->value_name("STATION MODE"),
      "with --control: ask a linked station to accept this mode for our transmissions to it");
  add("help", "print this help");
  return known;
}

/// Options for the words of a request to a running daemon.
options::options_description hidden_options() {
  options::options_description hidden;
  hidden.add_options()("request", options::value<std::vector<std::string>>());
  return hidden;
}

int ask(const std::string& socket_path, const std::string& request, control::Form form) {
  const auto understood = config::parse_control_request(request);
  // Only the daemon has the address book, so a name of a station is for it to find.
  if (!understood && understood.error().code != ErrorCode::not_found) {
    std::cerr << "s5066d: " << understood.error().detail << "\n";
    return posix::kExitUsage;
  }
  const auto& type = config::control_verb_of(request).answer();
  return control::ask_and_print("s5066d", socket_path, request, type, form);
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

int serve(const options::variables_map& given) {
  auto loaded = config::load_node(given["config"].as<std::string>());
  for (const auto& problem : loaded.problems) std::cerr << to_string(problem) << "\n";
  if (!loaded.value) return posix::kExitUsage;
  if (given.count("check-config")) {
    warn_of_missing_card(*loaded.value);
    return posix::kExitOk;
  }
  if (given.count("capture")) {
    auto& capture = loaded.value->capture;  // with the limits of the configuration, if it has any
    if (!capture) capture.emplace();
    capture->path = given["capture"].as<std::string>();
  }

  posix::LogWriter log(loaded.value->log_level);
  runtime::Daemon daemon(
      *loaded.value, seed_of(given), log,
      {.load = [path = given["config"].as<std::string>()] { return config::load_node(path); },
       .set_log_level = [&log](LogLevel level) { log.set_least(level); }});
  const auto outcome = daemon.run();
  if (outcome) return posix::kExitOk;
  std::cerr << "s5066d: " << outcome.error().detail << "\n";
  return posix::kExitEnvironment;
}

int run(int argc, char** argv) {
  const auto known = known_options();
  options::variables_map given;
  options::options_description all;
  all.add(known).add(hidden_options());
  options::positional_options_description words;
  words.add("request", -1);
  options::store(options::command_line_parser(argc, argv).options(all).positional(words).run(),
                 given);
  if (given.count("help")) {
    std::cout << known << "\nRequests, with --control SOCKET REQUEST:\n"
              << control::synopsis(config::control_verbs());
    return posix::kExitOk;
  }
  if (given.count("version")) {
    std::cout << version_line("s5066d");
    return posix::kExitOk;
  }
  const auto request = control_request(given);
  const auto form = given.count("json") ? control::Form::json : control::Form::text;
  if (given.count("control") && request) {
    return ask(given["control"].as<std::string>(), *request, form);
  }
  if (given.count("config") && !given.count("control") && !request) return serve(given);
  std::cerr << "s5066d: give --config FILE, or --control SOCKET and one request; --help lists "
               "them\n";
  return posix::kExitUsage;
}

}  // namespace

int main(int argc, char** argv) {
  return posix::run_main<options::error>("s5066d", run, argc, argv);
}
