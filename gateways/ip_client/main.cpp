// SPDX-License-Identifier: Apache-2.0
// s5066-ip, the IP client of STANAG 5066 Annex F: its commands and its service.
#include <boost/program_options.hpp>
#include <optional>
#include <string>

#include "config/load.h"
#include "gateways/common/service_main.h"
#include "gateways/ip_client/ip_service.h"
#include "s5066d/posix/main_tail.h"

namespace {

using namespace s5066;

/// The configuration in use, and its file for `reload`.
struct Settings {
  std::string file;
  std::optional<ip_client::IpConfig> config;
};

ip_client::Reloaded reload(const std::string& file) {
  auto loaded = config::load_ip(file);
  ip_client::Reloaded reloaded{.config = std::move(loaded.value)};
  for (const auto& problem : loaded.problems) reloaded.problems.push_back(to_string(problem));
  return reloaded;
}

gateways::ServiceProgram program(Settings& settings) {
  const auto load = gateways::loader(
      [](const std::string& file, config::Scope scope) { return config::load_ip(file, scope); },
      settings.config);
  gateways::ServiceProgram ip{
      .name = "s5066-ip",
      .load =
          [&settings, load](const std::string& file, config::Scope scope) {
            settings.file = file;
            return load(file, scope);
          },
      .suffix = "-ip",
      .log_level = [&settings] { return settings.config->log_level; },
      .control_socket = [&settings] { return settings.config->control_socket; },
      .serve =
          [&settings](LogSink& log) {
            const auto again = [&settings] { return reload(settings.file); };
            return ip_client::IpService(*settings.config, again, log).run();
          }};
  ip.verbs = {ip_client::kStatusVerb, ip_client::kTableVerb, ip_client::kFlowsVerb,
              ip_client::kQueueVerb, ip_client::kReloadVerb};
  return ip;
}

int run(int argc, char** argv) {
  Settings settings;
  return gateways::service_main(program(settings), argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
  return posix::run_main<boost::program_options::error>("s5066-ip", run, argc, argv);
}
