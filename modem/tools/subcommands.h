// SPDX-License-Identifier: Apache-2.0
// The subcommands of `hfmodem`, one file each. A new one is declared here and gets a row in
// main.cpp.
#pragma once

#include <string>
#include <vector>

namespace s5066::modem::tools {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;  // the work could not be done
inline constexpr int kExitUsage = 2;   // the command line is wrong

/// `arguments` are those behind the subcommand's name; the result is the exit code.
using Subcommand = int (*)(const std::vector<std::string>& arguments);

int run_mod(const std::vector<std::string>& arguments);
int run_demod(const std::vector<std::string>& arguments);
int run_ber(const std::vector<std::string>& arguments);
int run_channel(const std::vector<std::string>& arguments);
int run_cable(const std::vector<std::string>& arguments);
int run_serve(const std::vector<std::string>& arguments);
int run_doctor(const std::vector<std::string>& arguments);
int run_scope(const std::vector<std::string>& arguments);
int run_key(const std::vector<std::string>& arguments);
int run_modes(const std::vector<std::string>& arguments);
int run_devices(const std::vector<std::string>& arguments);

}  // namespace s5066::modem::tools
