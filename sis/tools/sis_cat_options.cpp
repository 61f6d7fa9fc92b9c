// SPDX-License-Identifier: Apache-2.0
#include "sis/tools/sis_cat_options.h"

#include <boost/program_options.hpp>

#include "sis/text.h"
#include "sis/tools/connection_options.h"

namespace s5066::sis_cat {

namespace po = boost::program_options;

namespace {

using sis_tools::number;
using sis_tools::text;
using sis_tools::Wrong;

po::options_description connection_options() {
  po::options_description options("Connection");
  sis_tools::add_connection_options(options);
  options.add_options()("sap,s", po::value<int>()->default_value(15), "SAP to bind to, 0..15");
  return options;
}

po::options_description receiving_options() {
  po::options_description options("Receiving");
  auto add = options.add_options();
  add("listen,l", "write U_PDUs to standard output as they arrive");
  add("count,n", po::value<std::uint64_t>()->default_value(0),
      "exit after this number of U_PDUs; 0: no limit");
  add("hex,x", "a line per U_PDU: source, its SAP, octets in hex");
  add("errors", "accept broadcast U_PDUs with errors; their places are reported on standard error");
  add("accept-links", "accept the hard links that other stations request");
  return options;
}

po::options_description sending_options() {
  po::options_description options("Sending");
  auto add = options.add_options();
  add("to,t", po::value<std::string>(),
      "send standard input to this address, w.x.y.z, or to the station or group of this name");
  add("to-sap", po::value<int>(), "SAP at the destination, 0..15; default: the value of --sap");
  add("mode,m", po::value<std::string>(), "arq or nonarq; default: nonarq to groups, arq to nodes");
  add("expedited,e", "send as expedited data");
  add("confirm,c", po::value<std::string>(),
      "confirmation by node or client; default: node with ARQ; without ARQ there is none");
  add("repeats", po::value<int>()->default_value(0), "without ARQ: number of repeats, 0..15");
  add("linger", po::value<std::uint32_t>(),
      "without ARQ: seconds to stay connected after the end of the input. The server DROPS what it "
      "has not sent by then, without a report; default: --ttl if given, else 30 plus the time that "
      "the input and its --repeats take at 300 bit/s");
  add("ttl", po::value<std::uint32_t>()->default_value(0),
      "time to live in s; 0: the default of the node");
  add("priority", po::value<int>()->default_value(0), "priority, 0..15; 15 is sent first");
  add("hard-link", po::value<int>(),
      "request a hard link of type 0, 1 or 2 first, and end it afterwards");
  add("link-priority", po::value<int>()->default_value(0), "priority of the hard link, 0..3");
  sis_tools::add_station_options(options);
  return options;
}

sis::Confirmation confirmation(const po::variables_map& given, bool arq) {
  using sis::Confirmation;
  const std::string wanted = text(given, "confirm");
  if (wanted.empty()) return arq ? Confirmation::node : Confirmation::none;
  for (const auto value : {Confirmation::none, Confirmation::node, Confirmation::client}) {
    if (wanted != sis::to_string(value)) continue;
    if (!arq && value != Confirmation::none) throw Wrong{"--confirm needs ARQ"};
    // The server drops unsent data of a client that leaves, and only a confirmation tells when all
    // is sent.
    if (arq && value == Confirmation::none) throw Wrong{"--confirm none would lose data with ARQ"};
    return value;
  }
  throw Wrong{"--confirm must be none, node or client"};
}

void read_sending(const po::variables_map& given, Options& options) {
  const Address to = sis_tools::station(given, "to");
  options.to = to;
  options.to_sap = {number(given, given.count("to-sap") ? "to-sap" : "sap", SapId::kMax)};
  options.expedited = given.count("expedited") > 0;
  options.priority = number(given, "priority", 15);

  std::string mode = text(given, "mode");
  if (mode.empty()) mode = to.group ? "nonarq" : "arq";
  if (mode != "arq" && mode != "nonarq") throw Wrong{"--mode must be arq or nonarq"};
  const bool arq = mode == "arq";
  if (arq && to.group) throw Wrong{"ARQ cannot send to a group address"};
  options.delivery.mode = arq ? sis::TransmissionMode::arq : sis::TransmissionMode::nonarq;
  options.delivery.confirmation = confirmation(given, arq);
  options.delivery.retransmissions = number(given, "repeats", 15);

  options.ttl_units = sis_tools::ttl_units(given);
  if (arq && given.count("linger")) throw Wrong{"--linger needs --mode nonarq"};
  if (given.count("linger")) {
    options.linger = std::chrono::seconds(given["linger"].as<std::uint32_t>());
  }

  if (!given.count("hard-link")) return;
  if (to.group) throw Wrong{"a hard link needs the address of a node, not of a group"};
  options.hard_link =
      sis::HardLink{.type = static_cast<sis::HardLinkType>(number(given, "hard-link", 2)),
                    .priority = number(given, "link-priority", 3),
                    .remote_sap = options.to_sap,
                    .remote = to};
}

Options read(const po::variables_map& given) {
  Options options;
  options.client = sis_tools::connection(given);
  options.client.core.sap = {number(given, "sap", SapId::kMax)};

  options.listen = given.count("listen") > 0;
  options.count = given["count"].as<std::uint64_t>();
  options.hex = given.count("hex") > 0;
  options.accept_links = given.count("accept-links") > 0;
  if (given.count("to")) read_sending(given, options);
  if (!options.to && !options.listen) throw Wrong{"--listen, --to or both are needed"};

  // The service of the bind decides what else may come: a node in a broadcast session accepts no
  // ARQ client.
  if (given.count("errors")) {
    options.client.core.service.mode = sis::TransmissionMode::nonarq_with_errors;
  } else if (options.to) {
    options.client.core.service.mode = options.delivery.mode;
  }
  return options;
}

}  // namespace

std::chrono::seconds linger_of(const Options& options, std::uint64_t octets_sent) {
  if (options.delivery.mode == sis::TransmissionMode::arq || octets_sent == 0) return {};
  if (options.linger) return *options.linger;
  if (options.ttl_units > 0) return std::chrono::seconds(2 * options.ttl_units);
  return sis_tools::time_to_leave(octets_sent, options.delivery.retransmissions);
}

std::optional<Options> read_command_line(int argc, char** argv, Instead& instead) {
  po::options_description all("sis_cat: U_PDUs from standard input, or to standard output");
  sis_tools::add_common_options(all);
  all.add(connection_options()).add(receiving_options()).add(sending_options());
  std::optional<Options> options;
  const auto read_all = [&](const po::variables_map& given) { options = read(given); };
  sis_tools::read_command_line(argc, argv, "sis_cat", all, instead, read_all);
  return options;
}

}  // namespace s5066::sis_cat
