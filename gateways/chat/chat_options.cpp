// SPDX-License-Identifier: Apache-2.0
#include "gateways/chat/chat_options.h"

#include <algorithm>
#include <boost/program_options.hpp>

#include "sis/tools/connection_options.h"

namespace s5066::chat {

namespace po = boost::program_options;

namespace {

using sis_tools::number;
using sis_tools::Wrong;

po::options_description chat_options() {
  po::options_description options("Chat");
  auto add = options.add_options();
  add("to,t", po::value<std::string>(),
      "send to this station, or without ARQ to this group, w.x.y.z or a name; 31.255.255.255 are "
      "all");
  sis_tools::add_station_options(options);
  add("repeats", po::value<int>()->default_value(1), "to a group: number of repeats, 0..15");
  add("ttl", po::value<std::uint32_t>()->default_value(ChatCore::Config().ttl_s),
      "time to live of a message in s; 0: the default of the node");
  add("priority", po::value<int>()->default_value(ChatCore::Config().priority),
      "priority, 0..15; 15 is sent first");
  add("history", po::value<int>()->default_value(ChatCore::kHistoryMax),
      "lines that /history shows again, 10..100");
  add("json,j", "print one JSON object a line");
  add("commands", "take lines that begin with / as commands, as at a terminal");
  add("stay", "stay after the end of the input, as at a terminal, and connect again by itself");
  add("linger", po::value<std::uint32_t>(),
      "to a group: seconds to stay connected after the end of the input. The server DROPS what it "
      "has not sent by then, without a report; default: until the last message has expired");
  return options;
}

Options read(const po::variables_map& given, bool terminal) {
  Options options;
  options.client = sis_tools::connection(given);
  options.client.core.sap = kChatSap;
  ChatCore::Config& core = options.core;
  if (given.count("to")) {
    core.to = sis_tools::station(given, "to");
  }
  core.repeats = number(given, "repeats", 15);
  core.priority = number(given, "priority", 15);
  core.ttl_s = 2 * sis_tools::ttl_units(given);
  const int history = given["history"].as<int>();
  if (history < static_cast<int>(ChatCore::kHistoryMin) ||
      history > static_cast<int>(ChatCore::kHistoryMax)) {
    throw Wrong{"--history must be 10 to 100"};
  }
  core.history_max = static_cast<std::size_t>(history);
  core.commands = terminal || given.count("commands");
  options.json = given.count("json") > 0;
  options.stay = terminal || given.count("stay");
  if (given.count("linger")) {
    options.linger = std::chrono::seconds(given["linger"].as<std::uint32_t>());
  }
  if (!core.to && !core.commands && !options.stay) {
    throw Wrong{"--to is needed, or --stay to read only"};
  }
  // A node in a broadcast session accepts no ARQ client. A request names its mode itself.
  sis::DeliveryMode& service = options.client.core.service;
  const bool group = core.to && core.to->group;
  service.mode = group ? sis::TransmissionMode::nonarq : sis::TransmissionMode::arq;
  if (!group) service.confirmation = sis::Confirmation::node;
  options.client.core.queue_max = std::max(options.client.core.queue_max, core.open_max);
  return options;
}

}  // namespace

std::chrono::seconds linger_of(const Options& options, std::uint64_t unconfirmed_octets) {
  if (unconfirmed_octets == 0) return {};
  if (options.linger) return *options.linger;
  if (options.core.ttl_s > 0) return std::chrono::seconds(options.core.ttl_s);
  return sis_tools::time_to_leave(unconfirmed_octets, options.core.repeats);
}

std::optional<Options> read_command_line(int argc, char** argv, bool terminal, Instead& instead) {
  po::options_description all("s5066-chat: short messages between operators (HFCHAT, SAP 5)");
  sis_tools::add_common_options(all);
  po::options_description connection("Connection");
  sis_tools::add_connection_options(connection);
  all.add(connection).add(chat_options());
  std::optional<Options> options;
  const auto read_all = [&](const po::variables_map& given) { options = read(given, terminal); };
  sis_tools::read_command_line(argc, argv, "s5066-chat", all, instead, read_all);
  return options;
}

}  // namespace s5066::chat
