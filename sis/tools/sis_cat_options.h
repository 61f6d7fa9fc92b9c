// The command line of sis_cat.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "s5066d/base/result.h"
#include "sis/client.h"
#include "sis/primitives.h"

namespace s5066::sis_cat {

struct Options {
  sis::Client::Config client;

  bool listen = false;
  bool accept_links = false;
  bool hex = false;
  std::uint64_t count = 0;  // leave after so many received; 0: stay

  std::optional<Address> to;
  SapId to_sap{};
  sis::DeliveryMode delivery{};
  bool expedited = false;
  std::uint32_t ttl_units = 0;  // of 2 s
  std::uint8_t priority = 0;
  std::optional<std::chrono::seconds> linger;  // what the user said
  std::optional<sis::HardLink> hard_link;
};

/// How long to stay bound after the end of the input, for what has no confirmation to leave:
/// nothing with ARQ; else as the user said, or until all of it would have died, or as long as so
/// many octets and their repeats take at a low rate, and then some for others' transmissions.
std::chrono::seconds linger_of(const Options& options, std::uint64_t octets_sent);

/// What there is to say instead of running: help to print, or what is wrong.
struct Instead {
  std::string help;
  std::string problem;
};

/// Options, or nothing and what to say.
std::optional<Options> read_command_line(int argc, char** argv, Instead& instead);

}  // namespace s5066::sis_cat
