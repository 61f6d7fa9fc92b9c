// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "config/contradictions.h"
#include "gateways/acp142/mail/address_table.h"
#include "gateways/acp142/mail/mail_types.h"
#include "s5066d/base/loopback.h"
#include "s5066d/base/nearest.h"

namespace s5066::config {
namespace {

using acp142::MailConfig;

std::vector<std::string> station_names(const MailConfig& setup) {
  std::vector<std::string> names;
  for (const MailConfig::Station& one : setup.stations) names.push_back(one.name);
  return names;
}

void check_names(const Section& section, const std::vector<std::string>& names,
                 const MailConfig& setup) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool known =
        std::any_of(setup.stations.begin(), setup.stations.end(),
                    [&](const MailConfig::Station& one) { return one.name == names[i]; });
    if (!known)
      section.complain("stations",
                       "is the name of no station" + did_you_mean(names[i], station_names(setup)),
                       static_cast<int>(i));
  }
}

void check_ipv4(const Section& section, const char* field, std::uint32_t address) {
  if (section.has(field) && address == 0) section.complain(field, "must be an IPv4 address");
}

void check_way(const Section& station, const MailConfig::Station& one, const MailConfig& setup) {
  if (one.by != acp142::MailWay::cftp && station.has("files_max")) {
    station.complain("files_max", "needs `by: CFTP`");
  }
  if (one.by == acp142::MailWay::p_mul) return;
  if (setup.udp) station.complain("by", "CFTP and HMTP need `sis`, and `udp` replaces it");
  if (one.silent) station.complain("silent", "CFTP and HMTP need a station that answers");
  if (station.has("explicit_tags")) station.complain("explicit_tags", "has no effect with `by`");
}

void check_stations(const Section& gateway, const MailConfig& setup) {
  std::set<std::string> names;
  std::set<acp142::NodeId> nodes{setup.node};
  std::set<Address> addresses;
  for (std::size_t i = 0; i < setup.stations.size(); ++i) {
    const MailConfig::Station& one = setup.stations[i];
    const Section section = gateway.nested("stations", static_cast<int>(i));
    if (!names.insert(one.name).second)
      section.complain("name", "is given twice; each needs its own");
    if (one.node.value == 0) {
      section.complain("node_id", "must be written like an IPv4 address and not be 0.0.0.0");
    } else if (!nodes.insert(one.node).second) {
      section.complain("node_id", "is given twice or is our own; each station needs its own");
    }
    const bool addressed = section.has("address");
    if (!addressed && !setup.udp) section.complain("address", "missing");
    if (addressed && !addresses.insert(one.address).second) {
      section.complain("address", "is given twice; each needs its own");
    }
    check_ipv4(section, "udp_address", one.udp_address);
    check_way(section, one, setup);
  }
}

// Addresses of 224.0.0.0/24 are excluded because they are reserved for the routers of a LAN.
bool is_group(std::uint32_t address) {
  return address >> 28 == 0xE && address >> 8 != 0xE00000;
}

void check_pool(const Section& udp, const MailConfig& setup) {
  const auto& pool = setup.udp->pool;
  if (!is_group(setup.udp->general_group)) {
    udp.complain("general_group",
                 "must be an IPv4 multicast address, 224.0.1.0 to 239.255.255.255");
  }
  const Section section = udp.nested("dynamic_groups");
  std::set<std::uint16_t> ports;
  const MailConfig::Udp& to = *setup.udp;
  const std::pair<const char*, std::uint16_t> named[] = {
      {"group_control_port", to.group_control_port},
      {"announce_port", to.announce_port},
      {"data_port", to.data_port},
      {"ack_port", to.ack_port}};
  for (const auto& [field, port] : named) {
    if (!ports.insert(port).second) {
      udp.complain(field, "is used twice; each use needs a port of its own");
    }
  }
  std::set<std::uint32_t> taken{setup.udp->general_group};
  for (const auto& group : setup.groups) taken.insert(group.udp_address);
  if (pool.size() > acp142::kPoolMax) section.complain("pool", "has more than 256 addresses", 0);
  for (const std::uint32_t address : pool) {
    if (!is_group(address)) {
      return section.complain(
          "pool", "must hold only IPv4 multicast addresses, 224.0.1.0 to 239.255.255.255", 0);
    }
    if (!taken.insert(address).second) {
      return section.complain("pool", "has an address twice, or the address of another group", 0);
    }
  }
}

void check_rounds(const Section& section, const MailConfig::Rounds& rounds,
                  const MailConfig& setup) {
  const std::uint32_t octets = rounds.pdu_octets_max;
  const std::uint32_t most = setup.udp ? acp142::kPduOctetsMaxUdp : acp142::kPduOctetsMaxSis;
  if (octets > most) {
    section.complain("pdu_octets_max", "must be at most 2042 without `udp`");
  }
  if (rounds.parity_ahead_percent > 0 && !rounds.coded) {
    section.complain("parity_ahead_percent", "needs coded: true");
  }
}

void check_receiving(const Section& gateway, const MailConfig& setup) {
  const Section section = gateway.nested("receiving");
  if (acp142::ack_octets_max(setup.receiving.missing_list_max) > setup.rounds.pdu_octets_max) {
    section.complain("missing_list_max",
                     "makes an acknowledgement larger than pdu_octets_max; lower it");
  }
}

