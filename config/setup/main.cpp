// SPDX-License-Identifier: Apache-2.0
// s5066-setup brings a station up: it finds and tries the sound card and the key, and writes the
// configurations of the station. It asks in the terminal or reads the answers from a file.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/program_options.hpp>
#include <ctime>
#include <iostream>
#include <string>
#include <vector>

#include "config/address_book.h"
#include "config/setup/answers.h"
#include "config/setup/configuration_writer.h"
#include "config/setup/key_terminal.h"
#include "config/setup/questions.h"
#include "config/setup/station_plan.h"
#include "config/setup/trials.h"
#include "s5066d/base/version.h"
#include "s5066d/control/station_files.h"
#include "s5066d/posix/ending_signals.h"
#include "s5066d/posix/main_tail.h"
#include "s5066d/posix/socket.h"
#include "s5066d/posix/unknown_option.h"

extern char** environ;

namespace {

namespace po = boost::program_options;
using namespace s5066;
using proto::SetupAnswers;

constexpr const char* kProgram = "s5066-setup";

int fail(const std::string& text, int status = posix::kExitEnvironment) {
  std::cerr << kProgram << ": " << text << "\n";
  return status;
}

std::string stamp_of_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &utc)};
}

/// Tries card and key once. Returns the number of faults.
Result<unsigned> try_hardware(SetupAnswers& answers, bool interactive) {
  if (auto paired = config::pair_key_with_card(answers); !paired) return paired.error();
  auto key = config::key_way_of(answers);
  if (!key) return key.error();
  const auto device = config::device_of(answers);
  if (interactive) {
    std::cout << "\nSet the receive level with the bar, then press a key. During the tone + and -\n"
                 "change its level, and any other key ends it. Ctrl-C ends all.\n";
  }
  config::KeyTerminal view(interactive);
  return config::Trials(answers, view, posix::monotonic_now).run(*device, std::move(*key));
}

enum class Tried { good, faulty, stopped };

/// Tries card and key until they are good, or the person goes on with the faults or stops.
Result<Tried> try_until_good(SetupAnswers& answers, config::Dialogue& dialogue) {
  for (;;) {
    const auto faults = try_hardware(answers, true);
    if (!faults) return faults.error();
    if (*faults == 0) return Tried::good;
    const auto wanted = config::ask_after_fault(dialogue);
    if (wanted == config::AfterFault::go_on) return Tried::faulty;
    if (wanted == config::AfterFault::stop) return Tried::stopped;
  }
}

