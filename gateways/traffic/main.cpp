// SPDX-License-Identifier: Apache-2.0
// s5066-traffic: sends and receives numbered and time-stamped load, to measure a path.
#include <boost/program_options.hpp>
#include <fstream>
#include <iostream>
#include <random>

#include "gateways/traffic/traffic_options.h"
#include "gateways/traffic/traffic_receiver.h"
#include "gateways/traffic/traffic_report.h"
#include "gateways/traffic/traffic_sender.h"
#include "s5066d/posix/main_tail.h"

namespace {

using namespace s5066;

int failed(const std::string& why) {
  std::cerr << "s5066-traffic: " << why << "\n";
  return posix::kExitEnvironment;
}

void print(const traffic::SendFigures& figures, bool tcp, bool json) {
  if (json) {
    std::cout << "{\"run\":\"" << std::hex << figures.run << std::dec
              << "\",\"sent\":" << figures.sent << ",\"octets\":" << figures.octets
              << ",\"refused\":" << figures.refused
              << ",\"connected_s\":" << to_seconds(figures.connected)
              << ",\"took_s\":" << to_seconds(figures.took)
              << ",\"complete\":" << (figures.complete ? "true" : "false") << "}\n";
    return;
  }
  std::cout << "sent " << figures.sent << " probes of " << figures.octets << " octets in "
            << to_seconds(figures.took) << " s\n";
  if (tcp) std::cout << "connected after " << to_seconds(figures.connected) << " s\n";
  if (figures.refused > 0) {
    std::cout << "the kernel refused " << figures.refused << ": " << figures.last_refusal << "\n";
  }
}

int send(const traffic::Options& options) {
  traffic::TrafficSender sender(options.sending, options.port, options.tcp, std::random_device{}());
  const auto figures = sender.send();
  if (!figures) return failed(figures.error().detail);
  print(*figures, options.tcp, options.json);
  return figures->complete ? posix::kExitOk : posix::kExitEnvironment;
}

int receive(const traffic::Options& options) {
  traffic::TrafficReceiver receiver(options.receiving, options.port, options.tcp);
  if (const auto received = receiver.receive(); !received) return failed(received.error().detail);
  const auto runs = receiver.core().reports();
  const auto& counters = receiver.core().counters();
  std::cout << (options.json ? traffic::to_json(runs, counters) : traffic::to_text(runs, counters));
  if (options.receiving.svg_file.empty()) return posix::kExitOk;
  std::ofstream file(options.receiving.svg_file);
  file << traffic::to_svg(runs);
  if (file.flush()) return posix::kExitOk;
  return failed(options.receiving.svg_file + " cannot be written");
}

int run(int argc, char** argv) {
  traffic::Instead instead;
  const auto options = traffic::read_command_line(argc, argv, instead);
  if (!options && !instead.help.empty()) {
    std::cout << instead.help;
    return posix::kExitOk;
  }
  if (!options) {
    std::cerr << "s5066-traffic: " << instead.problem << "\n";
    return posix::kExitUsage;
  }
  return options->send ? send(*options) : receive(*options);
}

}  // namespace

int main(int argc, char** argv) {
  return posix::run_main<boost::program_options::error>("s5066-traffic", run, argc, argv);
}
