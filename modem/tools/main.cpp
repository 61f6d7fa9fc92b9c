// SPDX-License-Identifier: Apache-2.0
// `hfmodem` runs the modems from the command line. Each subcommand explains itself with --help.
#include <csignal>
#include <cstdio>
#include <exception>
#include <iterator>
#include <string>
#include <vector>

#include "modem/tools/subcommands.h"
#include "s5066d/base/log.h"
#include "s5066d/base/nearest.h"
#include "s5066d/base/version.h"
#include "s5066d/posix/standard_streams.h"

namespace {

using s5066::modem::tools::Subcommand;

struct Row {
  const char* name;
  Subcommand run;
  const char* purpose;
};

constexpr Row kSubcommands[] = {
    {"mod", s5066::modem::tools::run_mod, "turn a file of bytes into a WAV file"},
    {"demod", s5066::modem::tools::run_demod,
     "find the bursts in a file of samples and write their bytes"},
    {"modes", s5066::modem::tools::run_modes, "list the modes and their shortest time on the air"},
    {"channel", s5066::modem::tools::run_channel, "send a WAV file through a simulated channel"},
    {"ber", s5066::modem::tools::run_ber, "measure the bit error rate over a simulated channel"},
    {"cable", s5066::modem::tools::run_cable, "connect modem processes by an audio cable"},
    {"devices", s5066::modem::tools::run_devices, "list the sound cards and their latency"},
    {"serve", s5066::modem::tools::run_serve,
     "let another machine use this machine's modem over TCP"},
    {"doctor", s5066::modem::tools::run_doctor,
     "test sound card, key and loop, and print the configuration"},
    {"scope", s5066::modem::tools::run_scope, "show level and quality of the received signal"},
    {"key", s5066::modem::tools::run_key, "key the transmitter for a second and unkey it"},
};

void print_usage(std::FILE* to) {
  std::fputs("usage: hfmodem SUBCOMMAND [OPTIONS]\n\n", to);
  for (const Row& row : kSubcommands) std::fprintf(to, "  %-10s %s\n", row.name, row.purpose);
  std::fputs(
      "\n`hfmodem SUBCOMMAND --help` lists the options, and `hfmodem --version` says which "
      "version this is.\n",
      to);
}

int run(int argc, char** argv) {
  if (argc < 2) {
    print_usage(stderr);
    return s5066::modem::tools::kExitUsage;
  }
  const std::string name = argv[1];
  if (name == "--help" || name == "-h") {
    print_usage(stdout);
    return s5066::modem::tools::kExitOk;
  }
  if (name == "--version") {
    std::fputs(s5066::version_line("hfmodem").c_str(), stdout);
    return s5066::modem::tools::kExitOk;
  }
  for (const Row& row : kSubcommands) {
    if (name == row.name) return row.run(std::vector<std::string>(argv + 2, argv + argc));
  }
  std::vector<std::string> names;
  for (const Row& row : kSubcommands) names.emplace_back(row.name);
  std::fprintf(stderr, "hfmodem: no such %s: %s; --help lists them%s\n",
               name.starts_with('-') ? "option" : "subcommand", s5066::escaped(name).c_str(),
               s5066::did_you_mean(name, names).c_str());
  return s5066::modem::tools::kExitUsage;
}

}  // namespace

int main(int argc, char** argv) {
  s5066::posix::open_standard_streams();
  std::signal(SIGPIPE, SIG_IGN);  // the reader of our output may end while a transmitter is keyed
  try {
    return s5066::posix::finish_standard_output("hfmodem", run(argc, argv));
  } catch (const std::exception& error) {  // a library throws, for example without memory
    std::fprintf(stderr, "hfmodem: %s\n", error.what());
    return s5066::modem::tools::kExitFailed;
  }
}
