// SPDX-License-Identifier: Apache-2.0
#include "sis/tools/connection_options.h"

#include <boost/program_options.hpp>
#include <cstdlib>
#include <filesystem>

#include "config/address_book.h"

namespace s5066::sis_tools {

namespace po = boost::program_options;

namespace {

// Lowest rate that the default assumes; users of slower waveforms give --linger or --ttl.
constexpr std::uint64_t kLingerBitRate = 300;
constexpr std::chrono::seconds kLingerMin{30};

}  // namespace

std::string text(const po::variables_map& given, const char* name) {
  return given.count(name) ? given[name].as<std::string>() : std::string();
}

std::uint8_t number(const po::variables_map& given, const char* name, int max) {
  const int value = given[name].as<int>();
  if (value >= 0 && value <= max) return static_cast<std::uint8_t>(value);
  throw Wrong{std::string("--") + name + " must be 0 to " + std::to_string(max)};
}

void add_station_options(po::options_description& options) {
  options.add_options()("stations", po::value<std::string>(),
                        "address book with the names of stations; default: S5066_STATIONS, else "
                        "/etc/s5066/stations");
}

Address station(const po::variables_map& given, const char* name) {
  const std::string option = std::string("--") + name;
  const std::string typed = text(given, name);
  if (const auto address = parse_address(typed)) return *address;
  std::string path = text(given, "stations");
  const char* const environment = std::getenv("S5066_STATIONS");
  if (path.empty() && environment != nullptr) path = environment;
  AddressBook book;
  if (!path.empty() || std::filesystem::exists(config::kAddressBookPath)) {
    const auto loaded = config::load_address_book(path.empty() ? config::kAddressBookPath : path);
    if (!loaded.value) throw Wrong{"--stations: " + to_string(loaded.problems.front())};
    book = *loaded.value;
  }
  const auto found = book.find(typed);
  if (!found) throw Wrong{option + ": " + found.error().detail};
  return *found;
}

std::uint32_t ttl_units(const po::variables_map& given) {
  const std::uint32_t ttl_s = given["ttl"].as<std::uint32_t>();
  if (ttl_s > 2 * sis::kTimeToLiveMax) throw Wrong{"--ttl must be at most 15 days"};
  return (ttl_s + 1) / 2;
}

void add_connection_options(po::options_description& options) {
  auto add = options.add_options();
  add("host,H", po::value<std::string>()->default_value("localhost"),
      "SIS server; a name with a / is the path of a local socket");
  add("port,p", po::value<std::uint16_t>()->default_value(sis::kDefaultPort),
      "TCP port of the server");
  add("rank,r", po::value<int>()->default_value(0), "rank of the client, 0..15");
  add("tls", "connect with TLS");
  add("ca", po::value<std::string>(),
      "PEM file of the authorities that are trusted to sign the server's certificate");
  add("cert", po::value<std::string>(), "PEM file of the client's certificate");
  add("key", po::value<std::string>(),
      "PEM file of the client's key; default: the key is in the file of --cert");
  add("server-name", po::value<std::string>(),
      "name that the server's certificate must have; default: --host");
}

sis::Client::Config connection(const po::variables_map& given) {
  sis::Client::Config client;
  client.host = text(given, "host");
  client.port = given["port"].as<std::uint16_t>();
  client.core.rank = number(given, "rank", 15);
  if (given.count("tls")) {
    client.tls = sis::Client::Tls{.ca_file = text(given, "ca"),
                                  .certificate_file = text(given, "cert"),
                                  .key_file = text(given, "key"),
                                  .server_name = text(given, "server-name")};
  } else if (given.count("ca") || given.count("cert") || given.count("key") ||
             given.count("server-name")) {
    throw Wrong{"--ca, --cert, --key and --server-name need --tls"};
  }
  return client;
}

std::chrono::seconds time_to_leave(std::uint64_t octets, unsigned repeats) {
  const std::uint64_t bits = 8 * octets * (repeats + 1u);
  return kLingerMin + std::chrono::seconds(bits / kLingerBitRate);
}

}  // namespace s5066::sis_tools
