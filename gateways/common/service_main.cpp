// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/service_main.h"

#include <algorithm>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/positional_options.hpp>
#include <iostream>

#include "gateways/common/damage_note.h"
#include "gateways/common/spool_lock.h"
#include "s5066d/base/nearest.h"
#include "s5066d/base/version.h"
#include "s5066d/control/station_files.h"
#include "s5066d/posix/log_writer.h"
#include "s5066d/posix/main_tail.h"
#include "s5066d/posix/unknown_option.h"

namespace s5066::gateways {
namespace {

namespace options = boost::program_options;

/// The longest word of a request is a mail address or a Message-ID.
constexpr std::size_t kWordOctetsMax = 300;

std::vector<control::VerbInfo> requests_of(const ServiceProgram& program) {
  std::vector<control::VerbInfo> verbs = program.verbs;
  verbs.insert(verbs.end(), {control::kCountersVerb, control::kEventsVerb});
  return verbs;
}

options::options_description known_options(const ServiceProgram& program) {
  options::options_description known("Options");
  auto add = known.add_options();
  add("config", options::value<std::string>()->value_name("FILE"), control::kConfigurationHelp);
  known.add(program.options);
  add("json", "print the answer as JSON");
  add("quiet,q", "print and log errors only");
  add("verbose,v", "log everything; `check` also names the file that is good");
  add("version", "print the version");
  add("help,h", "print this help");
  return known;
}

ServiceArguments parse(const options::options_description& known, int argc, char** argv) {
  options::options_description hidden;
  hidden.add_options()("command", options::value<std::string>());
  hidden.add_options()("words", options::value<std::vector<std::string>>());
  options::options_description all;
  all.add(known).add(hidden);
  options::positional_options_description positions;
  positions.add("command", 1).add("words", -1);
  ServiceArguments arguments;
  auto& given = arguments.given;
  try {
    options::store(
        options::command_line_parser(argc, argv).options(all).positional(positions).run(), given);
  } catch (const options::unknown_option& problem) {
    throw options::error(posix::unknown_option_text(problem, known));
  }
  if (given.count("command")) arguments.command = given["command"].as<std::string>();
  if (given.count("words")) arguments.words = given["words"].as<std::vector<std::string>>();
  if (given.count("json")) arguments.form = control::Form::json;
  if (given.count("quiet")) arguments.loudness = Loudness::quiet;
  if (given.count("verbose")) arguments.loudness = Loudness::verbose;
  return arguments;
}

std::vector<std::string> command_names(const ServiceProgram& program) {
  std::vector<std::string> names = {"run", "check"};
  for (const ServiceCommand& command : program.commands) names.emplace_back(command.name);
  for (const control::VerbInfo& verb : requests_of(program)) names.emplace_back(verb.name);
  for (const auto& [alias, name] : program.aliases) names.push_back(alias);
  return names;
}

int usage(const ServiceProgram& program, const std::string& command) {
  const std::vector<std::string> names = command_names(program);
  const bool known = std::find(names.begin(), names.end(), command) != names.end();
  if (!command.empty() && !known) {
    std::cerr << program.name << ": no such command: " << escaped(command) << "; --help lists them"
              << did_you_mean(command, names) << "\n";
  } else {
    std::cerr << service_synopsis(program);
  }
  return posix::kExitUsage;
}

/// Finds what prevents a start and no restart mends; `check` and `run` both call it.
Result<void> find_obstacle(const ServiceProgram& program) {
  if (program.check) {
    if (auto checked = program.check(); !checked) return checked;
  }
  if (!program.spool_directory) return {};
  const std::string spool = program.spool_directory();
  if (auto may = check_spool_writable(spool); !may) return may;
  return check_spool_version(spool);
}

/// True for an error that a restart may cure.
bool may_pass(const Error& error) {
  return error.code != ErrorCode::bad_field && error.code != ErrorCode::refused &&
         error.code != ErrorCode::unsupported;
}

int check(const ServiceProgram& program, const ServiceArguments& arguments,
          const std::string& file) {
  if (const auto found = find_obstacle(program); !found) {
    std::cerr << program.name << ": " << escaped(found.error().detail) << "\n";
    return posix::kExitUsage;
  }
  if (arguments.loudness == Loudness::verbose) std::cout << file << ": good\n";
  return posix::kExitOk;
}

int serve(const ServiceProgram& program, LogSink& log) {
  const auto fail = [&](const Error& error, int status) {
    LogLine(log, LogLevel::error, "gateway_failed").kv("reason", to_string(error));
    std::cerr << program.name << ": " << escaped(error.detail) << "\n";
    return status;
  };
  if (auto found = find_obstacle(program); !found) return fail(found.error(), posix::kExitUsage);
  const auto served = program.serve(log);
  if (served) return posix::kExitOk;
  if (served.error().code != ErrorCode::bad_checksum) {
    return fail(served.error(),
                may_pass(served.error()) ? posix::kExitEnvironment : posix::kExitUsage);
  }
  if (program.spool_directory) {
    note_damage(program.spool_directory() + "/spool.db", served.error().detail);
  }
  return fail(served.error(), posix::kExitSpoolDamaged);
}

Result<std::string> request_line(const ServiceProgram& program, const ServiceArguments& arguments) {
  const auto own = program.requests.find(arguments.command);
  if (own != program.requests.end()) return own->second(arguments);
  std::string line = arguments.command;
  for (const std::string& word : arguments.words) {
    if (!is_request_word(word)) {
      return Error{ErrorCode::bad_field, "an argument is one word of printable ASCII, at most " +
                                             std::to_string(kWordOctetsMax) + " octets"};
    }
    line += " " + word;
  }
  return line;
}

int ask(const ServiceProgram& program, const control::VerbInfo& verb,
        const ServiceArguments& arguments, const ServiceClient& service) {
  const auto line = request_line(program, arguments);
  if (!line) {
    std::cerr << program.name << ": " << escaped(line.error().detail) << "\n";
    return posix::kExitUsage;
  }
  return service.ask_and_print(*line, verb.answer());
}

std::optional<int> carry_out(const ServiceProgram& program, const ServiceArguments& arguments,
                             const std::string& file, LogSink& log) {
  if (arguments.command == "run" && arguments.words.empty()) return serve(program, log);
  if (arguments.command == "check" && arguments.words.empty()) {
    return check(program, arguments, file);
  }
  const ServiceClient service(
      {.program = program.name,
       .socket = program.control_socket(),
       .start = control::start_command(program.name, std::string(program.suffix), file),
       .form = arguments.form});
  for (const ServiceCommand& command : program.commands) {
    if (command.name == arguments.command) return command.run(arguments, service);
  }
  for (const control::VerbInfo& verb : requests_of(program)) {
    if (verb.name == arguments.command) return ask(program, verb, arguments, service);
  }
  return std::nullopt;
}

Result<std::string> configuration_of(const ServiceProgram& program,
                                     const ServiceArguments& arguments) {
  if (arguments.given.count("config")) return arguments.given["config"].as<std::string>();
  return control::default_configuration(std::string(program.suffix));
}

}  // namespace

bool is_request_word(const std::string& word) {
  return !word.empty() && word.size() <= kWordOctetsMax &&
         std::all_of(word.begin(), word.end(), [](char c) { return c > 32 && c < 127; });
}

std::string service_synopsis(const ServiceProgram& program) {
  std::string text;
  const auto add = [&](std::string_view name, std::string_view arguments,
                       std::string_view purpose) {
    text.append(program.name).append(" ").append(name);
    if (!arguments.empty()) text.append(" ").append(arguments);
    text.append("\n    ").append(purpose).append("\n");
  };
  add("run", "", "serve");
  add("check", "", "only check the configuration");
  for (const ServiceCommand& command : program.commands) {
    add(command.name, command.arguments, command.purpose);
  }
  for (const control::VerbInfo& verb : requests_of(program)) {
    add(verb.name, verb.arguments, verb.purpose);
  }
  for (const auto& [alias, name] : program.aliases) add(alias, "", "the same as " + name);
  return text;
}

int service_main(const ServiceProgram& program, int argc, char** argv) {
  const auto known = known_options(program);
  ServiceArguments arguments = parse(known, argc, argv);
  if (arguments.given.count("help")) {
    std::cout << service_synopsis(program) << "\n" << known;
    return posix::kExitOk;
  }
  if (arguments.given.count("version")) {
    std::cout << version_line(program.name);
    return posix::kExitOk;
  }
  if (arguments.command.empty()) return usage(program, "");
  const auto alias = program.aliases.find(arguments.command);
  if (alias != program.aliases.end()) arguments.command = alias->second;
  const std::vector<std::string> names = command_names(program);
  if (std::find(names.begin(), names.end(), arguments.command) == names.end()) {
    return usage(program, arguments.command);
  }
  const auto file = configuration_of(program, arguments);
  if (!file) {
    std::cerr << program.name << ": " << escaped(file.error().detail) << "\n";
    return posix::kExitUsage;
  }

  const bool checks = arguments.command == "check";
  const bool runs = arguments.command == "run";
  const ServiceLoaded loaded = program.load(*file, runs     ? config::Scope::start
                                                   : checks ? config::Scope::before_start
                                                            : config::Scope::text);
  for (const std::string& problem : loaded.problems) std::cerr << problem << "\n";
  if (!loaded.problems.empty()) return posix::kExitUsage;
  if ((runs || checks) && arguments.loudness != Loudness::quiet) {
    for (const std::string& warning : loaded.warnings) std::cerr << warning << "\n";
  }
  posix::LogWriter log(arguments.loudness == Loudness::quiet     ? LogLevel::error
                       : arguments.loudness == Loudness::verbose ? LogLevel::debug
                                                                 : program.log_level());
  if (const auto status = carry_out(program, arguments, *file, log)) return *status;
  return usage(program, arguments.command);
}

}  // namespace s5066::gateways
