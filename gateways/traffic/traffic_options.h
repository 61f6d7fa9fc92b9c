// SPDX-License-Identifier: Apache-2.0
// The command line of s5066-traffic.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gateways/traffic/load_schedule.h"
#include "gateways/traffic/receiver_core.h"

namespace s5066::traffic {

inline constexpr std::uint16_t kDefaultPort = 5201;

struct SendOptions {
  std::string to;
  LoadPlan plan;
  std::uint32_t line_rate_bps = 0;
  std::size_t headers = 0;  // octets of the IP datagram before the probe
  std::optional<std::uint8_t> dscp;
  std::string congestion;  // TCP: the kernel's algorithm, by name
  Duration connect_max{};  // TCP: for the connection, and for the last octets
};

struct ReceiveOptions {
  std::string bind;
  ReceiverCore::Config core;
  std::optional<Duration> length;
  std::string svg_file;
};

struct Options {
  bool tcp = false;
  bool send = false;
  std::uint16_t port = kDefaultPort;
  bool json = false;
  SendOptions sending;
  ReceiveOptions receiving;
};

/// Output instead of running: help to print, or an error.
struct Instead {
  std::string help;
  std::string problem;
};

/// Returns the options, or nothing and sets `instead`.
std::optional<Options> read_command_line(int argc, char** argv, Instead& instead);

}  // namespace s5066::traffic
