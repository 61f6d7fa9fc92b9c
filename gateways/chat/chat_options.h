// SPDX-License-Identifier: Apache-2.0
// The command line of s5066-chat.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "gateways/chat/chat_core.h"
#include "sis/client.h"
#include "sis/tools/command_line.h"

namespace s5066::chat {

struct Options {
  sis::Client::Config client;
  ChatCore::Config core;
  bool json = false;
  bool stay = false;                           // also after the end of the input
  std::optional<std::chrono::seconds> linger;  // set by the user
};

/// Returns how long to stay bound after the end of the input, so that messages without ARQ can
/// leave: the user's value, or until they have expired.
std::chrono::seconds linger_of(const Options& options, std::uint64_t unconfirmed_octets);

using sis_tools::Instead;

/// Returns the options, or nothing and sets `instead`. `terminal`: the standard input is one.
std::optional<Options> read_command_line(int argc, char** argv, bool terminal, Instead& instead);

}  // namespace s5066::chat
