// SPDX-License-Identifier: Apache-2.0
#include "config/setup/answers.h"

#include <optional>

#include "config/load.h"
#include "config/setup/station_plan.h"
#include "config/text_format.h"
#include "config/validate.h"

namespace s5066::config {
namespace {

constexpr const char* kRunFolder = "/run/s5066";

/// Returns true if the units of the station may write in this folder, see config/systemd.
bool is_run_folder_of_units(std::string folder, const std::string& station) {
  while (folder.ends_with('/')) folder.pop_back();
  return folder == kRunFolder || folder == std::string(kRunFolder) + "/" + station;
}

void find_contradictions(const Section& answers, const proto::SetupAnswers& given) {
  if (given.has_cm108_of_card() && !given.has_sound_card()) {
    answers.complain("cm108_of_card", "needs sound_card, whose sound chip has the key");
  }
  if (given.has_cable() && given.trials().round_trip()) {
    answers.nested("trials").complain("round_trip", "is for a sound card, not for a cable");
  }
  const std::string& name = given.station().name();
  if (given.has_run_folder() && folder_of(given) == kConfigurationFolder &&
      !is_run_folder_of_units(given.run_folder(), name)) {
    answers.complain("run_folder", std::string("cannot be written by the services; name ") +
                                       kRunFolder + " or " + kRunFolder + "/" + name);
  }
}

}  // namespace

Loaded<proto::SetupAnswers> parse_answers(const std::string& file, const std::string& text) {
  Problems problems(file);
  if (text.size() > kFileOctetsMax) {
    problems.add(0, 0, "larger than the limit of " + std::to_string(kFileOctetsMax) + " octets");
    return {std::nullopt, problems.errors()};
  }
  proto::SetupAnswers answers;
  const ParsedText parsed = parse_text(text, answers, problems);
  const Section section(answers, parsed.places.get(), problems);
  validate(section, parsed, {});
  find_contradictions(section, answers);
  if (!problems.usable()) return {std::nullopt, problems.errors(), problems.warnings()};
  return {std::move(answers), {}, problems.warnings()};
}

Loaded<proto::SetupAnswers> load_answers(const std::string& path) {
  Problems problems(path);
  const auto text = read_file(path, problems);
  if (!text) return {std::nullopt, problems.errors()};
  return parse_answers(path, *text);
}

}  // namespace s5066::config
