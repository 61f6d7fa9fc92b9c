// SPDX-License-Identifier: Apache-2.0
// The command line of sis_cat.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "s5066d/base/result.h"
#include "sis/client.h"
#include "sis/primitives.h"
#include "sis/tools/command_line.h"

namespace s5066::sis_cat {

struct Options {
  sis::Client::Config client;

  bool listen = false;
  bool accept_links = false;
  bool hex = false;
  std::uint64_t count = 0;  // leave after this many received U_PDUs; 0: stay

  std::optional<Address> to;
  SapId to_sap{};
  sis::DeliveryMode delivery{};
  bool expedited = false;
  std::uint32_t ttl_units = 0;  // of 2 s
  std::uint8_t priority = 0;
  std::optional<std::chrono::seconds> linger;  // set by the user
  std::optional<sis::HardLink> hard_link;
};

/// Returns how long to stay bound after the end of the input, so that data without a confirmation
/// can leave. It is 0 with ARQ. Otherwise it is the user's value, or the time until all data has
/// expired, or the time that `octets_sent` and their repeats take at a low rate, plus a margin for
/// others' transmissions.
std::chrono::seconds linger_of(const Options& options, std::uint64_t octets_sent);

using sis_tools::Instead;

/// Returns the options, or nothing and sets `instead`.
std::optional<Options> read_command_line(int argc, char** argv, Instead& instead);

}  // namespace s5066::sis_cat
