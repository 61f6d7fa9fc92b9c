// SPDX-License-Identifier: Apache-2.0
#include "gateways/ip_client/resolver_list.h"

#include <arpa/inet.h>

#include <fstream>
#include <sstream>
#include <string>

namespace s5066::ip_client {
namespace {

constexpr std::size_t kFileOctetsMax = 65536;

}  // namespace

std::vector<IpAddress> resolvers_in(std::string_view resolv_conf) {
  std::vector<IpAddress> found;
  std::istringstream lines{std::string(resolv_conf)};
  std::string line;
  while (found.size() < kResolversMax && std::getline(lines, line)) {
    std::istringstream words(line);
    std::string word;
    std::string text;
    if (!(words >> word >> text) || word != "nameserver") continue;
    IpAddress address{.v6 = text.find(':') != std::string::npos};
    if (inet_pton(address.v6 ? AF_INET6 : AF_INET, text.c_str(), address.octets.data()) == 1) {
      found.push_back(address);
    }
  }
  return found;
}

std::vector<IpAddress> resolvers_of_host() {
  std::ifstream file("/etc/resolv.conf");
  std::string text(kFileOctetsMax, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  auto found = resolvers_in(text);
  if (found.empty()) found.push_back(IpAddress::v4(0x7F000001));
  return found;
}

}  // namespace s5066::ip_client
