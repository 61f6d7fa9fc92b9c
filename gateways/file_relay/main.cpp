// SPDX-License-Identifier: Apache-2.0
// s5066-relay, the file relay of STANAG 5066 Annex F: its commands and its service.
#include <algorithm>
#include <boost/program_options.hpp>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/load.h"
#include "config/proto/control.pb.h"
#include "gateways/common/service_main.h"
#include "gateways/file_relay/relay_commands.h"
#include "gateways/file_relay/relay_service.h"
#include "gateways/file_relay/relay_setup.h"
#include "gateways/file_relay/transfer_commands.h"
#include "s5066d/posix/main_tail.h"

namespace {

namespace options = boost::program_options;
using namespace s5066;
using gateways::ServiceArguments;
using Config = std::optional<file_relay::RelayConfig>;

int usage(const std::string& problem) {
  std::cerr << "s5066-relay: " << problem << "\n";
  return posix::kExitUsage;
}

std::optional<int> send(const Config& config, const ServiceArguments& arguments, LogSink& log) {
  const auto& given = arguments.given;
  if (!given.count("to") || arguments.words.size() != 1) {
    return usage("send needs --to STATION and a file");
  }
  const auto destination = config->book.find(given["to"].as<std::string>());
  if (!destination) return usage("--to: " + destination.error().detail);
  if (destination->group) {
    return usage(escaped(given["to"].as<std::string>()) + " is a group, not a station");
  }
  std::optional<std::uint8_t> priority;
  if (given.count("priority")) {
    const unsigned value = given["priority"].as<unsigned>();
    if (value > 15) return usage("--priority is 0 to 15");
    priority = static_cast<std::uint8_t>(value);
  }
  return file_relay::send_file(*config,
                               {.destination = *destination,
                                .file = arguments.words[0],
                                .priority = priority,
                                .wait = given.count("wait") > 0 || given.count("progress") > 0,
                                .progress = given.count("progress") > 0,
                                .form = arguments.form},
                               log);
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
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string one = text.substr(at, end - at);
    at = end + 1;
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

std::optional<int> put(const Config& config, const ServiceArguments& arguments) {
  const auto& given = arguments.given;
  if (!given.count("to") || arguments.words.empty()) {
    return usage("put needs --to STATION and files or folders");
  }
  auto stations = stations_of(*config, given["to"].as<std::string>());
  const auto grade = grade_of(given);
  if (!stations || !grade) return posix::kExitUsage;
  std::optional<std::uint8_t> priority;
  if (given.count("priority")) {
    const unsigned value = given["priority"].as<unsigned>();
    if (value > 15) return usage("--priority is 0 to 15");
    priority = static_cast<std::uint8_t>(value);
  }
  return file_relay::put_files(*config,
                               {.files = arguments.words,
                                .to = std::move(*stations),
                                .priority = priority,
                                .grade = *grade,
                                .wait = given.count("wait") > 0 || given.count("progress") > 0,
                                .progress = given.count("progress") > 0,
                                .form = arguments.form});
}

/// Carries out a command about STATION:PATH.
std::optional<int> far_inbox(const Config& config, const ServiceArguments& arguments,
                             file_relay::InboxRequest request) {
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
  return file_relay::ask_far_inbox(*config, request, *station, path, arguments.form);
}

std::optional<int> queue(const Config& config, const ServiceArguments& arguments, bool all) {
  if (!arguments.words.empty()) return std::nullopt;
  const auto& given = arguments.given;
  gateways::ListFilter filter{.over = all || given.count("all") > 0};
  if (given.count("state")) {
    const std::string text = given["state"].as<std::string>();
    const auto state = gateways::parse_spool_state(text);
    if (!state) return usage("no such state: " + escaped(text));
    filter.state = *state;
  }
  if (given.count("station")) {
    const auto station = config->book.find(given["station"].as<std::string>());
    if (!station) return usage("--station: " + station.error().detail);
    filter.destination = *station;
  }
  return file_relay::show_queue(*config, filter, arguments.form);
}

/// Carries out a command about one file.
std::optional<int> about_file(const Config& config, const ServiceArguments& arguments) {
  using file_relay::ControlAction;
  static const std::map<std::string, ControlAction> kArriving = {{"hold", ControlAction::suspend},
                                                                 {"release", ControlAction::resume},
                                                                 {"cancel", ControlAction::cancel}};
  const auto arriving = kArriving.find(arguments.command);
  const bool from_station =
      arguments.words.size() == 1 && arguments.words[0].find('/') != std::string::npos;
  if (from_station && arriving != kArriving.end()) {
    return file_relay::change_arriving(*config, arriving->second, arguments.words[0],
                                       arguments.form);
  }
  const auto id =
      gateways::parse_spool_id(arguments.words.size() == 1 ? arguments.words[0] : std::string());
  if (!id) return usage(arguments.command + " needs the number of a file, as in queue");
  const auto change = gateways::parse_spool_change(arguments.command);
  return change ? file_relay::change_file(*config, *change, *id, arguments.form)
                : file_relay::show_file(*config, *id, arguments.form);
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
  const auto one = [&config](const ServiceArguments& arguments, LogSink&) {
    return about_file(config, arguments);
  };
  relay.commands = {
      {"send", "--to STATION [--priority N] FILE [--wait] [--progress]", "hand a file to the relay",
       [&config](const ServiceArguments& arguments, LogSink& log) {
         return send(config, arguments, log);
       }},
      {"put",
       "--to STATION[,STATION|GROUP] [--priority N] [--grade GRADE] FILE... [--wait] [--progress]",
       "hand files, or all files of folders, to the relay",
       [&config](const ServiceArguments& arguments, LogSink&) { return put(config, arguments); }},
      {"get", "STATION:PATH", "fetch a file from the inbox of another station",
       [&config](const ServiceArguments& arguments, LogSink&) {
         return far_inbox(config, arguments, file_relay::InboxRequest::get);
       }},
      {"ls", "STATION:[PATH]", "list the inbox of another station",
       [&config](const ServiceArguments& arguments, LogSink&) {
         return far_inbox(config, arguments, file_relay::InboxRequest::list);
       }},
      {"rm", "STATION:PATH", "delete a file in the inbox of another station",
       [&config](const ServiceArguments& arguments, LogSink&) {
         return far_inbox(config, arguments, file_relay::InboxRequest::remove);
       }},
      {"stat", "STATION:PATH", "size, time and digest of a file of another station",
       [&config](const ServiceArguments& arguments, LogSink&) {
         return far_inbox(config, arguments, file_relay::InboxRequest::stat);
       }},
      {"watch", "", "how far the files are, until none is on its way",
       [&config](const ServiceArguments& arguments, LogSink&) -> std::optional<int> {
         if (!arguments.words.empty()) return std::nullopt;
         return file_relay::watch_transfers(*config, arguments.form);
       }},
      {"queue", "[--all] [--state STATE] [--station STATION]", "the files that are not over",
       [&config](const ServiceArguments& arguments, LogSink&) {
         return queue(config, arguments, false);
       }},
      {"list", "", "the same as queue --all",
       [&config](const ServiceArguments& arguments, LogSink&) {
         return queue(config, arguments, true);
       }},
      {"show", "ID", "one file, and what it waits for", one},
      {"hold", "ID", "keep it until it is released; also STATION/NUMBER, as in incoming", one},
      {"release", "ID", "let a held file go on; also STATION/NUMBER", one},
      {"retry", "ID", "try again at once, with its first lifetime", one},
      {"cancel", "ID", "give it up; also STATION/NUMBER", one},
  };
  relay.aliases = {{"pause", "hold"}, {"resume", "release"}};
  relay.verbs = {file_relay::kStatusVerb, file_relay::kIncomingVerb};
  relay.options.add_options()("to", options::value<std::string>()->value_name("STATION"),
                              "with send and put: the station by its address or name")(
      "priority", options::value<unsigned>()->value_name("N"),
      "with send: 0 to 15, larger goes first; the default is that of the configuration")(
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