void check_groups(const Section& gateway, const MailConfig& setup) {
  for (std::size_t i = 0; i < setup.groups.size(); ++i) {
    const MailConfig::Group& one = setup.groups[i];
    const Section section = gateway.nested("groups", static_cast<int>(i));
    check_names(section, one.stations, setup);
    if (one.stations.empty()) {
      section.warn("stations", "the group has no stations, so nothing is ever sent to it");
    }
    if (section.has("rounds")) check_rounds(section.nested("rounds"), one.rounds, setup);
    const bool multicast = one.udp_address >> 28 == 0xE;
    if (setup.udp && !multicast) {
      section.complain("udp_address",
                       "must be an IPv4 multicast address, 224.0.0.0 to 239.255.255.255");
    }
    if (!setup.udp && !section.has("address")) section.complain("address", "missing");
    if (!setup.udp && section.has("rate_bps")) section.complain("rate_bps", "needs `udp`");
  }
}

void check_routes(const Section& gateway, const MailConfig& setup) {
  acp142::AddressTable table;
  for (std::size_t i = 0; i < setup.routes.size(); ++i) {
    const MailConfig::RouteEntry& one = setup.routes[i];
    const Section section = gateway.nested("routes", static_cast<int>(i));
    check_names(section, one.stations, setup);
    acp142::Route route{.own = one.own, .stations = {}, .relay = one.relay};
    if (!one.stations.empty()) route.stations.push_back({1});
    const auto added = table.add({one.pattern, std::move(route)});
    if (!added) section.complain("pattern", added.error().detail);
  }
  const bool own = std::any_of(setup.routes.begin(), setup.routes.end(),
                               [](const MailConfig::RouteEntry& one) { return one.own; });
  if (!own) {
    gateway.warn("routes", "no route is `own`, so no mail from the air reaches the mail server",
                 setup.routes.empty() ? -1 : 0);
  }
}

/// Returns true if a connection to the mail server would reach our own SMTP port.
bool is_own_port(const MailConfig& setup) {
  const std::string& ours = setup.smtp.address;
  const std::string& theirs = setup.mail_server.address;
  const bool any = ours == "0.0.0.0" || ours == "::";
  return setup.smtp.port == setup.mail_server.port &&
         (ours == theirs || (any && is_loopback(theirs)));
}

void check_smtp(const Section& gateway, const MailConfig& setup) {
  // The host name must be valid in SMTP greetings and addresses.
  const bool named =
      acp142::parse_path("<a@" + setup.hostname + ">", acp142::PathUse::forward).ok();
  if (!named) gateway.complain("hostname", "is not a host name; use letters, digits, '-' and '.'");
  if (gateway.has("operator_mailbox") &&
      !acp142::parse_path("<" + setup.operator_mailbox + ">", acp142::PathUse::forward)) {
    gateway.complain("operator_mailbox", "is no address; write it like name@domain");
  }
  if (!is_loopback(setup.smtp.address) && setup.smtp.allow.empty()) {
    gateway.nested("smtp").complain("address", "is not loopback and needs `allow`");
  }
  if (const auto& tls = setup.smtp.tls; tls && !tls->ca_file.empty() && !tls->required) {
    // Without `required` a client that does not send STARTTLS would not be asked for a certificate.
    gateway.nested("smtp").nested("tls").complain("ca_file", "needs required: true");
  }
  if (const auto& tls = setup.mail_server.tls; tls && tls->ca_file.empty()) {
    const Section section = gateway.nested("mail_server").nested("tls");
    if (!tls->server_name.empty())
      section.complain("server_name", "is checked only with ca_file; give it, too");
  }
  for (std::size_t i = 0; i < setup.smtp.precedence.size(); ++i) {
    const std::string& from = setup.smtp.precedence[i].from;
    if (from.empty() || acp142::is_pattern(from)) continue;
    gateway.nested("smtp")
        .nested("precedence", static_cast<int>(i))
        .complain("from", "is not an address pattern; write it like name@domain or domain");
  }
  if (is_own_port(setup)) {
    gateway.nested("mail_server")
        .complain("port",
                  "is the port where `smtp` of this gateway listens; give that of the mail server");
  }
}

}  // namespace

void find_contradictions(const Section& gateway, const MailConfig& setup) {
  check_sis_server(gateway.nested("sis"));
  if (setup.node.value == 0 && gateway.has("node_id")) {
    gateway.complain("node_id", "must be written like an IPv4 address and not be 0.0.0.0");
  }
  check_smtp(gateway, setup);
  if (setup.udp) {
    if (gateway.has("sis")) {
      gateway.complain("sis", "has no effect with `udp`, which replaces it; remove one of them");
    }
    const Section section = gateway.nested("udp");
    check_ipv4(section, "interface", setup.udp->interface);
    check_ipv4(section, "listen", setup.udp->listen);
    check_pool(section, setup);
  }
  check_stations(gateway, setup);
  if (setup.udp && gateway.has("peer_mail")) {
    gateway.complain("peer_mail", "needs `sis`, and `udp` replaces it");
  }
  check_rounds(gateway.nested("rounds"), setup.rounds, setup);
  check_receiving(gateway, setup);
  if (setup.udp && setup.nonarq_repeats > 0) {
    gateway.complain("nonarq_repeats", "has no effect with `udp`; remove it");
  }
  check_groups(gateway, setup);
  check_routes(gateway, setup);
  if (setup.retry_min_s > setup.retry_max_s) {
    gateway.complain("retry_delay_min_s",
                     "is above retry_delay_max_s; lower it or raise retry_delay_max_s");
  }
  if (setup.dead_min_s > setup.dead_max_s) {
    gateway.complain("dead_delay_min_s",
                     "is above dead_delay_max_s; lower it or raise dead_delay_max_s");
  }
}

}  // namespace s5066::config
