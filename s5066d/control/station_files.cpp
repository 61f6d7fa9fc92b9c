// SPDX-License-Identifier: Apache-2.0
#include "s5066d/control/station_files.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <vector>

namespace s5066::control {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = "/etc/s5066";
constexpr std::string_view kExtension = ".textproto";
constexpr std::array<std::string_view, 3> kGateways = {"-relay", "-mail", "-ip"};

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// True if a line states the address of a station; one that was not completed has a comment there.
bool has_address(const fs::path& file) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const auto start = line.find_first_not_of(" \t");
    if (start == std::string::npos || line.compare(start, 7, "address") != 0) continue;
    const auto colon = line.find_first_not_of(" \t", start + 7);
    if (colon != std::string::npos && line[colon] == ':') return true;
  }
  return false;
}

/// Returns the names of the stations that the folder has; an error if it cannot be read.
Result<std::vector<std::string>> stations_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code failure;
  for (fs::directory_iterator at(folder, failure), end; !failure && at != end;
       at.increment(failure)) {
    const std::string name = at->path().stem().string();
    if (at->path().extension() != kExtension) continue;
    const bool of_gateway =
        std::any_of(kGateways.begin(), kGateways.end(),
                    [&name](std::string_view suffix) { return name.ends_with(suffix); });
    if (!of_gateway && has_address(at->path())) names.push_back(name);
  }
  if (failure) {
    return Error{ErrorCode::io, folder.string() + ": " + failure.message() +
                                    "; join the group s5066, use sudo, or give --config FILE"};
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

Result<std::string> default_configuration(const std::string& suffix) {
  const std::string given = variable("S5066_CONFIG");
  const fs::path folder = given.empty() ? kFolder : given;
  std::error_code failure;
  if (fs::is_regular_file(folder, failure)) return folder.string();
  std::string station = variable("S5066_STATION");
  if (station.find('/') != std::string::npos) {
    return Error{ErrorCode::bad_field, "S5066_STATION: a station's name has no slash: " + station};
  }
  if (station.empty()) {
    const auto names = stations_in(folder);
    if (!names) return names.error();
    if (names->empty()) {
      return Error{ErrorCode::not_found, "no station is configured in " + folder.string() +
                                             "; complete station.textproto there, or give "
                                             "--config FILE"};
    }
    if (names->size() > 1) {
      std::string list;
      for (const std::string& name : *names) list += " " + name;
      return Error{ErrorCode::bad_field,
                   "name one of the stations with S5066_STATION, or give --config FILE:" + list};
    }
    station = names->front();
  }
  return (folder / (station + suffix + std::string(kExtension))).string();
}

std::optional<std::string> unit_of(const std::string& program, const std::string& suffix,
                                   const std::string& file) {
  const fs::path path(file);
  const std::string stem = path.stem().string();
  if (path.parent_path() != kFolder || path.extension() != kExtension || !stem.ends_with(suffix) ||
      stem.size() <= suffix.size()) {
    return std::nullopt;
  }
  return program + "@" + stem.substr(0, stem.size() - suffix.size());
}

std::string start_command(const std::string& program, const std::string& suffix,
                          const std::string& file) {
  const auto unit = unit_of(program, suffix, file);
  return unit ? "sudo systemctl start " + *unit : program + " run --config " + file;
}

}  // namespace s5066::control
