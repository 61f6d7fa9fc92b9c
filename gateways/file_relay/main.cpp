// SPDX-License-Identifier: Apache-2.0
// s5066-relay, the file relay of STANAG 5066 Annex F: its commands and its service.
#include <algorithm>
#include <boost/program_options.hpp>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/load.h"
#include "config/proto/control.pb.h"
#include "gateways/common/service_client.h"
#include "gateways/common/service_main.h"
#include "gateways/file_relay/relay_requests.h"
#include "gateways/file_relay/relay_service.h"
#include "gateways/file_relay/relay_setup.h"
#include "gateways/file_relay/transfer_commands.h"
#include "s5066d/posix/main_tail.h"

namespace {

namespace options = boost::program_options;
using namespace s5066;
using gateways::ServiceArguments;
using gateways::ServiceClient;
using Config = std::optional<file_relay::RelayConfig>;

int usage(const std::string& problem) {
  std::cerr << "s5066-relay: " << problem << "\n";
  return posix::kExitUsage;
}

/// Returns a station by its address or its name in the address book. Prints what is wrong and
/// returns nothing if there is none.
std::optional<Address> station_of(const AddressBook& book, const std::string& text) {
  const auto station = book.find(text);
  if (station && !station->group) return *station;
  usage(station ? escaped(text) + " is a group, not a station" : station.error().detail);
  return std::nullopt;
}

/// Returns the stations of a list with commas, each once. The name or address of a group stands for
/// its stations. Prints what is wrong and returns nothing if one is neither.
std::optional<std::vector<Address>> stations_of(const file_relay::RelayConfig& config,
                                                const std::string& text) {
  std::vector<Address> stations;
  const auto add = [&](Address station) {
    const bool there = std::find(stations.begin(), stations.end(), station) != stations.end();
    if (!there) stations.push_back(station);
  };
  for (const std::string_view part : file_relay::split_at_commas(text)) {
    const std::string one(part);
    const auto found = config.book.find(one);
    if (!found || !found->group) {
      const auto station = station_of(config.book, one);
      if (!station) return std::nullopt;
      add(*station);
      continue;
    }
    const auto& groups = config.p_mul.groups;
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& candidate) {
      return candidate.address == *found;
    });
    if (group == groups.end()) {
      usage(escaped(one) + " is no group of p_mul in the configuration");
      return std::nullopt;
    }
    for (const Address member : group->members) {
      if (member != config.p_mul.own) add(member);
    }
  }
  return stations;
}

/// Returns the grade that the options ask for. Prints what is wrong and returns nothing if they
/// contradict.
std::optional<gateways::GradeSettings> grade_of(const options::variables_map& given) {
  gateways::GradeSettings settings;
  if (given.count("head")) {
    settings.grade = gateways::FileGrade::head;
    settings.head_octets = given["head"].as<std::uint32_t>();
  }
  if (given.count("grade")) {
    const auto grade = gateways::parse_file_grade(given["grade"].as<std::string>());
    if (!grade) {
      usage("--grade: " + grade.error().detail);
      return std::nullopt;
    }
    settings.grade = *grade;
  }
  const bool coded = settings.grade == gateways::FileGrade::coded;
  if (coded) settings.strength_percent = gateways::kStrengthPercent;
  if (given.count("strength")) {
    const unsigned percent = given["strength"].as<unsigned>();
    if (percent > gateways::kStrengthPercentMax) {
      usage("--strength is at most " + std::to_string(gateways::kStrengthPercentMax));
      return std::nullopt;
    }
    settings.strength_percent = static_cast<std::uint8_t>(percent);
  }
  if (auto good = gateways::validate(settings); !good) {
    usage(good.error().detail);
    return std::nullopt;
  }
  return settings;
}

/// Reads the priority, if one is given. Prints what is wrong and returns false if it is none.
bool read_priority(const options::variables_map& given, std::optional<std::uint8_t>& priority) {
  if (!given.count("priority")) return true;
  const unsigned value = given["priority"].as<unsigned>();
  if (value > 15) {
    usage("--priority is 0 to 15");
    return false;
  }
  priority = static_cast<std::uint8_t>(value);
  return true;
}

std::optional<int> put(const Config& config, const ServiceArguments& arguments,
                       const ServiceClient& relay) {
  const auto& given = arguments.given;
  if (!given.count("to") || arguments.words.empty()) {
    return usage("put needs --to STATION and files or folders");
  }
  auto stations = stations_of(*config, given["to"].as<std::string>());
  const auto grade = grade_of(given);
  std::optional<std::uint8_t> priority;
  if (!stations || !grade || !read_priority(given, priority)) return posix::kExitUsage;
  return file_relay::put_files(relay, *config,
                               {.files = arguments.words,
                                .to = std::move(*stations),
                                .priority = priority,
                                .grade = *grade,
                                .wait = given.count("wait") > 0 || given.count("progress") > 0,
                                .progress = given.count("progress") > 0});
}

/// Carries out a command about STATION:PATH.
std::optional<int> far_inbox(const Config& config, const ServiceArguments& arguments,
                             const ServiceClient& relay, file_relay::InboxRequest request) {
  const bool needs_path = request != file_relay::InboxRequest::list;
  const std::string text = arguments.words.size() == 1 ? arguments.words[0] : "";
  const std::size_t colon = text.find(':');
  const std::string path = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (text.empty() || (needs_path && path.empty())) {
    return usage(arguments.command +
                 (needs_path ? " needs STATION:PATH" : " needs STATION:[PATH]"));
  }
  const auto station = station_of(config->book, text.substr(0, colon));
  if (!station) return posix::kExitUsage;
  return file_relay::ask_far_inbox(relay, request, *station, path);
}

