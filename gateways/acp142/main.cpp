// SPDX-License-Identifier: Apache-2.0
// s5066-acp142, the mail gateway of STANAG 5066 (ACP 142, RFC 8494): its commands and its service.
#include <boost/program_options.hpp>
#include <optional>
#include <random>
#include <string>

#include "config/load.h"
#include "gateways/acp142/mail/mail_operator.h"
#include "gateways/acp142/mail/mail_service.h"
#include "gateways/common/service_main.h"
#include "s5066d/posix/main_tail.h"

namespace {

namespace options = boost::program_options;
using namespace s5066;
using gateways::ServiceArguments;
using Config = std::optional<acp142::MailConfig>;

Result<void> serve(const Config& config, LogSink& log) {
  auto table = acp142::address_table(*config);
  if (!table) return table.error();
  std::random_device random;
  const std::uint64_t seed = std::uint64_t{random()} << 32 | random();
  return acp142::MailService(*config, std::move(table).value(), seed, log).run();
}

/// Returns the number of a station, because its name may be of any length.
Result<std::string> number_of(const Config& config, const std::string& name) {
  for (const auto& station : config->stations) {
    if (station.name == name) return std::to_string(station.node.value);
  }
  return Error{ErrorCode::not_found, "no station " + name};
}

Result<std::string> queue_request(const Config& config, const ServiceArguments& arguments) {
  const auto& given = arguments.given;
  if (!arguments.words.empty()) return Error{ErrorCode::bad_field, "queue has options only"};
  std::string request = "queue";
  if (given.count("all")) request += " all=1";
  for (const char* key : {"state", "from"}) {
    if (!given.count(key)) continue;
    const std::string value = given[key].as<std::string>();
    if (!gateways::is_request_word(value)) {
      return Error{ErrorCode::bad_field,
                   std::string("--") + key + " is one word in printable ASCII"};
    }
    request += std::string(" ") + key + "=" + value;
  }
  if (!given.count("station")) return request;
  const auto number = number_of(config, given["station"].as<std::string>());
  if (!number) return number.error();
  return request + " station=" + *number;
}

Result<std::string> station_request(const Config& config, const ServiceArguments& arguments) {
  if (arguments.words.size() != 2) {
    return Error{ErrorCode::bad_field, "station needs NAME and silent or answering"};
  }
  const auto number = number_of(config, arguments.words[0]);
  if (!number) return number.error();
  if (!gateways::is_request_word(arguments.words[1])) {
    return Error{ErrorCode::bad_field,
                 "'" + arguments.words[1] + "' is no state of a station; use silent or answering"};
  }
  return "station " + *number + " " + arguments.words[1];
}

gateways::ServiceProgram program(Config& config) {
  gateways::ServiceProgram mail{
      .name = "s5066-acp142",
      .load = gateways::loader([](const std::string& file,
                                  config::Scope scope) { return config::load_mail(file, scope); },
                               config),
      .suffix = "-mail",
      .log_level = [&config] { return config->log_level; },
      .spool_directory = [&config] { return config->spool_directory; },
      .control_socket = [&config] { return acp142::control_socket_path(*config); },
      .serve = [&config](LogSink& log) { return serve(config, log); },
      .check = [&config]() -> Result<void> {
        const auto table = acp142::address_table(*config);
        return table ? Result<void>() : table.error();
      }};
  mail.verbs = acp142::mail_verbs();
  mail.requests = {
      {"queue",
       [&config](const ServiceArguments& arguments) { return queue_request(config, arguments); }},
      {"station", [&config](const ServiceArguments& arguments) {
         return station_request(config, arguments);
       }}};
  mail.aliases = {{"requeue", "retry"}, {"delete", "cancel"}};
  mail.options.add_options()("all", "with queue: also what is over")(
      "state", options::value<std::string>()->value_name("STATE"), "with queue: only these")(
      "station", options::value<std::string>()->value_name("NAME"),
      "with queue: only for this station")("from",
                                           options::value<std::string>()->value_name("ADDRESS"),
                                           "with queue: only by this sender");
  return mail;
}

int run(int argc, char** argv) {
  Config config;
  return gateways::service_main(program(config), argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
  return posix::run_main<options::error>("s5066-acp142", run, argc, argv);
}
