// SPDX-License-Identifier: Apache-2.0
// Where a program finds its configuration if none is named: the same rules as those of the command
// s5066.
#pragma once

#include <optional>
#include <string>

#include "s5066d/base/result.h"

namespace s5066::control {

/// Words for --help.
inline constexpr const char* kConfigurationHelp =
    "the configuration; default: that of the only station in /etc/s5066, or in the folder "
    "S5066_CONFIG, or of the station S5066_STATION";

/// Returns NAME.textproto for an empty suffix, or NAME-relay.textproto for "-relay", in the folder
/// that S5066_CONFIG names, else in /etc/s5066. If S5066_CONFIG names a file, it is that one. NAME
/// is S5066_STATION, or else the only station there. An error tells what to do.
Result<std::string> default_configuration(const std::string& suffix);

/// Returns the systemd unit of a program that reads this configuration, if the file is that of a
/// station in /etc/s5066: NAME and the suffix.
std::optional<std::string> unit_of(const std::string& program, const std::string& suffix,
                                   const std::string& file);
/// Returns the command that starts a program with this configuration: that of its unit, if there
/// is one, else the program with the file.
std::string start_command(const std::string& program, const std::string& suffix,
                          const std::string& file);

}  // namespace s5066::control