/// Returns the request line of `queue` and its options. A station goes by its address, because a
/// name may have blanks.
Result<std::string> queue_request(const Config& config, const ServiceArguments& arguments) {
  if (!arguments.words.empty()) {
    return Error{ErrorCode::bad_field, arguments.command + " has options only"};
  }
  const auto& given = arguments.given;
  std::string request = "queue";
  if (given.count("all") || arguments.command == "list") request += " all=1";
  if (given.count("state")) {
    const std::string state = given["state"].as<std::string>();
    if (!gateways::parse_spool_state(state)) {
      return Error{ErrorCode::bad_field, "no such state: " + state};
    }
    request += " state=" + state;
  }
  if (given.count("station")) {
    const auto station = config->book.find(given["station"].as<std::string>());
    if (!station) return Error{ErrorCode::bad_field, "--station: " + station.error().detail};
    request += " station=" + to_string(*station);
  }
  return request;
}

/// Returns the request line of a command about one file.
Result<std::string> file_request(const ServiceArguments& arguments) {
  const std::string word = arguments.words.size() == 1 ? arguments.words[0] : std::string();
  const bool is_arriving = arguments.command != "show" && word.find('/') != std::string::npos;
  if (is_arriving ? !gateways::is_request_word(word) : !gateways::parse_spool_id(word)) {
    return Error{ErrorCode::bad_field,
                 arguments.command + " needs the number of a file, as in queue"};
  }
  return arguments.command + " " + word;
}

/// Adds the commands that are one request each.
void add_requests(gateways::ServiceProgram& relay, Config& config) {
  const control::VerbInfo list = {"list", "", "the same as queue --all",
                                  file_relay::kQueueVerb.answer};
  relay.verbs = {file_relay::kStatusVerb, file_relay::kQueueVerb, list, file_relay::kShowVerb};
  const auto queue = [&config](const ServiceArguments& arguments) {
    return queue_request(config, arguments);
  };
  relay.requests = {{"queue", queue}, {"list", queue}, {"show", file_request}};
  for (int i = 0; i < static_cast<int>(gateways::SpoolChange::count); ++i) {
    const auto verb = file_relay::change_verb(static_cast<gateways::SpoolChange>(i));
    relay.verbs.push_back(verb);
    relay.requests[std::string(verb.name)] = file_request;
  }
  relay.verbs.push_back(file_relay::kIncomingVerb);
  relay.verbs.push_back(file_relay::kReceivedVerb);
}

gateways::ServiceProgram program(Config& config) {
  gateways::ServiceProgram relay{
      .name = "s5066-relay",
      .load = gateways::loader([](const std::string& file,
                                  config::Scope scope) { return config::load_relay(file, scope); },
                               config),
      .suffix = "-relay",
      .log_level = [&config] { return config->log_level; },
      .spool_directory = [&config] { return config->spool_directory; },
      .control_socket = [&config] { return file_relay::control_socket_path(*config); },
      .serve = [&config](LogSink& log) { return file_relay::RelayService(*config, log).run(); }};
  const auto far = [&config](file_relay::InboxRequest request) {
    return [&config, request](const ServiceArguments& arguments, const ServiceClient& service) {
      return far_inbox(config, arguments, service, request);
    };
  };
  using file_relay::InboxRequest;
  relay.commands = {
      {"put",
       "--to STATION[,STATION|GROUP] [--priority N] [--grade GRADE] FILE... [--wait] [--progress]",
       "hand files, or all files of folders, to the relay",
       [&config](const ServiceArguments& arguments, const ServiceClient& service) {
         return put(config, arguments, service);
       }},
      {"get", "STATION:PATH", "fetch a file from the inbox of another station",
       far(InboxRequest::get)},
      {"ls", "STATION:[PATH]", "list the inbox of another station", far(InboxRequest::list)},
      {"rm", "STATION:PATH", "delete a file in the inbox of another station",
       far(InboxRequest::remove)},
      {"stat", "STATION:PATH", "size, time and digest of a file of another station",
       far(InboxRequest::stat)},
      {"watch", "", "how far the files are, until none is on its way",
       [&config](const ServiceArguments& arguments,
                 const ServiceClient& service) -> std::optional<int> {
         if (!arguments.words.empty()) return std::nullopt;
         return file_relay::watch_transfers(service, config->node_control_socket);
       }},
  };
  add_requests(relay, config);
  relay.aliases = {{"send", "put"}, {"pause", "hold"}, {"resume", "release"}};
  relay.options.add_options()("to", options::value<std::string>()->value_name("STATION"),
                              "with put: the stations by address or name, or a group")(
      "priority", options::value<unsigned>()->value_name("N"),
      "with put: 0 to 15, larger goes first; the default is that of the configuration")(
      "grade", options::value<std::string>()->value_name("GRADE"),
      "with put: reliable, coded or best_effort")(
      "head", options::value<std::uint32_t>()->value_name("OCTETS"),
      "with put: so many are certain to arrive, the rest may have holes")(
      "strength", options::value<unsigned>()->value_name("PERCENT"),
      "with put: parity of what goes without acknowledgement; 50 with --grade coded")(
      "all", "with queue: also what is over")(
      "state", options::value<std::string>()->value_name("STATE"), "with queue: only these")(
      "station", options::value<std::string>()->value_name("STATION"),
      "with queue: only for this station")("wait", "until the file is delivered or given up")(
      "progress", "with --wait: show how far it is");
  return relay;
}

int run(int argc, char** argv) {
  Config config;
  return gateways::service_main(program(config), argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
  return posix::run_main<options::error>("s5066-relay", run, argc, argv);
}
