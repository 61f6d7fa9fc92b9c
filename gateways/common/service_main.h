// SPDX-License-Identifier: Apache-2.0
// The main() of a gateway: arguments, configuration, `run`, `check`, and requests to the gateway
// that runs. Every request of the control interface is a command of the program.
#pragma once

#include <boost/program_options/options_description.hpp>
#include <boost/program_options/variables_map.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "config/scope.h"
#include "gateways/common/service_client.h"
#include "s5066d/base/log.h"
#include "s5066d/base/result.h"
#include "s5066d/control/verbs.h"

namespace s5066::gateways {

/// Tells how much the program says: errors only, what is usual, or everything.
enum class Loudness { quiet, usual, verbose };

/// The command line after the name of the program.
struct ServiceArguments {
  std::string command;
  std::vector<std::string> words;
  boost::program_options::variables_map given;
  control::Form form = control::Form::text;
  Loudness loudness = Loudness::usual;
};

/// A command that takes more than one request.
struct ServiceCommand {
  std::string_view name;
  std::string_view arguments;  // arguments as --help shows them
  std::string_view purpose;
  /// Returns the exit status. Nothing means that the arguments are wrong.
  std::function<std::optional<int>(const ServiceArguments& arguments, const ServiceClient& service)>
      run;
};

/// The result of loading a configuration file.
struct ServiceLoaded {
  std::vector<std::string> problems;  // if there are problems, the file is not usable
  std::vector<std::string> warnings;
};

struct ServiceProgram {
  const char* name;
  /// Reads the configuration that all functions below use.
  std::function<ServiceLoaded(const std::string& file, config::Scope scope)> load;
  std::string_view suffix = {};  // of its configuration: "-relay"
  std::function<LogLevel()> log_level;
  std::function<std::string()> spool_directory;  // empty: the program has no spool
  std::function<std::string()> control_socket;
  /// Serves until a signal ends it. An error means that it could not start, or had to end.
  std::function<Result<void>(LogSink& log)> serve;
  /// Returns an error that tells what in the configuration prevents a start; may be empty.
  std::function<Result<void>()> check = {};

  std::vector<ServiceCommand> commands = {};  // commands in addition to run and check
  /// Requests to the running gateway. The common requests are added to them.
  std::vector<control::VerbInfo> verbs = {};
  /// Returns the request line of a command whose request is not simply the command with its words.
  std::map<std::string, std::function<Result<std::string>(const ServiceArguments&)>> requests = {};
  /// Other names of requests.
  std::map<std::string, std::string> aliases = {};
  /// Options in addition to the common ones.
  boost::program_options::options_description options = {};
};

/// Loads a configuration with one of the functions of config/load.h.
template <typename Load, typename Config>
std::function<ServiceLoaded(const std::string&, config::Scope)> loader(Load load,
                                                                       std::optional<Config>& to) {
  return [load, &to](const std::string& file, config::Scope scope) {
    auto loaded = [&] {
      if constexpr (std::is_invocable_v<Load, const std::string&, config::Scope>) {
        return load(file, scope);
      } else {
        return load(file);  // only the file can be wrong here
      }
    }();
    ServiceLoaded result;
    for (const auto& problem : loaded.problems) result.problems.push_back(to_string(problem));
    for (const auto& warning : loaded.warnings) result.warnings.push_back(to_string(warning));
    to = std::move(loaded.value);
    return result;
  };
}

/// True if a text can be one word of a request.
bool is_request_word(const std::string& word);

/// Returns the exit status. Throws the exceptions of boost::program_options for wrong options.
int service_main(const ServiceProgram& program, int argc, char** argv);

/// Returns the commands of the program as text for --help.
std::string service_synopsis(const ServiceProgram& program);

}  // namespace s5066::gateways