/// Runs systemctl and returns its exit status; 127 if it could not be run.
int run_systemctl(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {"systemctl"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = -1;
  if (::posix_spawnp(&child, "systemctl", nullptr, nullptr, argv.data(), environ) != 0) return 127;
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 127;
  return WEXITSTATUS(status);
}

int start_services(const std::string& name) {
  for (const std::string& unit : {"s5066d@" + name, "s5066-relay@" + name}) {
    std::cout << "starting " << unit << std::endl;
    // A unit that runs already takes the new configuration by a restart only.
    if (run_systemctl({"enable", unit}) != 0 || run_systemctl({"restart", unit}) != 0) {
      return fail("systemctl could not start " + unit + "; `journalctl -u " + unit + "` tells why");
    }
  }
  return posix::kExitOk;
}

/// Writes the configurations, or says why not.
int write(SetupAnswers& answers, config::Dialogue* dialogue) {
  const std::string folder = config::folder_of(answers);
  const auto known = config::address_book_of(folder + "/x", "");
  if (!known.value) return fail(to_string(known.problems.front()));
  const auto files = config::plan_station(answers, *known.value, config::places_of_others(answers));
  if (!files) return fail(files.error().detail);
  const auto in_the_way = config::files_in_the_way(*files);
  if (!in_the_way) return fail(in_the_way.error().detail);
  if (!in_the_way->empty() && !answers.replace()) {
    for (const std::string& path : *in_the_way) std::cout << path << " exists already\n";
    const bool may = dialogue != nullptr &&
                     dialogue->ask_yes_no("Replace these files; a copy of each is kept", false);
    if (!may) return fail("nothing was written; `replace: true` replaces files and keeps copies");
  }
  const auto written = config::write_configurations(*files, stamp_of_now());
  if (!written) return fail(written.error().detail);
  for (const auto& file : *written) {
    std::cout << (file.how == config::Written::unchanged ? "unchanged " : "written   ") << file.path
              << (file.copy.empty() ? "" : ", the old one is " + file.copy) << "\n";
  }
  return posix::kExitOk;
}

/// Writes the configurations and starts the services, if a person who is asked agrees. `good` is
/// false after a trial with a fault; then the services start only if the person says so.
int finish(SetupAnswers& answers, config::Dialogue* dialogue, bool good) {
  if (const int status = write(answers, dialogue); status != posix::kExitOk) return status;
  const std::string& name = answers.station().name();
  const std::string station = config::folder_of(answers) + "/" + name;
  const std::string node = station + ".textproto";
  if (!control::unit_of("s5066d", "", node)) {  // the units do not read this folder
    std::cout << "start it with: " << control::start_command("s5066d", "", node)
              << "\n           and: "
              << control::start_command("s5066-relay", "-relay", station + "-relay.textproto")
              << std::endl;
    if (!answers.start_services()) return posix::kExitOk;
    return fail("the services read " + std::string(config::kConfigurationFolder) + " only");
  }
  const bool start =
      answers.start_services() ||
      (dialogue != nullptr && dialogue->ask_yes_no("Start the station now and at each boot", good));
  if (start) return start_services(name);
  const std::string units = " s5066d@" + name + " s5066-relay@" + name;
  std::cout << "start it with: sudo systemctl enable" << units << " && sudo systemctl restart"
            << units << std::endl;
  return posix::kExitOk;
}

int with_answers(SetupAnswers answers) {
  const auto faults = try_hardware(answers, false);
  if (!faults) return fail(faults.error().detail);
  if (*faults > 0 && !answers.trials().accept_faults()) {
    return fail(
        "nothing was written because of the faults above; `accept_faults: true` of trials "
        "writes all the same");
  }
  return finish(answers, nullptr, *faults == 0);
}

int with_questions(const std::string& folder) {
  config::Dialogue dialogue(std::cin, std::cout);
  SetupAnswers answers;
  if (!folder.empty()) answers.set_folder(folder);
  const config::Surroundings around = config::look_around();
  if (around.inputs.empty() || around.outputs.empty()) {
    return fail("there is no sound card with input and output, and no sound server answers");
  }
  try {
    config::ask_before_trials(dialogue, around, answers);
    const auto tried = try_until_good(answers, dialogue);
    if (!tried) return fail(tried.error().detail);
    if (*tried == Tried::stopped) return fail("nothing was written because of the faults above");
    config::ask_after_trials(dialogue, answers);
    return finish(answers, &dialogue, *tried == Tried::good);
  } catch (const config::InputEnded&) {
    return fail("the answers ended too early");
  }
}

int run(int argc, char** argv) {
  po::options_description known("s5066-setup [OPTION]...\n\nOptions");
  known.add_options()("answers", po::value<std::string>()->value_name("FILE"),
                      "read the answers from this file and ask nothing")(
      "folder", po::value<std::string>()->value_name("FOLDER"),
      "without --answers: write the configurations there; default: /etc/s5066")(
      "version", "print the version")("help,h", "print this help");
  po::variables_map given;
  try {
    const auto parsed = po::command_line_parser(argc, argv).options(known).run();
    const std::string wrong = posix::stray_word_text(parsed);
    if (!wrong.empty()) return fail(wrong, posix::kExitUsage);
    po::store(parsed, given);
  } catch (const po::unknown_option& problem) {
    return fail(posix::unknown_option_text(problem, known), posix::kExitUsage);
  }
  if (given.count("help")) {
    std::cout << known;
    return posix::kExitOk;
  }
  if (given.count("version")) {
    std::cout << version_line(kProgram);
    return posix::kExitOk;
  }
  posix::ignore_terminal_stops();
  if (given.count("answers")) {
    const auto loaded = config::load_answers(given["answers"].as<std::string>());
    for (const auto& problem : loaded.problems) std::cerr << to_string(problem) << "\n";
    return loaded.value ? with_answers(*loaded.value) : posix::kExitUsage;
  }
  if (::isatty(STDIN_FILENO) != 1) {
    return fail("the questions need a terminal; give the answers by --answers FILE",
                posix::kExitUsage);
  }
  return with_questions(given.count("folder") ? given["folder"].as<std::string>() : std::string());
}

}  // namespace

int main(int argc, char** argv) {
  return posix::run_main<po::error>(kProgram, run, argc, argv);
}
